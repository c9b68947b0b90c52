package lead

import (
	"time"

	"github.com/taskrt/taskrt/task"
)

// schedule sets the timer for the next Tick. The stamps that the leader would give now tell how far ahead a wall time and a lease time lie (SPEC C3).
// The timer runs on the monotonic clock.
func (l *loop) schedule() {
	mono := l.term.hub.cfg.Clock.Mono()
	if late := mono - l.due; l.due != 0 && late > stall {
		l.stillTil = mono + holdTick
		l.term.hub.cfg.Logger.Warn("this process stood still", "late", late)
	}
	if l.ticking {
		l.set(0)
		return
	}
	wall, lease := l.nextTick()
	now, leaseNow, ok := l.term.hub.cfg.Store.Stamps()
	if !ok || (wall == 0 && lease == 0) {
		l.set(0)
		return
	}
	wait := farOff
	if wall != 0 {
		wait = min(waitOf(int64(wall-now)), wallLook)
	}
	if lease != 0 {
		wait = min(wait, waitOf(int64(lease-leaseNow)))
	}
	l.set(max(mono+wait, l.pauseTil))
}

// nextTick asks the machine for its next Tick. Any entry moves the machine's clock, even a renewal. So tasks may become due by an entry that has no
// event for it. nextTick notices such tasks.
func (l *loop) nextTick() (wall task.Time, lease task.LeaseTime) {
	l.term.hub.cfg.Store.Local(func(m *task.Machine) {
		wall, lease = m.NextTick()
		if l.waits != 0 && l.waits <= m.Now() {
			l.dirty = true
		}
	})
	l.waits = wall
	return wall, lease
}

// waitOf turns a wait in milliseconds into a duration between 0 and farOff.
func waitOf(n int64) time.Duration {
	return time.Duration(min(max(n, 0), farOff.Milliseconds())) * time.Millisecond
}

// set arms the timer for a monotonic time; 0 disarms it.
func (l *loop) set(due time.Duration) {
	if due == l.due {
		return
	}
	l.due = due
	l.timer.Stop()
	if due != 0 {
		l.timer.Reset(max(0, due-l.term.hub.cfg.Clock.Mono()))
	}
}

// fired proposes a Tick if one is due. The timer also fires only to look at the wall clock.
func (l *loop) fired() {
	mono := l.term.hub.cfg.Clock.Mono()
	if l.due != 0 && mono-l.due > stall {
		l.stillTil = mono + holdTick
	}
	l.due = 0
	wall, lease := l.nextTick()
	now, leaseNow, ok := l.term.hub.cfg.Store.Stamps()
	if !ok {
		return
	}
	leaseDue := lease != 0 && lease <= leaseNow
	if !leaseDue && (wall == 0 || wall > now) {
		return
	}
	if leaseDue && mono < l.stillTil && !l.held {
		l.held = true
		l.pauseTil = l.stillTil
		return
	}
	l.held = false
	l.ticking = true
	l.term.sessions.addTick(func(r task.Result, err error) {
		l.do(func() { l.ticked(r, err) })
	})
}

// ticked goes on after a Tick. A Tick that failed or had no effect is not repeated at once.
func (l *loop) ticked(r task.Result, err error) {
	l.ticking, l.dirty = false, true
	if err != nil || !r.Changed {
		l.pauseTil = l.term.hub.cfg.Clock.Mono() + retryPause
	}
}
