// Package lateness measures how late the scheduler lets a process run, so that a starved process is told from what it
// waits for (SPEC C10).
package lateness

import (
	"context"
	"sync"
	"time"
)

const (
	period = 200 * time.Millisecond // how often a Meter looks
	noise  = 5 * time.Millisecond   // timers are late by so much on a machine with nothing to do
	recent = 30 * time.Second       // how long Worst remembers
	slices = 6                      // into which recent is cut
)

// Meter measures by a ticker. Between two ticks the process may have waited for a processor, for its quota of a cgroup,
// for the garbage collector, or may have been stopped; a Meter does not tell them apart.
type Meter struct {
	mu    sync.Mutex
	due   time.Time     // of the next tick; zero: the Meter does not run
	total time.Duration // of all ticks
	began time.Time     // of the newest of worst
	worst [slices]time.Duration
}

// Run measures until ctx ends.
func (m *Meter) Run(ctx context.Context) {
	m.expect(time.Now())
	t := time.NewTimer(period)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			m.mu.Lock()
			m.due = time.Time{}
			m.mu.Unlock()
			return
		case <-t.C:
			now := time.Now()
			m.tick(now)
			t.Reset(period)
		}
	}
}

func (m *Meter) expect(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.due = now.Add(period)
}

// tick notes a tick.
func (m *Meter) tick(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	late := m.overdue(now)
	m.total += late
	m.age(now)
	m.worst[0] = max(m.worst[0], late)
	m.due = now.Add(period)
}

// overdue returns how late the next tick is by now, under mu.
func (m *Meter) overdue(now time.Time) time.Duration {
	if m.due.IsZero() {
		return 0
	}
	if late := now.Sub(m.due); late > noise {
		return late
	}
	return 0
}

// age forgets what is older than recent, under mu.
func (m *Meter) age(now time.Time) {
	const each = recent / slices
	if m.began.IsZero() || now.Sub(m.began) >= 2*recent {
		m.began, m.worst = now, [slices]time.Duration{}
	}
	for now.Sub(m.began) >= each {
		copy(m.worst[1:], m.worst[:])
		m.worst[0] = 0
		m.began = m.began.Add(each)
	}
}

// Total returns how late this process has been, in sum, since the Meter runs. Two of these say how much of the time
// between them was the scheduler's.
func (m *Meter) Total() time.Duration {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.total + m.overdue(now)
}

// Worst returns by how much the process was late at most, at once, in the last 30 s.
func (m *Meter) Worst() time.Duration {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.age(now)
	worst := m.overdue(now)
	for _, w := range m.worst {
		worst = max(worst, w)
	}
	return worst
}
