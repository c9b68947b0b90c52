package compiler

import (
	"context"
	"slices"
	"sync"
)

// smallModule is the size in bytes up to which a module may pass larger ones. Most modules in C, Rust and AssemblyScript are below
// it, those in Go above.
const smallModule = 1 << 20

// line has two places for jobs. One is for whoever came first. The other is for small modules, the smallest first: what is
// small never waits for what is large.
type line struct {
	mu      sync.Mutex
	taken   [2]bool // first, small
	waiting []*turn // in order of arrival
}

type turn struct {
	size int64
	mine chan int // capacity 1: the place that it was given
}

const (
	placeFirst = iota
	placeSmall
)

// enter waits for a place; leave must be called.
func (l *line) enter(ctx context.Context, size int64) (leave func(), err error) {
	l.mu.Lock()
	t := &turn{size: size, mine: make(chan int, 1)}
	l.waiting = append(l.waiting, t)
	l.assignLocked()
	l.mu.Unlock()
	select {
	case place := <-t.mine:
		return func() { l.leave(place) }, nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	l.waiting = slices.DeleteFunc(l.waiting, func(x *turn) bool { return x == t })
	l.mu.Unlock()
	select {
	case place := <-t.mine: // given meanwhile
		l.leave(place)
	default:
	}
	return nil, context.Cause(ctx)
}

func (l *line) leave(place int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken[place] = false
	l.assignLocked()
}

// assignLocked gives the places that are free to those whose turn it is.
func (l *line) assignLocked() {
	for {
		place, i := l.nextLocked()
		if i < 0 {
			return
		}
		l.taken[place] = true
		l.waiting[i].mine <- place
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
}

// nextLocked returns a free place and who gets it; -1: nobody.
func (l *line) nextLocked() (place, i int) {
	if !l.taken[placeSmall] {
		best := -1
		for i, t := range l.waiting {
			if t.size <= smallModule && (best < 0 || t.size < l.waiting[best].size) {
				best = i
			}
		}
		if best >= 0 {
			return placeSmall, best
		}
	}
	if !l.taken[placeFirst] && len(l.waiting) > 0 {
		return placeFirst, 0
	}
	return 0, -1
}
