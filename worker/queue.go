package worker

import (
	"sync"
	"time"
)

// queue is where runs wait for a slot, in the order in which they came. Its runners carry the runs out: at most as many runners as slots, so that
// there are never more guests than slots, whatever the leader believes. A runner carries out run after run: with a new goroutine for each run, a
// stack would have to grow each time. A run that waits needs no goroutine.
type queue struct {
	slots int

	mu      sync.Mutex
	wake    *sync.Cond // a run has joined, or the queue is closed
	runs    []*run     // from first on; runs that have left before their turn are still in it
	first   int
	length  int // how many runs have not left
	runners int
	idle    int // runners that wait for a run
	closed  bool
	armed   bool // a timer is set to give back runs that have waited for too long
}

func newQueue(slots int) *queue {
	q := &queue{slots: slots}
	q.wake = sync.NewCond(&q.mu)
	return q
}

// join queues a run. The run does not wait for long (see pace), nor longer than its context lives.
func (q *queue) join(r *run) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r.queued, r.joined = true, time.Now()
	q.runs = append(q.runs, r)
	q.length++
	switch {
	case q.length <= q.idle:
		q.wake.Signal()
	case q.runners < q.slots:
		q.runners++
		r.s.w.wg.Go(q.carry)
	case !q.armed:
		q.armed = true
		time.AfterFunc(aheadPatience, q.lookAfter)
	}
}

// leave takes a run out of the queue, and reports whether the run was in it. The caller that took it out concludes it.
func (q *queue) leave(r *run) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	in := r.queued
	if in {
		r.queued = false
		q.length--
	}
	return in
}

// headLocked returns the run whose turn it is, or nil if none waits.
func (q *queue) headLocked() *run {
	for q.first < len(q.runs) {
		if r := q.runs[q.first]; r.queued {
			return r
		}
		q.dropLocked()
	}
	return nil
}

// popLocked takes out the head.
func (q *queue) popLocked(r *run) {
	r.queued = false
	q.length--
	q.dropLocked()
}

// dropLocked makes the next place the first. The places before it are given up once they are half of all.
func (q *queue) dropLocked() {
	q.runs[q.first] = nil
	if q.first++; q.first*2 >= len(q.runs) {
		n := copy(q.runs, q.runs[q.first:])
		clear(q.runs[n:])
		q.runs, q.first = q.runs[:n], 0
	}
}

// carry carries out one run after the other.
func (q *queue) carry() {
	for r := q.next(); r != nil; r = q.next() {
		r.start()
		r.done()
	}
}

// next waits for a run. It returns nil if the queue is closed.
func (q *queue) next() *run {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if r := q.headLocked(); r != nil {
			q.popLocked(r)
			return r
		}
		if q.closed {
			return nil
		}
		q.idle++
		q.wake.Wait()
		q.idle--
	}
}

// lookAfter gives back runs that have waited for too long. It comes again when the next run may have waited for too
// long.
func (q *queue) lookAfter() {
	now := time.Now()
	var late []*run
	q.mu.Lock()
	r := q.headLocked()
	for ; r != nil && now.Sub(r.joined) >= aheadPatience; r = q.headLocked() {
		q.popLocked(r)
		late = append(late, r)
	}
	if q.armed = r != nil; q.armed {
		time.AfterFunc(aheadPatience-now.Sub(r.joined), q.lookAfter)
	}
	q.mu.Unlock()
	for _, r := range late {
		r.giveUp()
	}
}

// close lets idle runners end. No run joins afterwards.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake.Broadcast()
}
