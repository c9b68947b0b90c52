package child

import (
	"context"
	"time"

	"github.com/taskrt/taskrt/internal/idle"
)

const (
	// aloneDrain is how long an attempt that has ended may take to store its result. Nothing else waits for its process.
	aloneDrain = time.Minute
	// aloneIdle is how long a child waits for its suspect. Other processes may have got all of them.
	aloneIdle = 15 * time.Second
	// alonePause is the pause after a child that has run nothing, before the next child is started.
	alonePause = 5 * time.Second
)

// isolate starts children one after the other, each for one suspect, while the leader says that suspects wait, until ctx ends.
func (p *Parent) isolate(ctx context.Context) {
	for ctx.Err() == nil {
		if !p.wanted() {
			select {
			case <-p.suspects:
			case <-ctx.Done():
			}
			continue
		}
		c, err := p.start(&p.alone, p.aloneSpec())
		if err != nil {
			p.log.Error("no process for a suspect can be started", "error", err)
			idle.For(ctx, lastPause)
			continue
		}
		crash := p.waitAlone(ctx, c)
		p.mu.Lock()
		p.alone = nil
		p.mu.Unlock()
		pause := time.Duration(0)
		switch {
		case crash != nil:
			p.log.Error("a process for one suspect has ended", "why", crash.Why, "executing", len(crash.Session.Tokens))
			p.crashed(ctx, crash)
			if len(crash.Session.Tokens) == 0 {
				pause = lastPause
			}
		case !c.ended.Load():
			pause = alonePause
		}
		idle.For(ctx, pause)
	}
}

func (p *Parent) wanted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting && !p.killed
}

// tellSuspects notes what the leader says about suspects.
func (p *Parent) tellSuspects(wait bool) {
	p.mu.Lock()
	p.waiting = wait
	p.mu.Unlock()
	select {
	case p.suspects <- struct{}{}:
	default:
	}
}

// aloneSpec says what a child for one suspect is to be.
func (p *Parent) aloneSpec() spec {
	s := p.mainSpec()
	s.ID, s.Dir, s.Slots, s.Alone, s.Isolates, s.DrainTime = s.ID+"/alone", p.cfg.AloneDir, 1, true, false, aloneDrain
	return s
}

// waitAlone waits until a child for one suspect has ended. A child that gets no suspect is ended. It returns nil if the child ended well.
func (p *Parent) waitAlone(ctx context.Context, c *process) *Crash {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	idle := time.AfterFunc(aloneIdle, func() {
		if !c.ended.Load() && len(c.executing()) == 0 {
			cancel()
		}
	})
	defer idle.Stop()
	return c.wait(ctx)
}
