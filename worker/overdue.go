package worker

import (
	"fmt"
	"slices"
	"time"

	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/task"
)

// The leader ends every lease at run_timeout + cancel_grace + TTL after it was given, whatever its worker says, and then gives the task to another
// worker (SPEC L7). Normally the guest is long dead by then: the runtime kills it at run_timeout. But a guest that waited long for its module began
// late, and a guest that no check of its own interrupts does not die. Near the end of its lease the guest is stopped. Still nearer, the process ends,
// because no two workers may execute one task (SPEC L1). Both margins are in percent of the TTL.
const (
	overdueStop = 30
	overdueExit = 15
)

// farOff is longer than any margin, in ms. A peer may name absurd times.
const farOff = task.LeaseTime(maxTTL)

// defaultRunTimeout stands for a policy without a run timeout. The leader calculates with it, too.
const defaultRunTimeout = task.Millis(manifest.DefaultRunTimeout / time.Millisecond)

// leaseClock bounds the leader's lease clock from above. An answer said lease. So the clock showed lease, or less, when the question was sent. Clocks
// of two machines are not compared, only their rates, which differ by at most 1 %.
type leaseClock struct {
	sent  time.Duration // CLOCK_BOOTTIME before sending
	lease task.LeaseTime
}

// atMost returns a time that the lease clock does not exceed at boot time now.
func (c leaseClock) atMost(now time.Duration) task.LeaseTime {
	passed := (now - c.sent).Milliseconds() + 1
	return c.lease + task.LeaseTime(passed+passed/100+1)
}

// clocked notes the lease clock in an answer to a message that was sent at boot time sent. A leader of the former
// version names no clock, and ends no lease in this way.
func (s *session) clocked(sent time.Duration, lease task.LeaseTime) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lease != 0 && sent >= s.clock.sent {
		s.clock = leaseClock{sent, lease}
	}
}

// endsAt returns the time, on the lease clock, at which the leader ends the run's lease at the latest. It returns 0 if
// it never does.
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

// overdue stops runs that come near the end of their lease. It tells OnOverrun of runs that still execute so near the end that the process must end.
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
