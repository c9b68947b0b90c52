package worker

import (
	"sync"
	"time"
)

// line is where runs wait for a slot, in the order in which they came, and the goroutines that carry them out: as many as
// slots, so that there are never more guests than that, whatever the leader believes. These are used again, as the stack of
// a new one would have to grow for each run; a run that waits needs none.
type line struct {
	slots int

	mu      sync.Mutex
	wake    *sync.Cond // a run has joined, or the line is closed
	runs    []*run     // from first on; those that left before their turn are still there
	first   int
	length  int // of those that have not left
	runners int
	idle    int // runners that wait for a run
	closed  bool
	armed   bool // a timer looks after the patience of those who wait
}

func newLine(slots int) *line {
	l := &line{slots: slots}
	l.wake = sync.NewCond(&l.mu)
	return l
}

// join queues a run. It does not wait for long (see pace), nor longer than its context lives.
func (l *line) join(r *run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.inLine, r.joined = true, time.Now()
	l.runs = append(l.runs, r)
	l.length++
	switch {
	case l.length <= l.idle:
		l.wake.Signal()
	case l.runners < l.slots:
		l.runners++
		r.s.w.wg.Go(l.carry)
	case !l.armed:
		l.armed = true
		time.AfterFunc(aheadPatience, l.lookAfter)
	}
}

// leave takes a run out, and reports whether it was in: whoever took it out concludes it.
func (l *line) leave(r *run) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	in := r.inLine
	if in {
		r.inLine = false
		l.length--
	}
	return in
}

// headLocked returns the run whose turn it is, nil if there is none.
func (l *line) headLocked() *run {
	for l.first < len(l.runs) {
		if r := l.runs[l.first]; r.inLine {
			return r
		}
		l.dropLocked()
	}
	return nil
}

// popLocked takes out the head.
func (l *line) popLocked(r *run) {
	r.inLine = false
	l.length--
	l.dropLocked()
}

// dropLocked makes the next place the first. The places before it are given up once they are half of all.
func (l *line) dropLocked() {
	l.runs[l.first] = nil
	if l.first++; l.first*2 >= len(l.runs) {
		n := copy(l.runs, l.runs[l.first:])
		clear(l.runs[n:])
		l.runs, l.first = l.runs[:n], 0
	}
}

// carry carries out one run after the other.
func (l *line) carry() {
	for r := l.next(); r != nil; r = l.next() {
		r.start()
		r.done()
	}
}

// next waits for a run; nil: the line is closed.
func (l *line) next() *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if r := l.headLocked(); r != nil {
			l.popLocked(r)
			return r
		}
		if l.closed {
			return nil
		}
		l.idle++
		l.wake.Wait()
		l.idle--
	}
}

// lookAfter gives back what has waited for too long, and comes again when the next one may have.
func (l *line) lookAfter() {
	now := time.Now()
	var late []*run
	l.mu.Lock()
	r := l.headLocked()
	for ; r != nil && now.Sub(r.joined) >= aheadPatience; r = l.headLocked() {
		l.popLocked(r)
		late = append(late, r)
	}
	if l.armed = r != nil; l.armed {
		time.AfterFunc(aheadPatience-now.Sub(r.joined), l.lookAfter)
	}
	l.mu.Unlock()
	for _, r := range late {
		r.giveUp()
	}
}

// close lets idle runners end. Nobody joins afterwards.
func (l *line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.wake.Broadcast()
}
