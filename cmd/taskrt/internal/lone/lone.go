// Package lone runs a worker without a node: it finds the cluster by URLs, and keeps a part of the cluster's files on
// its own disk.
package lone

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/taskrt/taskrt/api/children"
	"github.com/taskrt/taskrt/api/server"
	"github.com/taskrt/taskrt/api/server/pages"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/guests"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/supervisor"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/metrics"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/grants"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/traces"
	"github.com/taskrt/taskrt/worker"
	"github.com/taskrt/taskrt/worker/child"
)

// Worker is a worker without a node. All fields but Grants, Listener, Runs and Supervisor are needed.
type Worker struct {
	ID, Dir  string
	Slots    int // 0: four per CPU
	Nodes    *Directory
	Inline   bool            // guests run in this process, not in a child of it
	Grants   *grants.Grants  // nil: nothing is granted
	Runs     *guests.RunLog  // nil: nobody wants to know
	Settings guests.Settings // of the child
	Metrics  *metrics.Metrics
	Version  string       // of this program
	Listener net.Listener // where Metrics are served; nil: nowhere
	Door     pages.Door   // of Listener
	Logger   *slog.Logger

	Supervisor *supervisor.Supervisor // nil: nobody is told how the worker is, nor asks for its settings to be read again
	Reload     func() error           // see supervisor.Process
}

// StartError is why a worker could not start.
type StartError struct{ Err error }

func (e *StartError) Error() string { return e.Err.Error() }
func (e *StartError) Unwrap() error { return e.Err }

// Run runs the worker until ctx ends. The directory is locked first, because opening its files clears away what
// another process writes. The lock proves nothing about guests: the process that runs guests has a lock of its own.
// An error that is no *StartError says why the worker had to stop.
func (l *Worker) Run(ctx context.Context) error {
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return &StartError{err}
	}
	lock, err := worker.Lock(l.Dir)
	if err != nil {
		return &StartError{err}
	}
	defer lock.Close()
	store, err := blob.Open(blob.Config{Dir: filepath.Join(l.Dir, "blobs"), Net: mux.Dialer{Guard: l.Nodes.trust.Guard}, KeepBytes: keepBytes, Logger: l.Logger})
	if err != nil {
		return &StartError{err}
	}
	defer store.Close()
	spans, err := traces.Open(traces.Config{Process: l.ID, Version: l.Version, Logger: l.Logger})
	if err != nil {
		return &StartError{err}
	}
	defer spans.Close()
	ended, lapsed := spans.Told(l.Metrics.Ended)
	disk := &files{nodes: l.Nodes, store: store}
	config := worker.Config{
		ID: l.ID, Dir: filepath.Join(l.Dir, "worker"), Slots: l.Slots, Logger: l.Logger,
		Dial: l.Nodes, Modules: disk, Blobs: disk, OnRun: l.Runs.Hook(), OnEnd: ended, Traces: lapsed != nil,
	}
	if l.Inline {
		return l.inline(ctx, config, store)
	}
	return l.process(ctx, config, store)
}

// inline runs guests in this process.
func (l *Worker) inline(ctx context.Context, config worker.Config, store *blob.Store) error {
	engine, err := runtime.New(runtime.Config{
		CacheDir: l.Settings.CacheDir, Grants: l.Grants, CheckChild: children.Check, Logger: l.Logger, OnCompile: l.Metrics.Compiled,
	})
	if err != nil {
		return &StartError{err}
	}
	defer engine.Close(context.WithoutCancel(ctx))
	config.Runner = worker.Engine(engine)
	w, err := worker.New(config)
	if err != nil {
		return &StartError{err}
	}
	l.Metrics.WatchProcess(func() (worker.Status, runtime.Stats) { return w.Status(), engine.Stats() })
	return l.supervised(ctx, &health{w.Status, store.Probe}, w.Run)
}

// process runs guests in a child of this process, as a server does.
func (l *Worker) process(ctx context.Context, config worker.Config, store *blob.Store) error {
	o := guests.New(l.Settings, l.Grants, l.Runs, l.Logger, l.Metrics.Compiled)
	parent, err := o.Parent(config, func(ctx context.Context, c task.CrashSession) {
		if err := child.Tell(ctx, l.Nodes, c); err != nil {
			l.Logger.Warn("the session of a process that died is left to expire", "worker", c.Worker, "err", err)
		}
	})
	if err != nil {
		return &StartError{err}
	}
	l.Metrics.WatchProcess(parent.Report)
	status := func() worker.Status { st, _ := parent.Report(); return st }
	return l.supervised(ctx, &health{status, store.Probe}, parent.Run)
}

// supervised runs the guests' worker, and tells a supervisor meanwhile how it is.
func (l *Worker) supervised(ctx context.Context, h *health, run func(context.Context) error) error {
	serve := func(ctx context.Context) error { return l.beside(ctx, run) }
	if l.Supervisor == nil {
		return serve(ctx)
	}
	return l.Supervisor.Serve(ctx, supervisor.Process{Serves: noSession, Alive: h.alive, State: h.state, Reload: l.Reload}, serve)
}

// beside runs the guests' worker, and serves its metrics until it has ended.
func (l *Worker) beside(ctx context.Context, run func(context.Context) error) error {
	if l.Listener == nil {
		return run(ctx)
	}
	routes := http.NewServeMux()
	routes.Handle("GET /metrics", l.Metrics)
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- server.Serve(serving, l.Listener, l.Door.Keep(routes), l.Logger) }()
	err := run(ctx)
	stop()
	return errors.Join(err, <-served)
}
