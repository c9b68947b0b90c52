package maintain

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/taskrt/taskrt/task"
)

// purgedKind is the kind under which all records of a namespace in PURGING are counted.
const purgedKind = "purged"

// purgePause is how long a run waits before it looks again whether the tasks that run in a namespace have ended.
const purgePause = time.Second

// purge empties, in batches, the namespaces that were in PURGING when the run began (SPEC N1, M2). Only a run that
// finds a namespace empty says that it is PURGED: what was on its way into the namespace has met the status by then.
func (r *Run) purge(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(r.purging)) {
		held, ok := r.held(name)
		line := r.counts.of(purgedKind, name)
		line.Scanned = held
		var err error
		switch {
		case !ok:
		case r.job.DryRun:
			line.Deleted = held
		case held == 0:
			err = r.endPurge(ctx, name)
		default:
			err = r.empty(ctx, name)
			left, _ := r.held(name)
			line.Deleted = max(held-left, 0)
			line.Retained = left
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// held counts the records of a namespace. ok is false if there is no such namespace.
func (r *Run) held(name string) (held int64, ok bool) {
	r.cluster.Local(func(m *task.Machine) {
		if n := m.Namespace(name); n != nil {
			u := n.Usage
			held, ok = u.Tasks+u.Operations+u.Records+u.Behaviors, true
		}
	})
	return held, ok
}

// empty removes what there is. Ticks cancel what runs; empty waits for it, but not for long.
func (r *Run) empty(ctx context.Context, name string) error {
	patience := time.Now().Add(r.cfg.PurgeWait)
	for {
		if err := r.limitDeletes(ctx, int(r.cfg.Batch)); err != nil {
			return err
		}
		res, err := r.command(ctx, task.PurgeNamespace{Token: r.job.Token, Namespace: name, Max: r.cfg.Batch})
		switch {
		case refused(err):
			return nil // the namespace is no longer in PURGING
		case err != nil:
			return err
		case res.Left == 0:
			r.soon(followAt)
			return nil
		case res.Count > 0:
			continue
		case !time.Now().Before(patience):
			r.note("%d records of namespace %s are left: what runs there has not ended yet", res.Left, name)
			r.soon(r.cfg.PurgeAgain)
			return nil
		}
		if err := pause(ctx, purgePause); err != nil {
			return err
		}
	}
}

func (r *Run) endPurge(ctx context.Context, name string) error {
	_, err := r.command(ctx, task.EndPurge{Token: r.job.Token, Namespace: name})
	if refused(err) { // something is left that held does not count, or was on its way
		r.note("namespace %s could not be ended: %v", name, err)
		r.soon(r.cfg.PurgeAgain)
		return nil
	}
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
