package runtime

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestBusyLeavesOutWaits: Busy leaves out the time in which a guest sleeps and the time that the host takes. Guests
// take no virtual time, so nothing is left.
func TestBusyLeavesOutWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, Config{})
		slow := &fakeHost{checkpoint: func(context.Context, []byte) error {
			time.Sleep(time.Minute)
			return nil
		}}
		for _, c := range []struct {
			guest, params string
			limit         time.Duration
			host          *fakeHost
		}{
			{"wait", "60000", time.Hour, &fakeHost{}},
			{"wait", "60000", 30 * time.Second, &fakeHost{}}, // killed while it sleeps
			{"conformance-wat", "checkpoint x", time.Hour, slow},
		} {
			m, begin := load(t, e, guestFile(t, c.guest)), time.Now()
			out := m.Run(t.Context(), Attempt{Params: []byte(c.params), RunTimeout: c.limit}, c.host)
			if time.Since(begin) < 30*time.Second || out.Busy != 0 {
				t.Errorf("%s %s: busy for %v of %v: %+v", c.guest, c.params, out.Busy, time.Since(begin), out)
			}
		}
	})
}

// TestBusyWhileComputing: a guest that computes is busy, but not for longer than it took.
func TestBusyWhileComputing(t *testing.T) {
	e := newEngine(t, Config{})
	m := load(t, e, guestFile(t, "spin"))
	begin := time.Now()
	out := m.Run(t.Context(), Attempt{RunTimeout: 50 * time.Millisecond}, &fakeHost{})
	if took := time.Since(begin); out.Code != CodeTimeout || out.Busy <= 0 || out.Busy > took {
		t.Errorf("busy for %v of %v: %+v", out.Busy, took, out)
	}
}

func TestReusedInstanceIsTold(t *testing.T) {
	e := newEngine(t, Config{})
	m := load(t, e, guestFile(t, "echo"))
	for i, want := range []bool{false, true, true} {
		if out := m.Run(t.Context(), Attempt{}, &fakeHost{}); out.Reused != want {
			t.Errorf("attempt %d: reused %v", i+1, out.Reused)
		}
	}
	s := e.Stats()
	if s.Ready != 1 || s.Compiling != 0 || s.Waiting != 0 || s.Guests != 0 || s.Idle != 1 || s.Memory <= 0 || s.MemoryBudget != DefaultMemoryBudget {
		t.Errorf("stats %+v", s)
	}
}
