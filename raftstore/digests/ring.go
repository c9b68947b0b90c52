// Package digests remembers the digests of the last entries, so that nodes can compare their states by index (SPEC C4).
package digests

import (
	"sync"

	"github.com/taskrt/taskrt/task"
)

// Size is how many digests a node remembers: some seconds of the heaviest load.
const Size = 4096

// Ring holds the digests of the last Size entries. It is safe for concurrent use.
type Ring struct {
	mu   sync.Mutex
	buf  []task.Digest // in the order of arrival; indexes rise
	next int
	last task.Digest
}

// New returns an empty Ring.
func New() *Ring { return &Ring{} }

// Add adds the digest of the next entry.
func (r *Ring) Add(d task.Digest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = d
	if len(r.buf) < Size {
		r.buf = append(r.buf, d)
		return
	}
	r.buf[r.next] = d
	r.next = (r.next + 1) % Size
}

// Reset forgets everything but a digest.
func (r *Ring) Reset(d task.Digest) {
	r.mu.Lock()
	r.buf, r.next, r.last = nil, 0, task.Digest{}
	r.mu.Unlock()
	r.Add(d)
}

// Latest returns the digest that was added last.
func (r *Ring) Latest() task.Digest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// At returns the digest at index, if it is remembered.
func (r *Ring) At(index uint64) (task.Digest, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	lo, hi := 0, len(r.buf)
	for lo < hi {
		mid := (lo + hi) / 2
		if r.buf[(r.next+mid)%len(r.buf)].Index < index {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(r.buf) {
		return task.Digest{}, false
	}
	d := r.buf[(r.next+lo)%len(r.buf)]
	return d, d.Index == index
}
