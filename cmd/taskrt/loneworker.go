package main

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"github.com/taskrt/taskrt/api/children"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/metrics"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/grants"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
	"github.com/taskrt/taskrt/worker/child"
)

// loneWorker is a worker without a node.
type loneWorker struct {
	id, dir  string
	slots    int
	nodes    *directory
	runs     *runLog
	metrics  *metrics.Metrics
	log      *slog.Logger
	settings guestsSettings
}

// run runs guests in a child of this process (SPEC L5), or in itself, until ctx ends. The directory is locked first: opening its
// files clears away what another process writes. That proves nothing about guests: whoever runs them has a lock of its own. An error
// carries its exit code.
func (l *loneWorker) run(ctx context.Context, kind string, granted *grants.Grants, ln net.Listener) error {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return &exitError{exitStart, err}
	}
	lock, err := worker.Lock(l.dir)
	if err != nil {
		return &exitError{exitStart, err}
	}
	defer lock.Close()
	store, err := blob.Open(blob.Config{Dir: filepath.Join(l.dir, "blobs"), Net: mux.Dialer{}, KeepBytes: keepBytes, Logger: l.log})
	if err != nil {
		return &exitError{exitStart, err}
	}
	defer store.Close()
	disk := &files{nodes: l.nodes, store: store}
	config := worker.Config{
		ID: l.id, Dir: filepath.Join(l.dir, "worker"), Slots: l.slots, Logger: l.log,
		Dial: l.nodes, Modules: disk, Blobs: disk, OnRun: l.runs.hook(), OnEnd: l.metrics.Ended,
	}
	if kind == workerChild {
		return l.process(ctx, config, ln)
	}
	return l.inline(ctx, config, granted, ln)
}

// inline runs guests in this process.
func (l *loneWorker) inline(ctx context.Context, config worker.Config, granted *grants.Grants, ln net.Listener) error {
	engine, err := runtime.New(runtime.Config{
		CacheDir: l.settings.CacheDir, Grants: granted, CheckChild: children.Check, Logger: l.log, OnCompile: l.metrics.Compiled,
	})
	if err != nil {
		return &exitError{exitStart, err}
	}
	defer engine.Close(context.WithoutCancel(ctx))
	config.Runner = worker.Engine(engine)
	w, err := worker.New(config)
	if err != nil {
		return &exitError{exitStart, err}
	}
	l.metrics.WatchProcess(func() (worker.Status, runtime.Stats) { return w.Status(), engine.Stats() })
	return runBeside(ctx, ln, l.metrics, l.log, w.Run)
}

// process runs guests in a child of this process, as a server does.
func (l *loneWorker) process(ctx context.Context, config worker.Config, ln net.Listener) error {
	o := newOutside(l.settings, l.runs, l.log, l.metrics.Compiled)
	parent, err := o.parent(config, func(ctx context.Context, c task.CrashSession) {
		if err := child.Tell(ctx, l.nodes, c); err != nil {
			l.log.Warn("the session of a process that died is left to expire", "worker", c.Worker, "err", err)
		}
	})
	if err != nil {
		return &exitError{exitStart, err}
	}
	l.metrics.WatchProcess(parent.Report)
	return runBeside(ctx, ln, l.metrics, l.log, parent.Run)
}
