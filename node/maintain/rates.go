package maintain

import (
	"context"
	"slices"
)

// enter begins a phase of the run.
func (r *Run) enter(phase string) { r.phase, r.done = phase, 0 }

// limitScans waits until n more objects, at most a page, may be looked at.
func (r *Run) limitScans(ctx context.Context, n int) error {
	if err := r.tell(ctx, n); err != nil {
		return err
	}
	return r.scans.WaitN(ctx, n)
}

// each shows objects to see, as fast as they may be looked at.
func each[T any](ctx context.Context, r *Run, all []T, see func(T) error) error {
	for some := range slices.Chunk(all, page) {
		if err := r.limitScans(ctx, len(some)); err != nil {
			return err
		}
		for _, x := range some {
			if err := see(x); err != nil {
				return err
			}
		}
	}
	return nil
}

// limitDeletes waits until n more objects, at most a batch, may be deleted.
func (r *Run) limitDeletes(ctx context.Context, n int) error {
	if err := r.tell(ctx, n); err != nil {
		return err
	}
	return r.deletes.WaitN(ctx, n)
}

// tell reports progress, and learns whether the run may go on.
func (r *Run) tell(ctx context.Context, n int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.done += int64(n)
	return r.job.Progress(r.phase, r.done)
}
