package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// timers end an attempt that takes too long. They are armed only before the guest's second slice of fuel and before
// anything that may wait: most attempts are over by then, and a timer costs as much as a small attempt.
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
		limit, since, why := g.attempt.RunTimeout, g.real, g.overRunTimeout
		if !g.making.IsZero() {
			limit, since, why = makeTimeout, g.making, g.overMakeTimeout
		}
		g.timers.limit = time.AfterFunc(max(0, limit-time.Since(since)), func() { g.cancel(why()) })
	}
	if g.phase != phaseRun {
		return // nobody beats yet
	}
	if g.attempt.HeartbeatTimeout > 0 {
		g.timers.heart = g.watchHeart(g.attempt.HeartbeatTimeout)
	}
	g.timers.armed = true
}

// makeTimeout bounds how long a new instance may take to be initialised, its image included. This time is no part of
// the attempt's: an attempt with a short run_timeout could never begin. It is shorter than the time that the leader
// allows an attempt beyond its run_timeout.
const makeTimeout = 10 * time.Second

// make begins to make an instance. The attempt's clocks stop until made is called.
func (g *guest) make() {
	g.timers.stop()
	g.timers.limit = nil
	g.making, g.makingAt = time.Now(), g.clock()
}

// made lets the attempt's clocks go on.
func (g *guest) made() {
	g.timers.stop()
	g.timers.limit = nil
	g.real, g.begin = g.real.Add(time.Since(g.making)), g.begin.Add(g.clock().Sub(g.makingAt))
	g.making = time.Time{}
}

func (g *guest) overMakeTimeout() error {
	return fmt.Errorf("%w: making a new instance took longer than %v", ErrKilledTimeout, makeTimeout)
}

func (g *guest) overRunTimeout() error {
	return fmt.Errorf("%w: run_timeout of %v", ErrKilledTimeout, g.attempt.RunTimeout)
}

func (g *guest) withoutHeartbeat() error {
	return fmt.Errorf("%w: no heartbeat for %v", ErrKilledTimeout, g.attempt.HeartbeatTimeout)
}

// late says whether the guest has ended after its time, whatever it says (SPEC L7, L8): after a timeout that passed
// unnoticed within a long host function or on a busy machine, or after the grace of a cancel. What a guest did before
// the host lost its lease, or before the host stops, stands.
func (g *guest) late() bool {
	if time.Since(g.real) >= g.attempt.RunTimeout {
		g.cancel(g.overRunTimeout())
	}
	if timeout := g.attempt.HeartbeatTimeout; timeout > 0 && g.idle() >= timeout {
		g.cancel(g.withoutHeartbeat())
	}
	if g.ctx.Err() == nil {
		return false
	}
	cause := context.Cause(g.ctx)
	return outOfTime(cause) || errors.Is(cause, ErrKilledCancel)
}

// outOfTime says whether a cause of a guest's end is a timeout.
func outOfTime(cause error) bool {
	return errors.Is(cause, ErrKilledTimeout) || errors.Is(cause, context.DeadlineExceeded)
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
			g.cancel(g.withoutHeartbeat())
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
