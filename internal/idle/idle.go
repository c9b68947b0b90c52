// Package idle lets time pass, unless a context ends first.
package idle

import (
	"context"
	"time"
)

// For waits for d and reports whether ctx still lives.
func For(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
