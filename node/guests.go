package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"time"

	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/node/service"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
)

// Guests runs a node's guests: a worker in the node's own process, or one in a child of it (SPEC L5).
type Guests interface {
	// Run works until ctx ends. Then it gives back what is unfinished and ends the session, as worker.Worker does.
	Run(ctx context.Context) error
	// Kill stops all guests at once and without a word to the leader.
	Kill()
	// Report says what the worker and its engine are doing now. It is one method because a child is asked for both at
	// once.
	Report() (worker.Status, runtime.Stats)
}

// inline is a worker in this process, with its engine.
type inline struct {
	*worker.Worker
	engine *runtime.Engine
}

// Report implements Guests.
func (g inline) Report() (worker.Status, runtime.Stats) { return g.Status(), g.engine.Stats() }

// workers are the workers of this node.
type workers struct {
	guests Guests         // nil: the node runs no modules
	system *worker.Worker // runs native behaviors if guests does not; nil: none

	cancel context.CancelFunc
	done   []chan error
}

// startWorkers makes the node's workers and lets them run.
func (n *Node) startWorkers() error {
	cfg, w := &n.cfg, &n.workers
	base := worker.Config{
		ID: cfg.ID, Node: cfg.ID, Dir: filepath.Join(cfg.Dir, "worker"), Slots: cfg.Slots,
		Dial: &leaderDialer{net: cfg.Net, leader: n.store.Leader}, Modules: modules{n}, Blobs: nodeBlobs{n},
		DrainTime: cfg.DrainTime, Boottime: cfg.Boottime, Now: cfg.Clock.Wall, Logger: cfg.Logger,
		OnRun: cfg.OnRun, OnEnd: cfg.OnEnd, Traces: cfg.OnLapse != nil, OnOverrun: cfg.OnOverrun,
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	native := cfg.Maintains
	var err error
	switch {
	case cfg.Worker && cfg.Guests != nil:
		w.guests, err = cfg.Guests(base, n.crashed)
		native = true
	case cfg.Worker:
		own := base
		own.Runner, own.Native = worker.Engine(n.engine), n.native()
		native = false
		var in *worker.Worker
		if in, err = worker.New(own); err == nil {
			w.guests = inline{in, n.engine}
		}
	}
	if err == nil && native {
		w.system, err = worker.New(n.systemWorker(base))
	}
	if err != nil {
		w.guests = nil
		return fmt.Errorf("node: %w", err)
	}
	if w.guests != nil {
		w.run(ctx, w.guests.Run)
	}
	if w.system != nil {
		w.run(ctx, func(ctx context.Context) error {
			err := w.system.Run(ctx)
			if errors.Is(err, worker.ErrStuck) {
				cfg.Logger.Warn("maintenance does not end in time; what it has done so far holds", "err", err)
				return nil
			}
			return err
		})
	}
	return nil
}

func (w *workers) run(ctx context.Context, run func(context.Context) error) {
	done := make(chan error, 1)
	w.done = append(w.done, done)
	go func() { done <- run(ctx) }()
}

// systemWorker configures the session of native behaviors (SPEC L5). Native behaviors act only by commands that carry
// their token. So a native guest that runs past its margin does no harm, and its node need not end because of it.
func (n *Node) systemWorker(base worker.Config) worker.Config {
	base.ID += "/system"
	base.Dir = filepath.Join(n.cfg.Dir, "system")
	base.Modules, base.Native = nil, n.native()
	base.Slots = len(base.Native)            // a long run of one of them does not hold up the other
	base.OnOverrun = func(worker.Overrun) {} // the worker has logged it
	return base
}

// crashed proposes until there is a leader, but no longer than crashPatience. Without a leader no session can be opened
// either.
const (
	crashPatience = 15 * time.Second
	crashPause    = 100 * time.Millisecond
)

// crashed ends the session of a process of this node that has died (SPEC L5, L6). So its tasks need not wait for the
// session's TTL, and the cluster knows which attempts died with the process.
func (n *Node) crashed(ctx context.Context, c task.CrashSession) {
	ctx, cancel := context.WithTimeout(ctx, crashPatience)
	defer cancel()
	for {
		rs, err := n.store.Propose(ctx, c)
		if err == nil {
			n.cfg.Logger.Info("the session of a process that died has ended", "worker", c.Worker, "executing", len(c.Tokens), "code", rs[0].Code)
			return
		}
		if errors.Is(err, raftstore.ErrClosed) || !idle.For(ctx, crashPause) {
			n.cfg.Logger.Warn("the session of a process that died is left to expire", "worker", c.Worker, "err", err)
			return
		}
	}
}

// stop stops all workers side by side and waits for them.
func (w *workers) stop() error {
	if w.cancel == nil {
		return nil
	}
	w.cancel()
	var errs []error
	for _, done := range w.done {
		if err := <-done; err != nil {
			errs = append(errs, fmt.Errorf("node: worker: %w", err))
		}
	}
	return errors.Join(errs...)
}

// report describes the worker that runs the node's guests, or the one of native behaviors if the node runs no modules,
// and the engine that runs modules. w is nil if the node has no worker.
func (n *Node) report() (w *worker.Status, engine runtime.Stats) {
	switch {
	case n.workers.guests != nil:
		status, stats := n.workers.guests.Report()
		return &status, stats
	case n.workers.system != nil:
		w = new(n.workers.system.Status())
	}
	return w, n.engine.Stats()
}

// KillGuests stops what the node's workers execute, at once and without a word to the leader, as the death of the
// process would. Close must follow.
func (n *Node) KillGuests() {
	if n.workers.guests != nil {
		n.workers.guests.Kill()
	}
	if n.workers.system != nil {
		n.workers.system.Kill()
	}
}

// leaderDialer connects the built-in worker to the leader, which may be this node.
type leaderDialer struct {
	net    mux.Network
	leader func() (id, addr string)

	mu   sync.Mutex
	told string // the leader's address as a node that does not lead told it; used once
}

var errNoLeader = errors.New("node: no leader is known")

// Dial implements worker.Dialer.
func (d *leaderDialer) Dial(ctx context.Context) (net.Conn, error) {
	d.mu.Lock()
	addr := d.told
	d.told = ""
	d.mu.Unlock()
	if addr == "" {
		_, addr = d.leader()
	}
	if addr == "" {
		return nil, errNoLeader
	}
	return d.net.Dial(ctx, addr, mux.Stream)
}

// Redirect implements worker.Dialer.
func (d *leaderDialer) Redirect(addr string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.told = addr
}

// nodeBlobs gives the cluster's files to the built-in worker.
type nodeBlobs struct{ n *Node }

var _ worker.Blobs = nodeBlobs{}

// Put implements worker.Blobs.
func (b nodeBlobs) Put(ctx context.Context, data []byte) (digest string, err error) {
	return b.n.PutPayload(ctx, data)
}

// Open implements worker.Blobs.
func (b nodeBlobs) Open(ctx context.Context, digest string) (worker.Blob, error) {
	f, err := b.n.files.Open(ctx, digest)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, fmt.Errorf("%w: %w", worker.ErrNoBlob, err)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// modules gets modules for the built-in worker, from this node's files or else from other members. It also inspects
// modules that are uploaded.
type modules struct{ n *Node }

var _ service.Modules = modules{}

// Fetch implements worker.Modules.
func (m modules) Fetch(ctx context.Context, digest string, _ int64) ([]byte, error) {
	return m.n.files.Get(ctx, digest)
}

// Inspect implements service.Modules, in the process that compiles modules.
func (m modules) Inspect(ctx context.Context, wasm []byte, given *manifest.Manifest, name string) (*runtime.Inspected, error) {
	if m.n.cfg.Inspect != nil {
		return m.n.cfg.Inspect(ctx, wasm, given, name)
	}
	return m.n.engine.Inspect(ctx, wasm, given, name)
}

// CheckGranted implements service.Modules.
func (m modules) CheckGranted(namespace string, given *manifest.Manifest) error {
	return m.n.engine.CheckGranted(namespace, given)
}
