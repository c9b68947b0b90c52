package socket

import (
	"context"
	"sync"
	"sync/atomic"
)

// Group is the streams of one server. http.Server forgets connections that were taken over, so its owner waits for its streams here when it stops.
type Group struct {
	over     context.Context // ends when the streams are cut off
	cutOff   context.CancelFunc
	underWay atomic.Int64 // requests of its streams

	mu      sync.Mutex
	count   int
	stopped bool
	none    chan struct{} // closed when it is stopped and there are none
}

// NewGroup makes an empty group.
func NewGroup() *Group {
	g := &Group{none: make(chan struct{})}
	g.over, g.cutOff = context.WithCancel(context.Background())
	return g
}

type groupKey struct{}

// In lets the requests of a context belong to the group.
func (g *Group) In(ctx context.Context) context.Context { return context.WithValue(ctx, groupKey{}, g) }

// Open returns how many streams there are.
func (g *Group) Open() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return int64(g.count)
}

// UnderWay returns how many requests of them have no answer that has been written, watches among them.
func (g *Group) UnderWay() int64 { return g.underWay.Load() }

// GroupOf returns the group of a request. One that belongs to none gets its own.
func GroupOf(ctx context.Context) *Group {
	if g, ok := ctx.Value(groupKey{}).(*Group); ok {
		return g
	}
	return NewGroup()
}

func (g *Group) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.stopped {
		g.count++
	}
	return !g.stopped
}

func (g *Group) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.count--; g.count == 0 && g.stopped {
		close(g.none)
	}
}

// Stop begins no streams any more, and returns when there are none. Streams that are still there when ctx ends are cut off.
func (g *Group) Stop(ctx context.Context) {
	g.mu.Lock()
	if !g.stopped && g.count == 0 {
		close(g.none)
	}
	g.stopped = true
	g.mu.Unlock()
	defer g.cutOff()
	select {
	case <-g.none:
	case <-ctx.Done():
		g.cutOff()
		<-g.none
	}
}
