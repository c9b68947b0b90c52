// Package rounds lets many callers share one question whose answer must not be older than the call.
package rounds

import (
	"context"
	"errors"
	"sync"
)

// ErrEnded is the answer to callers that wait when no more rounds are asked.
var ErrEnded = errors.New("raftstore: no more rounds")

// Rounds are asked one after the other. All callers that come while a round is under way share the next one.
type Rounds struct {
	mu      sync.Mutex
	waiting []chan answer
	asked   chan struct{} // capacity 1: somebody waits
}

type answer struct {
	index uint64
	err   error
}

// New returns rounds that are asked while Run runs.
func New() *Rounds { return &Rounds{asked: make(chan struct{}, 1)} }

// Join waits for the outcome of a round that begins after the call.
func (r *Rounds) Join(ctx context.Context, done <-chan struct{}) (uint64, error) {
	mine := make(chan answer, 1)
	r.mu.Lock()
	r.waiting = append(r.waiting, mine)
	r.mu.Unlock()
	select {
	case r.asked <- struct{}{}:
	default:
	}
	select {
	case a := <-mine:
		return a.index, a.err
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-done:
		return 0, ErrEnded
	}
}

// Run asks one round after the other, while somebody waits, until ctx ends.
func (r *Rounds) Run(ctx context.Context, ask func(context.Context) (uint64, error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.asked:
		}
		r.mu.Lock()
		waiting := r.waiting
		r.waiting = nil
		r.mu.Unlock()
		if len(waiting) == 0 {
			continue
		}
		var a answer
		a.index, a.err = ask(ctx)
		for _, w := range waiting {
			w <- a
		}
	}
}
