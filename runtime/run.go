package runtime

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Run executes one attempt in fresh memory. When it returns, no guest code of the attempt runs any more (SPEC L1): that is
// also how long it may take after ctx is done. Cancelling ctx kills the guest; context.Cause says why.
func (m *Module) Run(ctx context.Context, a Attempt, host Host) Outcome {
	var out Outcome
	if !m.use(func() { out = m.run(ctx, a.withDefaults(), host) }) {
		return Outcome{Kind: Killed, Cause: ErrClosed}
	}
	return out
}

func (m *Module) run(ctx context.Context, a Attempt, host Host) Outcome {
	cfg := &m.engine.cfg
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(m.engine.stop, func() { cancel(ErrClosed) })()

	g := newGuest(cfg, a, host)
	g.cancel = cancel
	g.ctx = context.WithValue(ctx, guestKey{}, g)
	limit := time.AfterFunc(a.RunTimeout, func() {
		cancel(fmt.Errorf("%w: run_timeout of %v", ErrKilledTimeout, a.RunTimeout))
	})
	defer limit.Stop()

	if m.minMemory > a.MemoryBytes {
		return g.outOfMemory(overLimit, fmt.Sprintf("the module's memory begins with %d bytes", m.minMemory))
	}
	i, err := m.pool.admit(ctx, a.MemoryBytes, false)
	if err != nil {
		if ctx.Err() != nil {
			return g.killed("before it began: waited for memory")
		}
		return g.outOfMemory(overBudget, err.Error())
	}
	defer i.end()
	reused := i.mod != nil
	started, begun := cfg.Boottime(), time.Now()
	out := m.execute(g, i)
	out.Busy, out.Reused = max(0, time.Since(begun)-g.waited), reused
	out.Started = int64(started)
	out.Ended = int64(cfg.Boottime())
	out.PeakMemory = i.mem.peak
	out.Fuel = g.fuel.used()
	out.Stderr = g.stderr.last()
	if cfg.OnRun != nil {
		cfg.OnRun(Span{Digest: m.digest, Behavior: a.Behavior, Info: a.Info, Started: out.Started, Ended: out.Ended})
	}
	return out
}

// execute runs all guest code of an attempt.
func (m *Module) execute(g *guest, i *instance) Outcome {
	ctx := g.ctx
	if err := i.begin(ctx, g); err != nil {
		g.flush()
		return g.ended(err, i.mem)
	}
	g.phase = phaseRun
	if m.command {
		g.becomeCommand()
	}
	g.fuel.start(g.attempt.Fuel)
	g.beaten()
	defer g.watchHeart()()
	status, err := i.run(ctx, g.attempt.Behavior)
	g.flush()
	if err != nil {
		return g.ended(err, i.mem)
	}
	return g.outcome(status)
}

func (g *guest) flush() {
	g.stdout.flush()
	g.stderr.flush()
}

// watchHeart kills the guest when it does not beat for the heartbeat timeout (SPEC L7), until stop is called.
func (g *guest) watchHeart() (stop func()) {
	timeout := g.attempt.HeartbeatTimeout
	if timeout <= 0 {
		return func() {}
	}
	var mu sync.Mutex
	var timer *time.Timer
	stopped := false
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(timeout, func() {
		mu.Lock()
		defer mu.Unlock()
		idle := time.Since(g.real) - time.Duration(g.lastBeat.Load())
		switch {
		case stopped:
		case g.inCall.Load():
			timer.Reset(timeout) // the host is slow, not the guest; its answer counts as a beat
		case idle < timeout:
			timer.Reset(timeout - idle)
		default:
			g.cancel(fmt.Errorf("%w: no heartbeat for %v", ErrKilledTimeout, timeout))
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		timer.Stop()
	}
}
