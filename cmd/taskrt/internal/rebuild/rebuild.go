// Package rebuild tries each change of a plugin's source on a cluster: `taskrt dev --watch DIR`. It builds and tests the plugin by the Makefile that
// `taskrt new` makes, pushes the module, and runs the last task again.
package rebuild

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/terminal"
)

// Cluster is what is asked of the cluster. api.Service has it.
type Cluster interface {
	Push(ctx context.Context, r api.PushRequest) (*api.Module, error)
	Tasks(ctx context.Context, r api.ListRequest) (*api.ListReply, error)
	Task(ctx context.Context, namespace, id string, o api.GetOptions) (*api.Task, error)
	Resubmit(ctx context.Context, r api.ResubmitRequest) (*api.SubmitReply, error)
}

// Watcher tries what changes in a directory.
type Watcher struct {
	Dir     string
	Cluster Cluster
	Out     *terminal.Output
	Env     []string // of make, beside this process's own

	sources string // as they were tried last
	pushed  string // digest of the module that was pushed last
}

// Check returns an error if there is nothing to build in a directory.
func Check(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "Makefile")); err != nil {
		return fmt.Errorf("%w: `taskrt new` makes a plugin with one", err)
	}
	_, err := fingerprint(dir)
	return err
}

const pause = 300 * time.Millisecond // between two looks

// Run builds the plugin, and again whenever its sources change, until ctx ends.
func (w *Watcher) Run(ctx context.Context) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for before := ""; ctx.Err() == nil; {
		now, err := fingerprint(w.Dir)
		switch {
		case err != nil:
			now = err.Error()
			if now != w.sources {
				w.say("%v\n", err)
			}
			w.sources = now
		case now == before && now != w.sources: // it stands still: no editor is in the middle of it
			w.sources = now
			if err := w.try(ctx); err != nil && ctx.Err() == nil {
				w.say("%v\n", err)
			}
		}
		before = now
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (w *Watcher) say(format string, args ...any) { _ = w.Out.Printf(format, args...) }

// try builds, tests and pushes what is there, and runs the last task again.
func (w *Watcher) try(ctx context.Context) error {
	file, err := w.build(ctx)
	if err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	m, err := w.Cluster.Push(ctx, api.PushRequest{Wasm: f, Size: info.Size()})
	if err != nil {
		return fmt.Errorf("push %s: %w", filepath.Base(file), err)
	}
	if m.Digest == w.pushed {
		w.say("the module is the same as before\n")
		return nil
	}
	w.pushed = m.Digest
	var names []string
	for _, b := range m.Behaviors {
		names = append(names, b.Name)
		w.say("pushed %s as version %.12s\n", b.Name, b.Version)
	}
	return w.again(ctx, names)
}

var errRefused = errors.New("it is not run again")

// again runs the last task of some behaviors once more, and says what has changed.
func (w *Watcher) again(ctx context.Context, behaviors []string) error {
	l, err := w.Cluster.Tasks(ctx, api.ListRequest{Behaviors: behaviors, Desc: true, Limit: 1})
	if err != nil {
		return err
	}
	if len(l.Tasks) == 0 {
		w.say("no task yet that could run again: taskrt submit %s --params …\n", behaviors[0])
		return nil
	}
	last := l.Tasks[0]
	if !last.Final {
		return fmt.Errorf("the last task, %s, has not ended: %w", last.ID, errRefused)
	}
	r, err := w.Cluster.Resubmit(ctx, api.ResubmitRequest{Namespace: last.Namespace, ID: last.ID})
	if err != nil {
		return fmt.Errorf("the last task, %s: %w", last.ID, err)
	}
	now, err := w.ended(ctx, r.Task, last.Attempt)
	if err != nil || now == nil {
		return err
	}
	w.compare(last, now)
	return nil
}

// ended waits until an attempt of a task after this one has ended: until then the task keeps its former outcome. It returns nil if the sources change
// meanwhile.
func (w *Watcher) ended(ctx context.Context, t *api.Task, attempt int64) (*api.Task, error) {
	for t.Attempt <= attempt || t.Status == "RUNNING" {
		var err error
		o := api.GetOptions{Wait: time.Second, Until: fmt.Sprint("rev:", t.Rev+1)}
		if t, err = w.Cluster.Task(ctx, t.Namespace, t.ID, o); err != nil {
			return nil, err
		}
		if now, err := fingerprint(w.Dir); err != nil || now != w.sources {
			w.say("%s goes on: there is something newer to try\n", t.ID)
			return nil, err
		}
	}
	return t, nil
}
