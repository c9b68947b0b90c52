package extworker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/tracing"
)

// outcome is what a handler returned.
type outcome struct {
	result any
	err    error
}

// run runs the handler for one leased task and reports the outcome.
func (w *Worker) run(parent context.Context, leased *api.Task) {
	t := &Task{Task: leased, w: w, news: make(chan struct{}, 1)}
	t.lease = time.Duration(leased.Lease.LeaseMS) * time.Millisecond
	t.deadline = time.Now().Add(t.lease) // it was given before the answer was on its way; how long before, nobody can tell
	// What the handler submits belongs to the trace.
	parent = tracing.WithState(tracing.WithParent(parent, leased.Traceparent), leased.Tracestate)
	var ctx context.Context
	ctx, t.cancel = context.WithCancelCause(context.WithoutCancel(parent))
	defer t.cancel(nil)
	t.calls, t.drop = context.WithCancelCause(context.WithoutCancel(parent))
	defer t.drop(nil)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		t.keep()
	}()
	returned := make(chan outcome, 1)
	w.handlers.Go(func() { returned <- w.handle(ctx, t) })
	var out outcome
	select {
	case out = <-returned:
	case <-w.kill:
		t.cancel(ErrStopping)
		timer := time.NewTimer(killTime)
		select {
		case out = <-returned:
		case <-timer.C:
			out.err = ErrStopping
			w.stuck.Add(1)
		}
		timer.Stop()
	}
	cause := context.Cause(ctx)
	t.drop(nil)
	<-kept
	if errors.Is(cause, ErrHalt) || out.err != nil && errors.Is(cause, ErrLost) {
		w.cfg.Logger.Warn("dropped an attempt", "task", t.ID, "cause", cause, "err", out.err)
		return
	}
	w.report(t, out, cause)
}

// handle calls the handler. It turns a panic into an error.
func (w *Worker) handle(ctx context.Context, t *Task) (out outcome) {
	defer func() {
		if p := recover(); p != nil {
			w.cfg.Logger.Error("the handler panicked", "task", t.ID, "panic", p, "stack", string(debug.Stack()))
			out = outcome{err: fmt.Errorf("panic: %v", p)}
		}
	}()
	out.result, out.err = w.cfg.Handler(ctx, t)
	return out
}

// report reports the outcome, again and again until the cluster has taken or refused it.
func (w *Worker) report(t *Task, out outcome, cause error) {
	t.mu.Lock()
	t.seq++
	seq, again, progress := t.seq, t.again, t.progress
	t.mu.Unlock()
	if s, ok := errors.AsType[*snooze](out.err); ok {
		w.snooze(t, seq, s.at, progress)
		return
	}
	if out.err != nil && errors.Is(cause, ErrStopping) {
		// Due at once: since a time of the cluster's own clock that has passed.
		at := time.UnixMilli(1)
		if t.StartedAt != nil {
			at = t.StartedAt.Time
		}
		w.snooze(t, seq, at, progress)
		return
	}
	r := api.FinishRequest{Namespace: t.Namespace, ID: t.ID, Token: t.Lease.Token, Seq: seq, Progress: progress, Minimal: true}
	if out.err != nil {
		r.Error, again = reportOf(out.err)
	} else if err := setResult(&r, out.result, progress); err != nil {
		r.Error, again = reportOf(Permanent(fmt.Errorf("the result: %w", err)))
	}
	if !again.IsZero() {
		r.AgainAt = &api.Time{Time: again}
	}
	err := w.finisher.finish(r)
	if err != nil && api.CodeOf(err) != api.CodeHalt && !passing(err) {
		// A cluster that cannot be reached is another matter: the attempt is lost then, and another one may succeed.
		w.cfg.Logger.Error("the outcome was refused", "task", t.ID, "err", err)
		t.mu.Lock()
		t.seq++
		seq := t.seq
		t.mu.Unlock()
		r = instead(r, err)
		r.Seq = seq
		err = w.finisher.finish(r)
	}
	if err != nil {
		w.cfg.Logger.Warn("a report was refused", "task", t.ID, "err", err)
	}
}

// instead returns the report to send in the place of a refused one. If the behavior does not take the result, the handler has failed, and
// would fail again. If the report was refused for another reason, or was a failure itself, it stays as retryable as it was.
func instead(r api.FinishRequest, refusal error) api.FinishRequest {
	next := api.FinishRequest{Namespace: r.Namespace, ID: r.ID, Token: r.Token, Error: &api.ReportError{}, Minimal: true}
	if r.Error != nil {
		next.Error.Message = fmt.Sprintf("a report was refused (%v): %s", refusal, r.Error.Message)
		next.Error.Retryable, next.AgainAt = r.Error.Retryable, r.AgainAt
		return next
	}
	next.Error.Message = fmt.Sprintf("the result was refused: %v", refusal)
	if wrong(refusal) {
		next.Error.Retryable = new(false)
	}
	return next
}

// setResult fills in what a handler returned. Without a result it fills in progress that was not sent yet.
func setResult(r *api.FinishRequest, result any, progress json.RawMessage) error {
	switch v := result.(type) {
	case nil:
		r.Result = progress
	case json.RawMessage:
		r.Result = v
	case []byte:
		r.ResultBase64 = append([]byte{}, v...) // not nil: no bytes are a result too
	default:
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		r.Result = b
	}
	return nil
}

func (w *Worker) snooze(t *Task, seq uint64, at time.Time, progress json.RawMessage) {
	r := api.SnoozeRequest{Namespace: t.Namespace, ID: t.ID, Token: t.Lease.Token, Seq: seq, Progress: progress}
	if !at.IsZero() {
		r.AgainAt = &api.Time{Time: at}
	}
	err := insist(w.finisher.end, func(ctx context.Context) error {
		_, err := w.cfg.Client.Snooze(ctx, r)
		return err
	})
	if err != nil {
		w.cfg.Logger.Warn("a snooze was refused", "task", t.ID, "err", err)
	}
}
