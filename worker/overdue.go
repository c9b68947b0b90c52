package worker

import (
	"fmt"
	"slices"
	"time"

	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
)

// The leader ends every lease at run_timeout + cancel_grace + TTL after it was given, whatever its worker says, and then
// gives the task to another (SPEC L7). Normally the guest is long dead by then: the runtime kills it at run_timeout. But
// one that waited long for its module began late, and one that no check of its own interrupts does not die. Near the end,
// in percent of the TTL, the guest is stopped; nearer, the process ends: no two workers execute one task (SPEC L1).
const (
	overdueStop = 30
	overdueExit = 15
)

// farOff is more, in ms, than any margin: what a peer says may be absurd.
const farOff = task.LeaseTime(maxTTL)

// defaultRunTimeout stands for a policy without one, in the leader's calculation too.
const defaultRunTimeout = task.Millis(runtime.DefaultRunTimeout / time.Millisecond)

// leaseClock bounds the leader's lease clock from above: it showed lease, or less, when the message whose answer said so
// was sent. No clocks of two machines are compared, only their rates: within 1 %.
type leaseClock struct {
	sent  time.Duration // CLOCK_BOOTTIME before sending
	lease task.LeaseTime
}

// atMost is what the lease clock shows at boot time now, or less.
func (c leaseClock) atMost(now time.Duration) task.LeaseTime {
	passed := (now - c.sent).Milliseconds() + 1
	return c.lease + task.LeaseTime(passed+passed/100+1)
}

// clocked notes the lease clock of an answer to what was sent at boot time sent. A leader of the former version says
// none, and ends no lease in this way.
func (s *session) clocked(sent time.Duration, lease task.LeaseTime) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lease != 0 && sent >= s.clock.sent {
		s.clock = leaseClock{sent, lease}
	}
}

// endsAt is when the leader ends the run's lease at last, on the lease clock; 0: never.
func (r *run) endsAt() task.LeaseTime {
	given := r.a.Task.Lease.Given
	if given == 0 {
		return 0
	}
	p := r.a.Policy
	timeout := p.RunTimeout
	if timeout <= 0 {
		timeout = defaultRunTimeout
	}
	return given + task.LeaseTime(timeout+p.CancelGrace) + task.LeaseTime(r.s.ttl.Milliseconds())
}

// overdue stops what comes near the end of its lease, and tells what executes so near it that the process must end.
func (s *session) overdue() {
	now := s.w.cfg.Boottime()
	s.mu.Lock()
	var tokens []uint64
	for token, r := range s.runs {
		end := r.endsAt()
		if r.phase == reporting || end == 0 || s.clock.lease == 0 {
			continue
		}
		left := time.Duration(min(end-s.clock.atMost(now), farOff)) * time.Millisecond
		if left <= percent(s.ttl, overdueStop) {
			r.stop(fmt.Errorf("%w: run_timeout, counted from when the task was assigned", runtime.ErrKilledTimeout))
		}
		if left <= percent(s.ttl, overdueExit) && r.phase == executing && !r.overdue {
			r.overdue = true
			tokens = append(tokens, token)
		}
	}
	s.mu.Unlock()
	if len(tokens) > 0 {
		slices.Sort(tokens)
		s.w.log.Error("guests execute although they were stopped, and the leader is about to give their tasks to others: the process must end (SPEC L7)",
			"session", s.id, "tokens", tokens)
		s.w.cfg.OnOverrun(Overrun{Session: s.id, Tokens: tokens})
	}
}
