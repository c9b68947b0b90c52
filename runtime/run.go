package runtime

import (
	"context"
	"fmt"
	"time"

	"github.com/taskrt/taskrt/runtime/memory"
)

// Run executes one attempt in fresh memory. When it returns, no guest code of the attempt runs any more (SPEC L1), so
// it may return later than ctx is done. To cancel ctx is to kill the guest; context.Cause says why.
func (m *Module) Run(ctx context.Context, a Attempt, host Host) Outcome {
	g := newGuest(ctx, m, &m.engine.cfg, a.withDefaults(), host)
	defer g.cancel(nil)
	g.memory = m.engine.memory
	defer g.hold(0)
	defer g.leaveStack()
	if !m.enter(g) {
		return Outcome{Kind: Killed, Cause: ErrClosed}
	}
	defer m.leave(g)
	return m.run(g)
}

func (m *Module) run(g *guest) Outcome {
	a, cfg := &g.attempt, &m.engine.cfg
	defer g.timers.stop()
	if m.minMemory > a.MemoryBytes {
		return g.outOfMemory(memory.OverLimit, fmt.Sprintf("the module's memory begins with %d bytes", m.minMemory))
	}
	i, err := m.pool.admit(g, false)
	if err != nil {
		if g.ctx.Err() != nil {
			return g.killed("before it began: waited for memory")
		}
		return g.outOfMemory(memory.OverBudget, err.Error())
	}
	defer i.end()
	reused := i.mod != nil
	started, begun := cfg.Boottime(), time.Now()
	out := m.execute(g, i)
	out.Busy, out.Reused = max(0, time.Since(begun)-g.waited), reused
	out.Started = int64(started)
	out.Ended = int64(cfg.Boottime())
	out.PeakMemory = i.mem.Peak()
	out.Fuel = g.fuel.used()
	out.Stderr = g.stderr.last()
	if cfg.OnRun != nil {
		cfg.OnRun(Span{Digest: m.digest, Behavior: a.Behavior, Info: a.InfoJSON(), Started: out.Started, Ended: out.Ended})
	}
	return out
}

// execute runs all guest code of an attempt.
func (m *Module) execute(g *guest, i *instance) Outcome {
	ctx := g.ctx
	waited := g.timers.limit != nil
	if i.mod == nil {
		g.make()
	}
	if err := i.begin(ctx, g); err != nil {
		g.flush()
		return g.ended(err, i.mem)
	}
	if !g.making.IsZero() {
		g.made()
	}
	g.phase = phaseRun
	g.follow(i.mem)
	if m.command {
		g.becomeCommand()
	}
	g.fuel.start(g.attempt.Fuel)
	g.beaten()
	if waited || g.attempt.ParamsFrom != nil || g.attempt.CheckpointFrom != nil {
		g.arm() // it took its time already, or reads from where it may wait
	}
	status, err := i.run(ctx, g.attempt.Behavior)
	g.flush()
	switch {
	case g.late():
		return g.killed("when it ended")
	case err != nil:
		return g.ended(err, i.mem)
	}
	return g.outcome(status)
}

func (g *guest) flush() {
	g.stdout.flush()
	g.stderr.flush()
}
