package raftstore

import (
	"sync"
	"time"

	"github.com/taskrt/taskrt/task"
)

// stamper makes the headers of one leadership term (SPEC C3). One goroutine stamps entries; others may ask what it
// would stamp now.
//
// Lease time advances by the monotonic clock alone. Now follows the wall clock and never goes back: while the wall
// clock is behind, Now advances by the monotonic clock.
type stamper struct {
	clock Clock
	lease task.LeaseTime // lease time at base
	base  time.Duration

	mu  sync.Mutex
	now int64 // the last stamp, Unix ns
	at  time.Duration
}

// newStamper starts from the machine's clocks, which must have everything that former terms committed.
func newStamper(c Clock, now task.Time, lease task.LeaseTime) *stamper {
	m := c.Mono()
	return &stamper{clock: c, lease: lease, base: m, now: int64(now) * int64(time.Millisecond), at: m}
}

func (s *stamper) header() task.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	mono := s.clock.Mono()
	wall := s.clock.Wall().UnixNano()
	if wall >= s.now {
		s.now = wall
	} else {
		s.now += int64(mono - s.at)
	}
	s.at = mono
	return task.Header{
		Now:      task.Time(s.now / int64(time.Millisecond)),
		LeaseNow: s.lease + task.LeaseTime((mono-s.base)/time.Millisecond),
	}
}
