package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskrt/taskrt/internal/cgroup"
	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/fetch"
	"github.com/taskrt/taskrt/runtime/grants"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
)

// Config configures a Parent.
type Config struct {
	// Worker is what the child's worker is to be. Dial, Modules and Blobs are asked on its behalf, in this process, and
	// OnEnd is told in this process. Runner, Native and clocks are the child's own affair.
	Worker worker.Config
	// AloneDir is the directory of a second worker, ID/alone, of children that each run one suspect and end. They are
	// started while the leader says that suspects wait. "": there is no such process here for suspects.
	AloneDir string
	// Args call that command of the program which is Run.
	Args []string
	// Settings and Files go to the function that makes the child's Parts. The files stay open in this process. Settings are encoded as they are
	// when a child is started.
	Settings any
	Files    []*os.File
	// Grants are the capabilities that guests get; nil grants none. Only this process knows them, makes requests and reads secrets.
	Grants *grants.Grants
	// CheckChild reads the task that an attempt submits together with its own success, and returns the task's behavior; nil: no attempt
	// submits any.
	CheckChild func(doc []byte) (behavior string, err error)
	// Compile puts code where the child finds it; nil: the child's Runner needs no such help.
	Compile func(ctx context.Context, digest string, size int64) error
	// MemoryBytes bounds the memory that the child has to itself: a child that has more is killed. 0: no bound.
	MemoryBytes int64
	// Cgroup has a cgroup for each child, with MemoryBytes and cgroupRoom as its limit, or says why there is none; nil: no cgroups.
	Cgroup *cgroup.Group
	// OnCompile, if set, is told what the child's engine tells.
	OnCompile func(runtime.Compiled)
	// OnCrash, if set, is told of a child that ended by itself or had to be killed, once no thread of it runs and before
	// another is started. It should end the child's session. It should not take long, because Run does not end before it
	// returns.
	OnCrash func(context.Context, Crash)
	// Orphan leaves out the kernel's help when the parent dies, for tests.
	Orphan bool
}

// Crash is what is known of a child that died.
type Crash struct {
	Session task.CrashSession // what ends its session; Proof nil: it has never had a session
	PID     int
	At      time.Duration // a CLOCK_BOOTTIME at which no thread of it ran any longer
	Why     string
}

// Parent starts a child, watches it, and starts another when it ends. Make it with New, then Run it once.
type Parent struct {
	cfg   Config
	log   *slog.Logger
	slots int

	fetch fetch.Client // makes the guests' requests

	suspects chan struct{} // capacity 1: waiting may have changed
	breaches atomic.Int64  // how often a child has said what it may not say
	oomKills atomic.Int64  // how often the kernel has ended a child because its cgroup needed too much memory

	mu      sync.Mutex
	current *process // nil: none
	alone   *process // nil: none
	waiting bool     // suspects wait
	last    report
	killed  bool // Kill was called
	starts  int64
}

// Pauses before a child that has ended is started again. They double, and begin anew after a minute without an end.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 10 * time.Second
	healthy    = time.Minute
)

// New checks the configuration. Run starts the child.
func New(cfg Config) (*Parent, error) {
	w := cfg.Worker
	switch {
	case w.ID == "" || w.Dir == "" || w.Dial == nil || w.Modules == nil || w.Blobs == nil:
		return nil, errors.New("child: ID, Dir, Dial, Modules and Blobs must be set")
	case w.Runner != nil || len(w.Native) > 0:
		return nil, errors.New("child: Runner and Native are of this process")
	case w.Slots < 0:
		return nil, fmt.Errorf("child: Slots is negative: %d", w.Slots)
	case len(cfg.Args) == 0:
		return nil, errors.New("child: Args is empty")
	}
	if _, err := json.Marshal(cfg.Settings); err != nil {
		return nil, fmt.Errorf("child: settings: %w", err)
	}
	p := &Parent{cfg: cfg, log: w.Logger, slots: w.Slots, suspects: make(chan struct{}, 1)}
	if p.log == nil {
		p.log = slog.Default()
	}
	if p.slots == 0 {
		p.slots = worker.DefaultSlots()
	}
	return p, nil
}

// Run keeps a child running until ctx ends, then shuts it down cleanly, as worker.Worker does.
func (p *Parent) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer p.fetch.Close()
	defer wg.Wait()
	if p.cfg.AloneDir != "" {
		wg.Go(func() { p.isolate(ctx) })
	}
	var pause time.Duration
	for ctx.Err() == nil {
		begun := time.Now()
		crash := p.once(ctx)
		if crash == nil && ctx.Err() != nil {
			break
		}
		if crash == nil { // it was not told to end
			crash = p.sessionless("it ended by itself")
		}
		p.log.Error("the guests' process has ended", "why", crash.Why, "executing", len(crash.Session.Tokens))
		p.crashed(ctx, crash)
		if time.Since(begun) > healthy {
			pause = 0
		}
		pause = min(max(2*pause, firstPause), lastPause)
		idle.For(ctx, pause/2+rand.N(pause/2))
	}
	return nil
}

// sessionless is the crash of a child without a session that anybody could end.
func (p *Parent) sessionless(why string) *Crash {
	return &Crash{Session: task.CrashSession{Worker: p.cfg.Worker.ID}, Why: why}
}

// crashed tells of a crash. After Kill it does not: then it is as if this process had died, too.
func (p *Parent) crashed(ctx context.Context, crash *Crash) {
	p.mu.Lock()
	killed := p.killed
	p.mu.Unlock()
	if p.cfg.OnCrash != nil && !killed {
		p.cfg.OnCrash(context.WithoutCancel(ctx), *crash)
	}
}

// once runs one child to its end. It returns nil if the child ended well.
func (p *Parent) once(ctx context.Context) *Crash {
	c, err := p.start(&p.current, p.mainSpec())
	if err != nil {
		return p.sessionless(err.Error())
	}
	crash := c.wait(ctx)
	p.mu.Lock()
	p.current, p.waiting = nil, false // the next child is told anew
	p.mu.Unlock()
	return crash
}

// mainSpec says what the child that runs the guests is to be.
func (p *Parent) mainSpec() spec {
	w := p.cfg.Worker
	settings, err := json.Marshal(p.cfg.Settings) // as they are now
	if err != nil {
		p.log.Error("child: settings cannot be encoded any longer", "err", err)
	}
	return spec{
		ID: w.ID, Node: w.Node, Dir: w.Dir, Slots: p.slots, DrainTime: w.DrainTime, CloseTime: w.CloseTime, PrepareWorkers: w.PrepareWorkers,
		Isolates: p.cfg.AloneDir != "", Settings: settings, Traces: w.Traces,
	}
}

// Report asks the child for the status of its worker and of its engine. Without an answer in time it returns what the
// child said last.
func (p *Parent) Report() (worker.Status, runtime.Stats) {
	r := p.report()
	r.Worker.Breaches = p.Breaches()
	return r.Worker, r.Engine
}

// Starts returns how many children were started.
func (p *Parent) Starts() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}

// Breaches returns how often a child has said to the leader what it may not say (SPEC A10).
func (p *Parent) Breaches() int64 { return p.breaches.Load() }

// reportPatience is how long Report waits for the child.
const reportPatience = 500 * time.Millisecond

func (p *Parent) report() report {
	p.mu.Lock()
	c, last := p.current, p.last
	p.mu.Unlock()
	if c == nil {
		return report{Engine: runtime.Stats{MemoryBudget: last.Engine.MemoryBudget}}
	}
	return c.ask(last)
}

// Kill ends the child at once, without a word to the leader. No other child is started. Run still ends with its
// context.
func (p *Parent) Kill() {
	p.mu.Lock()
	p.killed = true
	children := []*process{p.current, p.alone}
	p.mu.Unlock()
	for _, c := range children {
		if c != nil {
			c.sub.Kill()
		}
	}
}
