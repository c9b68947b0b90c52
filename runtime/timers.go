package runtime

import (
	"fmt"
	"sync"
	"time"
)

// timers end an attempt that takes too long. They are armed only before the guest's second slice of fuel and before anything
// that may wait: most attempts are over by then, and a timer costs as much as a small attempt.
type timers struct {
	armed bool // nothing is left to be armed
	limit *time.Timer
	heart *heart
}

// arm has the guest ended when its time is over. It is called on the goroutine of the attempt.
func (g *guest) arm() {
	if g.timers.armed {
		return
	}
	if g.timers.limit == nil {
		limit := g.attempt.RunTimeout
		g.timers.limit = time.AfterFunc(max(0, limit-time.Since(g.real)), func() {
			g.cancel(fmt.Errorf("%w: run_timeout of %v", ErrKilledTimeout, limit))
		})
	}
	if g.phase != phaseRun {
		return // nobody beats yet
	}
	if g.attempt.HeartbeatTimeout > 0 {
		g.timers.heart = g.watchHeart(g.attempt.HeartbeatTimeout)
	}
	g.timers.armed = true
}

func (t *timers) stop() {
	if t.limit != nil {
		t.limit.Stop()
	}
	if t.heart != nil {
		t.heart.stop()
	}
}

// heart kills a guest that does not beat for the heartbeat timeout (SPEC L7).
type heart struct {
	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
}

func (g *guest) watchHeart(timeout time.Duration) *heart {
	h := &heart{}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(timeout-g.idle(), func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		idle := g.idle()
		switch {
		case h.stopped:
		case g.inCall.Load():
			h.timer.Reset(timeout) // the host is slow, not the guest; its answer counts as a beat
		case idle < timeout:
			h.timer.Reset(timeout - idle)
		default:
			g.cancel(fmt.Errorf("%w: no heartbeat for %v", ErrKilledTimeout, timeout))
		}
	})
	return h
}

func (h *heart) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	h.timer.Stop()
}

// idle is for how long the guest has not beaten.
func (g *guest) idle() time.Duration { return time.Since(g.real) - time.Duration(g.lastBeat.Load()) }
