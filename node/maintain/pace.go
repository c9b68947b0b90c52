package maintain

import (
	"context"
	"strings"
)

// enter begins a phase of the run.
func (r *Run) enter(phase string) { r.phase, r.done = phase, 0 }

// paceScans waits until n more objects, at most a page, may be looked at.
func (r *Run) paceScans(ctx context.Context, n int) error {
	if err := r.tell(ctx, n); err != nil {
		return err
	}
	return r.scans.WaitN(ctx, n)
}

// paceDeletes waits until n more objects, at most a batch, may be deleted.
func (r *Run) paceDeletes(ctx context.Context, n int) error {
	if err := r.tell(ctx, n); err != nil {
		return err
	}
	return r.deletes.WaitN(ctx, n)
}

// tell reports progress, and hears whether the run is to go on.
func (r *Run) tell(ctx context.Context, n int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.done += int64(n)
	return r.job.Progress(r.phase, r.done)
}

// clip bounds a message.
func clip(s string) string {
	if len(s) > maxMessage {
		s = s[:maxMessage]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
