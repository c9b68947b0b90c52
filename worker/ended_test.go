package worker

import (
	"testing"

	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// end returns what OnEnd heard of the only run.
func (r *real) end() Ended {
	r.t.Helper()
	r.until("told of the end", func() bool {
		r.rmu.Lock()
		defer r.rmu.Unlock()
		return len(r.ends) > 0
	})
	r.rmu.Lock()
	defer r.rmu.Unlock()
	if len(r.ends) != 1 {
		r.t.Errorf("told of %d ends: %+v", len(r.ends), r.ends)
	}
	return r.ends[0]
}

func TestEndsOfRealGuests(t *testing.T) {
	for _, c := range []struct {
		name, guest string
		end         End
		stop        func(*real) // nil if it ends by itself
	}{
		{"success", "echo", EndSuccess, nil},
		{"trap", "trap", EndTrap, nil},
		{"killed", "spin", EndKilled, func(r *real) { _ = r.current().Send(stream.Frame{Cancel: []uint64{7}}) }},
		{"halted", "spin", EndLost, func(r *real) { _ = r.current().Send(stream.Frame{Halt: []uint64{7}}) }},
		{"fenced", "spin", EndLost, func(r *real) { r.jump.Store(int64(ttl)) }},
		{"drained", "wait", EndYielded, func(r *real) { r.stop() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := startReal(t)
			r.run(c.guest, 7, "3600000")
			if c.stop != nil {
				r.executing(7)
				c.stop(r)
			}
			e := r.end()
			if e.End != c.end || e.Behavior == "" || e.Namespace == "" || e.Trace != traceparent {
				t.Errorf("%v, want %v: %+v", e.End, c.end, e)
			}
			if !e.Ran || e.Wall <= 0 || e.Busy < 0 || e.Ready <= 0 || e.Fuel <= 0 || e.PeakMemory <= 0 || e.Reused {
				t.Errorf("measured %+v", e)
			}
		})
	}
}

// TestEndOfWhatNeverRan: an attempt that never ran has nothing to measure.
func TestEndOfWhatNeverRan(t *testing.T) {
	r := startReal(t)
	a := r.assignment(7, func(a *stream.Assignment) {
		a.Module.Digest = "native:elsewhere"
	})
	if err := r.current().Send(stream.Frame{Assign: []stream.Assignment{a}}); err != nil {
		t.Fatal(err)
	}
	if e := r.end(); e.End != EndNotRun || e.Ran || e.Wall != 0 {
		t.Errorf("%v: %+v", e.End, e)
	}
}

func TestEndNames(t *testing.T) {
	seen := map[string]bool{}
	for e := range End(Ends) {
		if e.String() == "" || seen[e.String()] {
			t.Errorf("End %d is named %q", e, e)
		}
		seen[e.String()] = true
	}
}

func TestEndOf(t *testing.T) {
	failed := func(code string) *stream.Report {
		return &stream.Report{Finish: &task.Finish{Error: &task.Error{Code: code}}}
	}
	for _, c := range []struct {
		out  runtime.Outcome
		rep  *stream.Report
		want End
	}{
		{runtime.Outcome{Kind: runtime.Failed, Code: "mine"}, failed("mine"), EndFailure},
		{runtime.Outcome{Kind: runtime.Failed, Code: runtime.CodeTimeout}, failed(runtime.CodeTimeout), EndTimeout},
		{runtime.Outcome{Kind: runtime.Failed, Code: runtime.CodeOutOfMemory}, failed(runtime.CodeOutOfMemory), EndOutOfMemory},
		{runtime.Outcome{Kind: runtime.Failed, Code: runtime.CodeOutOfFuel}, failed(runtime.CodeOutOfFuel), EndOutOfFuel},
		{runtime.Outcome{Kind: runtime.Succeeded}, failed(task.CodeNoResult), EndNoResult},
		{runtime.Outcome{Kind: runtime.Cancelled}, failed(task.CodeCancelled), EndCancelled},
		{runtime.Outcome{Kind: runtime.Killed, Cause: runtime.ErrKilledStop}, &stream.Report{GiveBack: &task.GiveBack{}}, EndStopped},
		{runtime.Outcome{Kind: runtime.Yielded}, &stream.Report{Snooze: &task.Snooze{}}, EndYielded},
		{runtime.Outcome{Kind: runtime.Succeeded}, nil, EndLost},
	} {
		if got := endOf(&c.out, c.rep, c.out.Cause); got != c.want {
			t.Errorf("%v %s: %v, want %v", c.out.Kind, c.out.Code, got, c.want)
		}
	}
}
