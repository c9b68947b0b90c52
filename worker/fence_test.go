package worker

import (
	"testing"
	"time"
)

// TestFence: the margins are exact. One tick too early would stop healthy guests. One tick too late would let two
// workers run one task.
func TestFence(t *testing.T) {
	const ttl = 10 * time.Second
	now := time.Duration(0)
	boottime := func() time.Duration { return now }
	step := func(f *fence, at time.Duration, want bool) {
		t.Helper()
		now = at
		if got := f.ok(); got != want {
			t.Errorf("at %v: ok %v", at, got)
		}
	}
	f := newFence(boottime, ttl, 0)
	step(f, 7*time.Second-1, true)
	if !f.extend(3 * time.Second) {
		t.Error("not extended")
	}
	f.extend(time.Second) // an older answer shortens nothing
	step(f, 10*time.Second-1, true)
	step(f, 10*time.Second, false)
	late := func(want bool) {
		t.Helper()
		if _, got := f.late(); got != want {
			t.Errorf("at %v: late %v", now, got)
		}
	}
	late(false)
	step(f, 11*time.Second, false)
	if f.extend(11 * time.Second) {
		t.Error("revived")
	}
	now = 3*time.Second + 85*ttl/100 - 1
	late(false)
	now++
	late(true)

	f = newFence(boottime, ttl, 0)
	now = 7 * time.Second
	if f.extend(6 * time.Second) {
		t.Error("extended by an answer that came too late")
	}

	// The fence notices the end long after it. Guests get the usual time to die, counted from now.
	f = newFence(boottime, ttl, 0)
	step(f, time.Minute, false)
	now += time.Second - 1
	late(false)
	now++
	late(true)
}
