package rpc

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff waits between attempts: longer each time, jittered, woken by a change of leader.
type Backoff struct{ next time.Duration }

const (
	backoffMin = 5 * time.Millisecond
	backoffMax = 500 * time.Millisecond
)

// Wait waits; done ends it, too.
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
