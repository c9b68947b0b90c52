package api

import (
	"context"
	"fmt"
	"time"
)

// SubmitAndWait submits a task and waits for the outcome of the cycle that it caused, or of the one that the task it met is in
// (SPEC W1): the answer has the task with its outcome, or as it is after the wait, with TimedOut. An error of the wait that is not
// CodeRemoved leaves the outcome unknown: the task was submitted. A Client needs one request for both.
func SubmitAndWait(ctx context.Context, s Service, r SubmitRequest, wait time.Duration) (*SubmitReply, error) {
	if c, ok := s.(interface {
		SubmitAndWait(ctx context.Context, r SubmitRequest, wait time.Duration) (*SubmitReply, error)
	}); ok {
		return c.SubmitAndWait(ctx, r, wait)
	}
	reply, err := s.Submit(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := reply.Await(ctx, s, GetOptions{Wait: wait}); err != nil {
		return nil, Submitted(reply, err)
	}
	return reply, nil
}

// Submitted words an error of a wait behind a submit that has been done.
func Submitted(r *SubmitReply, err error) error {
	if CodeOf(err) == CodeRemoved {
		return err
	}
	return fmt.Errorf("%w: %w", NewError(CodeOutcomeUnknown, "task %s was submitted, but waiting for it failed", r.Task.ID), err)
}

// Await waits for the outcome of the cycle that a submit has just answered with.
func (r *SubmitReply) Await(ctx context.Context, s Service, o GetOptions) error {
	if r.Task.Final {
		return nil
	}
	o.Until, o.Since = "outcome", r.Task.Rev
	t, err := s.Task(ctx, r.Task.Namespace, r.Task.ID, o)
	if err != nil {
		return err
	}
	r.TimedOut = !r.over(t)
	r.Task = t
	return nil
}

// over reports whether t, a later state of the task, has an outcome that it had not when it was submitted. A failure that will be
// retried keeps its version, and is none.
func (r *SubmitReply) over(t *Task) bool {
	if t.Final {
		return true
	}
	before := r.Task.Status == "SUCCESS" || r.Task.Status == "FAILURE"
	outcome := t.Status == "SUCCESS" || t.Status == "FAILURE" && t.Version == ""
	return outcome && (!before || t.Attempt > r.Task.Attempt)
}
