package worker

import (
	"errors"

	"github.com/taskrt/taskrt/internal/clip"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// outcome turns the end of a run into its last report. out is nil if no guest ran. cause is why the run was killed,
// if it was killed. The caller has made sure that there is something to report (the session lives, and there was no halt).
func (r *run) outcome(out *runtime.Outcome, cause error) stream.Report {
	if out == nil {
		out = &runtime.Outcome{Kind: runtime.Killed, Cause: cause}
	}
	r.fuel = min(max(out.Fuel, 0), task.MaxFuel) // with any other number the outcome would be refused
	r.pages = (min(max(out.PeakMemory, 0), task.MaxFuel) + task.PageBytes - 1) / task.PageBytes
	r.last = r.parting()
	rep := r.ending(out)
	switch {
	case rep.Finish != nil:
		rep.Finish.Fuel, rep.Finish.Pages, rep.Finish.Progress = r.fuel, r.pages, r.last
	case rep.Snooze != nil:
		rep.Snooze.Fuel, rep.Snooze.Pages, rep.Snooze.Progress = r.fuel, r.pages, r.last
	case rep.GiveBack != nil:
		rep.GiveBack.Fuel, rep.GiveBack.Pages = r.fuel, r.pages
	}
	return rep
}

// ending makes the report that follows from out.
func (r *run) ending(out *runtime.Outcome) stream.Report {
	switch out.Kind {
	case runtime.Succeeded:
		return r.succeeded(out)
	case runtime.Failed:
		return again(r.finish(task.Payload{}, r.failure(out)), out)
	case runtime.Cancelled:
		return r.finish(task.Payload{}, cancelled(out.Message))
	case runtime.Yielded:
		return r.snooze(out)
	case runtime.Killed:
		if errors.Is(out.Cause, runtime.ErrKilledCancel) {
			return r.finish(task.Payload{}, cancelled("did not end within the grace"))
		}
		return r.giveBack() // a shutdown, or nothing ran
	default:
		return r.finish(task.Payload{}, &task.Error{Code: task.CodeHandlerError, Message: "unknown outcome " + out.Kind.String()})
	}
}

// succeeded makes the report of a success. If the guest wrote nothing, the result is null (SPEC T7). A result that the guest wrote has been settled
// before.
func (r *run) succeeded(out *runtime.Outcome) stream.Report {
	result := r.result.payload
	if !out.HasResult {
		if r.a.Policy.ResultRequired {
			return r.finish(task.Payload{}, &task.Error{Code: task.CodeNoResult, Message: "the behavior requires a result", Retryable: true})
		}
		result = task.Payload{Encoding: task.JSON, Data: []byte("null")}
		if err := r.s.w.schemas.Check(r.a.Policy.ResultSchema, result.Data); err != nil {
			return r.finish(task.Payload{}, &task.Error{
				Code: task.CodeHandlerError, Message: clipped("the result does not match the behavior's result_schema: " + err.Error()),
			})
		}
	}
	rep := again(r.finish(result, nil), out)
	rep.Children, rep.Finish.InTxn = out.Children, len(out.Children) > 0
	return rep
}

// again adds the time at which the run itself wants the next run (SPEC R4). A success then repeats; a failure is then
// tried again.
func again(rep stream.Report, out *runtime.Outcome) stream.Report {
	rep.Finish.Again = task.Time(max(0, out.NextTime))
	return rep
}

func (r *run) finish(result task.Payload, err *task.Error) stream.Report {
	return stream.Report{Finish: &task.Finish{Key: r.key, Token: r.token, Seq: r.seq, Result: result, Error: err}}
}

func (r *run) giveBack() stream.Report {
	return stream.Report{GiveBack: &task.GiveBack{Key: r.key, Token: r.token}}
}

// snooze makes the report of a yield. If the yield names no time and the worker drains, the task is due at once, on
// another worker (SPEC R5).
func (r *run) snooze(out *runtime.Outcome) stream.Report {
	if out.NextTime <= 0 && r.s.w.draining.Load() {
		return r.giveBack()
	}
	return stream.Report{Snooze: &task.Snooze{Key: r.key, Token: r.token, Seq: r.seq, At: task.Time(max(0, out.NextTime))}}
}

func cancelled(message string) *task.Error {
	if message == "" {
		message = "cancelled"
	}
	return &task.Error{Code: task.CodeCancelled, Message: clipped(message)}
}

// failure makes the error of a failed run. The behavior's policy decides about errors of the host (SPEC R2, T5).
func (r *run) failure(out *runtime.Outcome) *task.Error {
	p := r.a.Policy
	e := &task.Error{Code: out.Code, Message: clipped(out.Message), Retryable: out.Retryable}
	if e.Code == "" {
		e.Code = task.CodeHandlerError
	}
	switch out.Class {
	case runtime.ClassTrap:
		e.Retryable = p.OnTrap != task.OnErrorFail
	case runtime.ClassTimeout:
		e.Retryable = p.OnTimeout != task.OnErrorFail
	case runtime.ClassExhausted:
		e.Retryable = p.OnExhausted == task.OnErrorRetry
	}
	if len(out.Details) > 0 {
		if int64(len(out.Details)) > min(p.Limits.ResultBytes, maxInline) {
			const note = " (details dropped: too large)"
			e.Message = clip.Text(out.Message, task.MaxMessage-len(note)) + note
		} else {
			e.Details = payload(out.Details)
		}
	}
	return e
}

// clipped bounds a message, and makes it UTF-8. The log of every node would refuse another message.
func clipped(s string) string { return clip.Text(s, task.MaxMessage) }
