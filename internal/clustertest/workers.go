package clustertest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"

	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/internal/memnet"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/worker"
)

// Worker is a worker process of its own, with an address by which it can be cut off.
type Worker struct {
	ID, Addr string
	c        *Cluster
	w        *worker.Worker
	engine   *runtime.Engine
	blobs    *blob.Store
	cancel   context.CancelFunc
	done     chan error
	once     sync.Once
}

// AddWorker starts a separate worker.
func (c *Cluster) AddWorker(id string, slots int) *Worker {
	c.t.Helper()
	return c.AddWorkerAt(id, id, slots, nil)
}

// AddWorkerAt starts a separate worker whose address, and so whose directory, may not be its ID: then it is a worker that
// claims to be another one. Configure, if not nil, changes its configuration.
func (c *Cluster) AddWorkerAt(id, addr string, slots int, configure func(*worker.Config)) *Worker {
	c.t.Helper()
	log := slog.New(slog.NewTextHandler(c.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w := &Worker{ID: id, Addr: addr, c: c, done: make(chan error, 1)}
	dir := filepath.Join(c.dir, "worker-"+addr)
	var err error
	w.engine, err = runtime.New(runtime.Config{
		CacheDir: filepath.Join(dir, "wasm-cache"), CompileWorkers: 1, Logger: log, Boottime: c.Boottime, OnRun: c.Runs.span(id),
	})
	if err != nil {
		c.t.Fatalf("worker %s: %v", id, err)
	}
	if w.blobs, err = blob.Open(blob.Config{Dir: filepath.Join(dir, "blobs"), Net: c.Net.Node(addr), Logger: log}); err != nil {
		c.t.Fatalf("worker %s: %v", id, err)
	}
	config := worker.Config{
		ID: id, Dir: filepath.Join(dir, "worker"), Slots: slots, DrainTime: c.o.DrainTime,
		Dial: &dialer{c: c, net: c.Net.Node(addr)}, Modules: modules{w}, Blobs: workerBlobs{w.remote()}, Runner: w.runner(),
		Boottime: c.Boottime, Logger: log, OnRun: c.Runs.seen(id),
		OnOverrun: func(o worker.Overrun) { c.t.Errorf("%s: guests could not be stopped: %+v", id, o) },
	}
	if configure != nil {
		configure(&config)
	}
	if w.w, err = worker.New(config); err != nil {
		c.t.Fatalf("worker %s: %v", id, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	go func() { w.done <- w.w.Run(ctx) }()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers = append(c.workers, w)
	return w
}

func (w *Worker) runner() worker.Runner {
	if w.c.o.Guest != nil {
		return &goModule{c: w.c, where: w.ID, run: w.c.o.Guest}
	}
	return worker.Engine(w.engine)
}

// Status describes the worker now.
func (w *Worker) Status() worker.Status { return w.w.Status() }

// Stop shuts the worker down cleanly. A second Stop, also after Kill, does nothing.
func (w *Worker) Stop() { w.once.Do(w.stop) }

// Kill ends the worker as a crash of its process does. AddWorker with the same ID restarts it.
func (w *Worker) Kill() {
	w.once.Do(func() {
		w.c.Net.Isolate(w.Addr)
		w.c.Net.Crash(w.Addr)
		w.w.Kill()
		w.stop()
		w.c.Net.Rejoin(w.Addr)
	})
}

func (w *Worker) stop() {
	w.cancel()
	if err := <-w.done; err != nil {
		w.c.t.Errorf("worker %s: %v", w.ID, err)
	}
	if err := errors.Join(w.blobs.Close(), w.engine.Close(context.Background())); err != nil {
		w.c.t.Errorf("worker %s: %v", w.ID, err)
	}
}

// dialer asks the members, as a worker process asks /v1/cluster.
type dialer struct {
	c   *Cluster
	net *memnet.Node

	mu   sync.Mutex
	told string
}

// Dial implements worker.Dialer.
func (d *dialer) Dial(ctx context.Context) (net.Conn, error) {
	d.mu.Lock()
	addr := d.told
	d.told = ""
	d.mu.Unlock()
	if addr == "" {
		i := d.c.leader(nil)
		if i < 0 {
			return nil, errors.New("clustertest: no leader")
		}
		addr = d.c.Members[i].Addr
	}
	return d.net.Dial(ctx, addr, mux.Stream)
}

// Redirect implements worker.Dialer.
func (d *dialer) Redirect(addr string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.told = addr
}

// remote is the cluster's files for a process that is no member.
func (w *Worker) remote() blob.Remote {
	return blob.Remote{Store: w.blobs, Peers: func() (addrs []string) {
		for _, m := range w.c.Members {
			addrs = append(addrs, m.Addr)
		}
		return addrs
	}}
}

type modules struct{ w *Worker }

// Fetch implements worker.Modules.
func (m modules) Fetch(ctx context.Context, digest string, size int64) ([]byte, error) {
	return m.w.remote().Fetch(ctx, digest, size)
}

// workerBlobs implements worker.Blobs.
type workerBlobs struct{ blob.Remote }

func (b workerBlobs) Open(ctx context.Context, digest string) (worker.Blob, error) {
	f, err := b.Remote.Open(ctx, digest)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, fmt.Errorf("%w: %w", worker.ErrNoBlob, err)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}
