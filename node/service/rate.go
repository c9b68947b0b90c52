package service

import (
	"sync"
	"time"

	"github.com/taskrt/taskrt/api/spaces"
	"github.com/taskrt/taskrt/task"
)

// Quotas are decided where a command is applied. But a submit that is certainly over its namespace's submits_per_second
// is refused before it is proposed: a flood of refused submits would fill the log, and hold up everybody else.

// rate refuses a submit that this node's state would refuse for its namespace's rate. A submit that passes counts as
// one of its request's submits.
func (c *checks) rate(cmd *task.Submit) error {
	var submits int64
	var over *task.Namespace
	c.svc.store.Local(func(m *task.Machine) {
		submits, over = m.OverRate(cmd, c.submits[cmd.Namespace], c.svc.rates.now(m.Now(), c.svc.clock.Mono(), c.svc.clock.Wall()))
	})
	if over != nil {
		return spaces.OverRate(over)
	}
	if c.submits == nil {
		c.submits = map[string]int64{}
	}
	c.submits[cmd.Namespace] += submits
	return nil
}

// rates tells the time by the log's clock, carried on while nothing is written. The log's clock itself stands still
// then, and a bucket must not wait for its refill until an entry is written: the entry is refused because the bucket is
// empty.
type rates struct {
	mu   sync.Mutex
	seen task.Time     // the log's clock
	at   time.Duration // when it was seen first, by the monotonic clock
}

// now returns the later of two times: this node's wall clock, and the log's clock advanced by what has passed here
// since it was last seen to change. So a wall clock that is behind the leader's refuses nobody for longer than a bucket
// takes to fill.
func (r *rates) now(log task.Time, mono time.Duration, wall time.Time) task.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if log != r.seen {
		r.seen, r.at = log, mono
	}
	return max(log+task.Time((mono-r.at).Milliseconds()), task.Time(wall.UnixMilli()))
}
