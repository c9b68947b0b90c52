package raftstore

import (
	"sync"

	"github.com/taskrt/taskrt/task"
)

// ringSize is how many digests a node remembers: some seconds of the heaviest load.
const ringSize = 4096

// digestRing holds the digests of the last entries, so that nodes can compare them (SPEC C4).
type digestRing struct {
	mu   sync.Mutex
	buf  []task.Digest // in the order of arrival; indexes rise
	next int
	last task.Digest
}

func newDigestRing() *digestRing { return &digestRing{} }

func (r *digestRing) add(d task.Digest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = d
	if len(r.buf) < ringSize {
		r.buf = append(r.buf, d)
		return
	}
	r.buf[r.next] = d
	r.next = (r.next + 1) % ringSize
}

func (r *digestRing) reset(d task.Digest) {
	r.mu.Lock()
	r.buf, r.next, r.last = nil, 0, task.Digest{}
	r.mu.Unlock()
	r.add(d)
}

func (r *digestRing) latest() task.Digest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// at returns the digest at index, if it is remembered.
func (r *digestRing) at(index uint64) (task.Digest, bool) {
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
