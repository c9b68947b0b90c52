package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// SubmitAndWait submits a task and waits for the outcome of the cycle that it caused, or of the one that the task it met is in
// (SPEC W1): the answer has the task with its outcome, or as it is after the wait, with TimedOut. An error of the wait that is not
// CodeRemoved leaves the outcome unknown: the task was submitted. A Client needs one request for both.
func SubmitAndWait(ctx context.Context, s Service, r SubmitRequest, wait time.Duration) (*SubmitReply, error) {
	if c, ok := s.(*Client); ok {
		return c.submitAndWait(ctx, r, wait)
	}
	reply, err := s.Submit(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := reply.await(ctx, s, GetOptions{Wait: wait}); err != nil {
		return nil, submitted(reply, err)
	}
	return reply, nil
}

// submitted words an error of a wait behind a submit that has been done.
func submitted(r *SubmitReply, err error) error {
	if CodeOf(err) == CodeRemoved {
		return err
	}
	return fmt.Errorf("%w: %w", NewError(CodeOutcomeUnknown, "task %s was submitted, but waiting for it failed", r.Task.ID), err)
}

// await waits for the outcome of the cycle that a submit has just answered with.
func (r *SubmitReply) await(ctx context.Context, s Service, o GetOptions) error {
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

// submitSlice is how much of a wait is asked for with the submit: should the node die meanwhile, it is not known whether a task was
// created that has no ID from its submitter. Who waits longer has the task's ID by then.
const submitSlice = 2 * time.Second

// submitAndWait is SubmitAndWait: the submit with the first slice of the wait, then the rest as every wait.
func (c *Client) submitAndWait(ctx context.Context, r SubmitRequest, wait time.Duration) (*SubmitReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	end := time.Now().Add(wait)
	k := submitCall(&r)
	if k.wait = min(wait, submitSlice); k.wait > 0 {
		k.query.Set("wait", k.wait.String())
	}
	var reply SubmitReply
	if _, err := c.do(ctx, k, &reply); err != nil {
		return nil, err
	}
	if left := time.Until(end); reply.TimedOut && left > 0 && wait > submitSlice {
		if err := reply.await(ctx, c, GetOptions{Wait: left}); err != nil {
			return nil, submitted(&reply, err)
		}
	}
	return &reply, nil
}

// awaitReply waits, behind a submit that has been done, for as long as the request says. Whatever ends the wait too early, the task is
// there: the answer is then what the submit answered.
func (h *handler) awaitReply(r *http.Request, reply *SubmitReply, wait time.Duration, index uint64) (meta *Meta, err error) {
	ctx, meta := WithMeta(r.Context())
	ctx, cancel := untilStopping(ctx)
	defer cancel()
	// This node was told the submit's outcome: its own state is new enough as soon as it has that entry.
	err = reply.await(ctx, h.service, GetOptions{Wait: wait, Stale: true, MinIndex: index})
	if removed := (*Error)(nil); errors.As(err, &removed) && removed.Code == CodeRemoved {
		return nil, err
	}
	if err != nil {
		reply.TimedOut = true
	}
	SetIndex(ctx, index)
	return meta, nil
}
