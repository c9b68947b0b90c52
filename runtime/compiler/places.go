package compiler

import (
	"context"
	"slices"
	"sync"
)

// smallModule is the size in bytes up to which a module may pass larger ones. Most modules in C, Rust and AssemblyScript are
// smaller; modules in Go are larger.
const smallModule = 1 << 20

// places are two places for jobs. One is for the job that came first. The other is for small modules, the smallest
// first: a small module never waits for a large one.
type places struct {
	mu      sync.Mutex
	taken   [2]bool // first, small
	waiting []*turn // in order of arrival
}

type turn struct {
	size int64
	mine chan int // capacity 1: the place that the job was given
}

const (
	placeFirst = iota
	placeSmall
)

// enter waits for a place. The caller must call leave.
func (p *places) enter(ctx context.Context, size int64) (leave func(), err error) {
	p.mu.Lock()
	t := &turn{size: size, mine: make(chan int, 1)}
	p.waiting = append(p.waiting, t)
	p.assignLocked()
	p.mu.Unlock()
	select {
	case place := <-t.mine:
		return func() { p.leave(place) }, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	p.waiting = slices.DeleteFunc(p.waiting, func(x *turn) bool { return x == t })
	p.mu.Unlock()
	select {
	case place := <-t.mine: // given meanwhile
		p.leave(place)
	default:
	}
	return nil, context.Cause(ctx)
}

func (p *places) leave(place int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken[place] = false
	p.assignLocked()
}

// assignLocked gives the free places to the jobs whose turn it is.
func (p *places) assignLocked() {
	for {
		place, i := p.nextLocked()
		if i < 0 {
			return
		}
		p.taken[place] = true
		p.waiting[i].mine <- place
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
}

// nextLocked returns a free place, and the index of the turn that gets it; -1 if none gets one.
func (p *places) nextLocked() (place, i int) {
	if !p.taken[placeSmall] {
		best := -1
		for i, t := range p.waiting {
			if t.size <= smallModule && (best < 0 || t.size < p.waiting[best].size) {
				best = i
			}
		}
		if best >= 0 {
			return placeSmall, best
		}
	}
	if !p.taken[placeFirst] && len(p.waiting) > 0 {
		return placeFirst, 0
	}
	return 0, -1
}
