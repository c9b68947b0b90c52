package spans

import (
	"context"
	"errors"
	"testing"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
)

const given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestOf: only sampled traces have spans, and an attempt knows which one it repeats (SPEC U2).
func TestOf(t *testing.T) {
	t.Parallel()
	ended := func(number int64, outcome string) task.Attempt {
		return task.Attempt{Number: number, StartedAt: 5, FinishedAt: 7, Outcome: outcome, Worker: "w0"}
	}
	for name, c := range map[string]struct {
		task        task.Task
		former, due int64
	}{
		"first":                 {task.Task{Attempt: 1}, 0, 3e6},
		"after a loss":          {task.Task{Attempt: 2, LostCount: 1, History: []task.Attempt{ended(1, "LOST")}}, 1, 7e6},
		"given back":            {task.Task{Attempt: 2, History: []task.Attempt{ended(1, "GIVEN_BACK")}}, 1, 7e6},
		"after a failure":       {task.Task{Attempt: 3, Failures: 1, History: []task.Attempt{ended(1, "SUCCESS"), ended(2, "TRAP")}}, 2, 7e6},
		"rerun after a failure": {task.Task{Attempt: 2, History: []task.Attempt{ended(1, "TRAP")}}, 0, 0},
		"rerun":                 {task.Task{Attempt: 2, History: []task.Attempt{ended(1, "SUCCESS")}}, 0, 0},
		"history cut":           {task.Task{Attempt: 9, Failures: 1, History: []task.Attempt{ended(7, "TRAP")}}, 0, 0},
	} {
		x := c.task
		x.Trace, x.CreatedAt, x.Lease = given, 3, &task.Lease{Worker: "w"}
		if a := Of(&x); a == nil || a.Former != c.former || a.Due != c.due || a.Number != x.Attempt || a.Worker != "w" {
			t.Errorf("%s: %+v", name, a)
		}
		x.Trace = given[:54] + "0"
		if Of(&x) != nil || Lapsed(&x) != nil {
			t.Errorf("%s: a trace that is not sampled has spans", name)
		}
	}
	lost := task.Task{Trace: given, Attempt: 2, LostCount: 2, History: []task.Attempt{ended(1, "LOST"), ended(2, "LOST")}}
	if a := Lapsed(&lost); a.Number != 2 || a.Former != 1 || a.Outcome != "LOST" || a.Worker != "w0" || a.Came != 5e6 || a.Over != 7e6 {
		t.Errorf("%+v", a)
	}
	if Lapsed(&task.Task{Trace: given}) != nil {
		t.Error("an attempt that never was")
	}
}

type quiet struct{ runtime.Host }

func (quiet) Checkpoint(context.Context, []byte) error             { return nil }
func (quiet) Call(context.Context, abi.Op, []byte) ([]byte, error) { return nil, errors.New("no") }

// TestFlood: a guest that calls without end leaves a bounded number of spans.
func TestFlood(t *testing.T) {
	t.Parallel()
	a := Of(&task.Task{Trace: given, Attempt: 1})
	h := a.Host(quiet{})
	_ = h.Checkpoint(t.Context(), nil)
	for range 3 * MaxCalls {
		_, _ = h.Call(t.Context(), abi.OpBlobRead, nil)
	}
	if len(a.Calls) != MaxCalls || a.More != 2*MaxCalls+1 || a.Calls[0].Failed || a.Calls[0].Name != "checkpoint" || !a.Calls[1].Failed || a.Calls[1].Name != "blob.read" || a.Calls[1].Ended < a.Calls[1].Began {
		t.Errorf("%d calls, %d more: %+v", len(a.Calls), a.More, a.Calls[:2])
	}
	var none *Attempt
	if none.Host(quiet{}) != (quiet{}) || none.Arrived(nil) != nil {
		t.Error("nobody wants spans, and somebody notes them")
	}
}

// TestMeasured: what comes from where guests run says only what was measured, within bounds (SPEC A10).
func TestMeasured(t *testing.T) {
	t.Parallel()
	known := Of(&task.Task{Namespace: "ns", ID: "own", Trace: given, Attempt: 1, CreatedAt: 1})
	lie := &Attempt{Trace: "another", ID: "another", Number: 7, Came: 1, Over: 2, More: -1}
	for range 2 * MaxCalls {
		lie.Calls = append(lie.Calls, Call{Name: "password: 7", Began: 1, Ended: 2})
	}
	got := known.Measured(lie.Append(nil))
	if got.Trace != given || got.ID != "own" || got.Number != 1 || got.Over != 2 || got.More != 0 || len(got.Calls) != MaxCalls || got.Calls[0].Name != "call" || known.Over != 0 {
		t.Errorf("%+v", got)
	}
	var none *Attempt
	if none.Measured(lie.Append(nil)) != nil || known.Measured([]byte("{")) != nil {
		t.Error("it is believed")
	}
}
