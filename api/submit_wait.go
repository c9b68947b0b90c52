package api

import (
	"context"
	"fmt"
)

// Await waits for the outcome of the cycle in which the submit has found or put the task. It replaces r.Task by the task as it
// is at the end of the wait, and sets r.TimedOut if there is no outcome by then.
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

// AwaitSubmitted is Await for SubmitRequest.Wait: its errors say that the task was submitted, or was removed.
func (r *SubmitReply) AwaitSubmitted(ctx context.Context, s Service, o GetOptions) error {
	err := r.Await(ctx, s, o)
	if err == nil || CodeOf(err) == CodeRemoved {
		return err
	}
	return fmt.Errorf("%w: %w", NewError(CodeOutcomeUnknown, "task %s was submitted, but waiting for it failed", r.Task.ID), err)
}

// over reports whether t, a later state of the task, has an outcome that the task did not have when it was submitted. A failure that will be retried
// is not an outcome. It is recognised by its version, which it keeps.
func (r *SubmitReply) over(t *Task) bool {
	if t.Final {
		return true
	}
	before := r.Task.Status == "SUCCESS" || r.Task.Status == "FAILURE"
	outcome := t.Status == "SUCCESS" || t.Status == "FAILURE" && t.Version == ""
	return outcome && (!before || t.Attempt > r.Task.Attempt)
}
