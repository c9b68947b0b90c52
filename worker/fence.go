package worker

import (
	"sync"
	"time"
)

// These are the margins of a session, in percent of its TTL. They count from before the last acknowledged Hello or Renew was sent
// (SPEC L5). The leader lets the session expire at 100 % of a TTL that began later: when it received this message.
const (
	stopPercent    = 70 // guests are stopped
	overrunPercent = 85 // no guest executes any longer
	tickPercent    = 5  // how often the clock is looked at: a stop is noticed by 75 %, and 10 % remain for guests to die
)

// lateGrace is the least time that guests get to die if the worker notices only after the margin, because the process was suspended. Only the time
// from now on can be kept short.
const lateGrace = time.Second

// fence says until when the session's guests may execute. It reads CLOCK_BOOTTIME, which goes on while the machine is
// suspended. Once the fence has struck it never opens again: a late acknowledgement does not revive stopped guests.
type fence struct {
	boottime func() time.Duration
	ttl      time.Duration

	mu      sync.Mutex
	granted time.Duration // boot time before the last acknowledged Hello or Renew was sent
	struck  bool
	overrun time.Duration // when struck: boot time from which on no guest may execute
}

func newFence(boottime func() time.Duration, ttl, granted time.Duration) *fence {
	return &fence{boottime: boottime, ttl: ttl, granted: granted}
}

func percent(d time.Duration, p int64) time.Duration { return d / 100 * time.Duration(p) }

// ok reports whether guests may execute and act now.
func (f *fence) ok() bool { return f.okAt(f.boottime()) }

// okAt is ok for a caller that has just read the boot time.
func (f *fence) okAt(now time.Duration) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.okLocked(now)
}

func (f *fence) okLocked(now time.Duration) bool {
	if !f.struck && now >= f.granted+percent(f.ttl, stopPercent) {
		f.strikeLocked(now)
	}
	return !f.struck
}

// extend moves the margin: a message sent at boot time sent was acknowledged. It returns false if the fence has struck, or strikes
// now because the acknowledgement came too late.
func (f *fence) extend(sent time.Duration) bool {
	now := f.boottime()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.okLocked(now) {
		return false
	}
	f.granted = max(f.granted, sent)
	return true
}

// strike ends the session's right to execute before its time is over, because the session is known to have ended.
func (f *fence) strike() {
	now := f.boottime()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.struck {
		f.strikeLocked(now)
	}
}

func (f *fence) strikeLocked(now time.Duration) {
	f.struck = true
	f.overrun = f.granted + percent(f.ttl, overrunPercent)
	if now > f.granted+percent(f.ttl, stopPercent+2*tickPercent) {
		f.overrun = now + max(percent(f.ttl, 2*tickPercent), lateGrace)
	}
}

// until returns the boot time at which guests must stop.
func (f *fence) until() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.granted + percent(f.ttl, stopPercent)
}

// late reports whether no guest may execute any more, and since when.
func (f *fence) late() (time.Duration, bool) {
	now := f.boottime()
	f.mu.Lock()
	defer f.mu.Unlock()
	return now - f.overrun, f.struck && now >= f.overrun
}
