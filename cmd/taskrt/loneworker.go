package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/metrics"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/grants"
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
	settings guestsSettings // of its child
}

// config is what both kinds have in common. The files are opened once the directory is this process's.
func (l *loneWorker) config(disk *files) worker.Config {
	return worker.Config{
		ID: l.id, Dir: filepath.Join(l.dir, "worker"), Slots: l.slots, Logger: l.log,
		Dial: l.nodes, Modules: disk, Blobs: disk, OnRun: l.runs.hook(), OnEnd: l.metrics.Ended,
	}
}

// open opens the files. That clears away what another process writes, so the directory must be locked.
func (l *loneWorker) open(disk *files) (err error) {
	disk.store, err = blob.Open(blob.Config{Dir: filepath.Join(l.dir, "blobs"), Net: mux.Dialer{}, KeepBytes: keepBytes, Logger: l.log})
	return err
}

// inline runs guests in this process.
func (l *loneWorker) inline(ctx context.Context, granted *grants.Grants, ln net.Listener) error {
	engine, err := runtime.New(runtime.Config{
		CacheDir: filepath.Join(l.dir, "wasm-cache"), Grants: granted, CheckChild: api.CheckChild, Logger: l.log, OnCompile: l.metrics.Compiled,
	})
	if err != nil {
		return err
	}
	defer engine.Close(context.WithoutCancel(ctx))
	disk := &files{nodes: l.nodes}
	config := l.config(disk)
	config.Runner = worker.Engine(engine)
	w, err := worker.New(config)
	if err != nil {
		return err
	}
	if err := l.open(disk); err != nil {
		return errors.Join(err, w.Close())
	}
	defer disk.store.Close()
	l.metrics.WatchProcess(workerProcess{w.Status, engine.Stats})
	return runBeside(ctx, ln, l.metrics, l.log, w.Run)
}

// process runs guests in a child of this process, as a server does (SPEC L5, A10).
func (l *loneWorker) process(ctx context.Context, _ *grants.Grants, ln net.Listener) error {
	lock, err := lockDir(l.dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	disk := &files{nodes: l.nodes}
	if err := l.open(disk); err != nil {
		return err
	}
	defer disk.store.Close()
	o := newOutside(l.settings, l.runs, l.log, l.metrics.Compiled)
	parent, err := o.parent(l.config(disk), func(ctx context.Context, c child.Crash) {
		if err := child.Tell(ctx, l.nodes, c); err != nil {
			l.log.Warn("the session of a process that died is left to expire", "worker", c.Worker, "err", err)
		}
	})
	if err != nil {
		return err
	}
	l.metrics.WatchProcess(workerProcess{parent.Status, parent.Stats})
	return runBeside(ctx, ln, l.metrics, l.log, parent.Run)
}

// lockDir keeps other workers out of the files in dir. It proves nothing about guests: their process has a lock of its own.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s: another worker process holds its lock", worker.ErrDirInUse, dir), lock.Close())
	}
	return lock, nil
}
