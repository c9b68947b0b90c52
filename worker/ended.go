package worker

import (
	"context"
	"errors"
	"time"

	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/spans"
	"github.com/taskrt/taskrt/worker/stream"
)

// End is how an assignment ended, as this worker saw it. It says more than the leader is told: who was killed, and why.
type End uint8

// The Ends. EndLost: the lease or the session was over before there was anything to report. EndStopped: given back
// because this worker stops. EndNotRun: given back, or cancelled, before any guest code ran.
const (
	EndSuccess     End = iota
	EndFailure         // the guest's own error, or a result that cannot be kept
	EndTrap            //
	EndTimeout         // run_timeout or heartbeat_timeout
	EndOutOfMemory     //
	EndOutOfFuel       //
	EndNoResult        //
	EndYielded         // the guest wants to run again
	EndCancelled       // the guest acknowledged a cancel
	EndKilled          // cancelled, and the grace was over
	EndLost
	EndStopped
	EndNotRun
	Ends int = iota // how many Ends there are
)

var endNames = [Ends]string{
	"success", "failure", "trap", "timeout", "out_of_memory", "out_of_fuel", "no_result", "yielded", "cancelled", "killed", "lost", "stopped", "not_run",
}

func (e End) String() string { return endNames[e] }

// Ended is an assignment that is over.
type Ended struct {
	Namespace, Behavior string
	Token               uint64 // of its lease
	End                 End
	// Trace is what the task keeps of its trace (SPEC U2). Package task/tracing reads its parts. "": there is none.
	Trace string
	// Spans is what it did, if Config.Traces is set and its trace is sampled.
	Spans *spans.Attempt
	// The fields up to Reused are about the guest code; all are 0 if none ran. See runtime.Outcome.
	Ran              bool
	Wall, Busy       time.Duration
	Fuel, PeakMemory int64
	Reused           bool
	// Ready is how long this process took to make the module ready, if known.
	Ready time.Duration
}

// cost fills in the part of Ended that is known when the guest has returned.
func (r *run) cost(out *runtime.Outcome) {
	r.ended = Ended{
		Namespace: r.a.Task.Namespace, Behavior: r.a.Task.Behavior,
		Ran: out.Started != 0, Wall: time.Duration(out.Ended - out.Started), Busy: out.Busy,
		Fuel: out.Fuel, PeakMemory: out.PeakMemory, Reused: out.Reused,
	}
	if m, ok := r.guest.(*runtime.Module); ok {
		r.ended.Ready = m.ReadyTime()
	}
}

// tellEnd tells OnEnd. out is nil if no guest ran; rep is nil if there is nothing to report.
func (r *run) tellEnd(out *runtime.Outcome, rep *stream.Report) {
	r.ended.Namespace, r.ended.Behavior, r.ended.Token = r.a.Task.Namespace, r.a.Task.Behavior, r.token
	r.ended.Trace, r.ended.Spans = r.a.Task.Trace, r.spans.Concluded(r.s.w.cfg.Now)
	r.ended.End = endOf(out, rep, context.Cause(r.ctx))
	r.s.w.cfg.OnEnd(r.ended)
}

func endOf(out *runtime.Outcome, rep *stream.Report, cause error) End {
	switch {
	case out == nil:
		return EndNotRun
	case rep == nil:
		return EndLost
	case out.Kind == runtime.Yielded:
		return EndYielded
	case rep.Finish == nil:
		if errors.Is(cause, runtime.ErrKilledLease) {
			return EndLost
		}
		return EndStopped
	case rep.Finish.Error == nil:
		return EndSuccess
	case out.Kind == runtime.Killed:
		return EndKilled
	}
	switch rep.Finish.Error.Code { // codes in capitals come from the host alone
	case task.CodeCancelled:
		return EndCancelled
	case runtime.CodeTrap:
		return EndTrap
	case runtime.CodeTimeout:
		return EndTimeout
	case runtime.CodeOutOfMemory:
		return EndOutOfMemory
	case runtime.CodeOutOfFuel:
		return EndOutOfFuel
	case task.CodeNoResult:
		return EndNoResult
	}
	return EndFailure
}
