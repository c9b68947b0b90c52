package worker

import (
	"sync"
	"time"
)

// An assignment takes a commit and its way here: milliseconds, in which a slot stands idle. Where attempts take less time than that, more
// assignments are taken than there are slots, so that the next one is here when a slot becomes free. They hold a lease that
// another worker could run: so only as many as are done within a few milliseconds, and if that was wrong they are given back.
const (
	// leasesPerSlot bounds the leases of a session: those that execute, wait for a slot, or whose report has no answer yet.
	leasesPerSlot = 64
	// maxAhead bounds what waits for each slot.
	maxAhead = 16
	// aheadTime is how long all that waits for a slot takes, together with what executes in it.
	aheadTime = 8 * time.Millisecond
	// aheadPatience is how long an assignment waits for a slot before it is given back.
	aheadPatience = 100 * time.Millisecond
	// paceMemory is of how many attempts the average is, more or less.
	paceMemory = 8
)

// pace is how long attempts take here.
type pace struct {
	mu   sync.Mutex
	mean time.Duration // exponential; 0: none has ended yet
}

// note takes in an attempt.
func (p *pace) note(took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	took = max(took, time.Microsecond)
	if p.mean == 0 {
		p.mean = took
		return
	}
	p.mean += (took - p.mean) / paceMemory
}

// slow forgets what made it look fast: something waited for too long.
func (p *pace) slow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mean = max(p.mean, paceMemory*aheadTime)
}

// ahead returns how many assignments may wait for so many slots.
func (p *pace) ahead(slots int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mean == 0 {
		return 0
	}
	return slots * int(min(aheadTime/p.mean, maxAhead))
}
