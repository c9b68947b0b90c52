package raftstore

import (
	"context"
	"errors"
	"time"

	"github.com/taskrt/taskrt/internal/idle"
)

// persistPause is how long Persist waits before it tries again.
const persistPause = 200 * time.Millisecond

// Persist does what may fail for a while, until it succeeds or ctx ends. It gives up at once on errors that this store
// will always return.
func Persist(ctx context.Context, do func() error) error {
	for {
		err := do()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, ErrClosed), errors.Is(err, ErrStopped), errors.Is(err, ErrTooLarge):
			return err
		case !idle.For(ctx, persistPause):
			return context.Cause(ctx)
		}
	}
}
