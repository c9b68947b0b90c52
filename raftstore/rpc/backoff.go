package rpc

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff waits between attempts: longer each time, with jitter. A change of leader ends the wait.
type Backoff struct{ next time.Duration }

const (
	backoffMin = 5 * time.Millisecond
	backoffMax = 500 * time.Millisecond
)

// Wait waits until the time is over, or changed or done is closed, or ctx ends.
func (b *Backoff) Wait(ctx context.Context, done <-chan struct{}, changed <-chan struct{}) {
	b.next = min(max(2*b.next, backoffMin), backoffMax)
	t := time.NewTimer(b.next/2 + rand.N(b.next/2))
	defer t.Stop()
	select {
	case <-t.C:
	case <-changed:
	case <-done:
	case <-ctx.Done():
	}
}
