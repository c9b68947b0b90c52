package maintain

import (
	"context"
	"strings"
	"time"

	"github.com/taskrt/taskrt/task"
)

// behaviorKind is for behaviors. A behavior is kept unless it was deleted together with its tasks (SPEC B8).
type behaviorKind struct{}

func (behaviorKind) Name() string { return "behavior" }

func (behaviorKind) Mark(ctx context.Context, r *Run, keep func(Object) error) error {
	return eachBehavior(ctx, r, func(b *task.Behavior) error {
		if b.Purge {
			return nil
		}
		return keep(behaviorObject(b))
	})
}

func (behaviorKind) Retains(*Run, Object, func(Object) error) error { return nil }

func (behaviorKind) Scan(ctx context.Context, r *Run, found func(Object) error) error {
	return eachBehavior(ctx, r, func(b *task.Behavior) error { return found(behaviorObject(b)) })
}

func behaviorObject(b *task.Behavior) Object {
	return Object{Kind: "behavior", Namespace: b.Namespace, Name: b.Name}
}

// Delete removes behaviors that were deleted together with their tasks: first the tasks, in batches, and then the
// behavior. The tasks are counted as tasks.
func (behaviorKind) Delete(ctx context.Context, r *Run, os []Object) (int64, error) {
	done := int64(0)
	for i := range os {
		gone, err := r.dropBehavior(ctx, &os[i])
		if gone {
			done++
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

func (r *Run) dropBehavior(ctx context.Context, o *Object) (gone bool, err error) {
	patience := time.Now().Add(r.cfg.TrimWait)
	for {
		res, err := r.command(ctx, task.TrimBehavior{Token: r.job.Token, Namespace: o.Namespace, Name: o.Name, Max: r.cfg.Batch})
		if refused(err) {
			return false, nil // the behavior has gone, or is there again
		}
		if err != nil {
			return false, err
		}
		r.counts.of("task", o.Namespace).Deleted += res.Count
		switch {
		case res.Left == 0:
			return true, nil
		case res.Count > 0:
			err = r.limitDeletes(ctx, int(min(res.Left, r.cfg.Batch)))
		case time.Now().Before(patience):
			err = pause(ctx, purgePause)
		default:
			r.note("%d tasks of the deleted behavior %s of %s are left: they run", res.Left, o.Name, o.Namespace)
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// versionKind is for versions of behaviors. The last versions are kept, and also the versions that tasks are pinned to
// (SPEC B2).
type versionKind struct{}

func (versionKind) Name() string { return "version" }

func (versionKind) Mark(ctx context.Context, r *Run, keep func(Object) error) error {
	return eachBehavior(ctx, r, func(b *task.Behavior) error {
		surplus := len(b.Versions) - task.KeptVersions
		for i := range b.Versions {
			v := &b.Versions[i]
			if v.Pinned == 0 && v.Version != b.Active && (i < surplus || b.Purge) {
				continue
			}
			if err := keep(versionObject(b, v)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Retains keeps the module that a version needs. A built-in behavior and an external one need none.
func (versionKind) Retains(_ *Run, o Object, keep func(Object) error) error {
	if v := o.Value.(*task.Version); v.Module != "" && !task.Native(v.Module) {
		return keep(Object{Kind: "module", Name: v.Module})
	}
	return nil
}

func (versionKind) Scan(ctx context.Context, r *Run, found func(Object) error) error {
	return eachBehavior(ctx, r, func(b *task.Behavior) error {
		if b.Purge {
			return nil // the versions go with it
		}
		for i := range b.Versions {
			if err := found(versionObject(b, &b.Versions[i])); err != nil {
				return err
			}
		}
		return nil
	})
}

func versionObject(b *task.Behavior, v *task.Version) Object {
	return Object{Kind: "version", Namespace: b.Namespace, Name: b.Name + "@" + v.Version, Value: v}
}

// Delete trims the behaviors that the versions belong to.
func (versionKind) Delete(ctx context.Context, r *Run, os []Object) (int64, error) {
	byBehavior := map[string]int64{}
	for _, o := range os {
		name, _, _ := strings.Cut(o.Name, "@") // no behavior has "@" in its name
		byBehavior[name]++
	}
	done := int64(0)
	for name, versions := range byBehavior {
		res, err := r.command(ctx, task.TrimBehavior{Token: r.job.Token, Namespace: os[0].Namespace, Name: name, Max: r.cfg.Batch})
		if refused(err) {
			continue
		}
		if err != nil {
			return done, err
		}
		if res.Changed {
			done += versions
		}
	}
	return done, nil
}

// eachBehavior shows all behaviors, even deleted behaviors that still have something.
func eachBehavior(ctx context.Context, r *Run, see func(*task.Behavior) error) error {
	var after task.Key
	for {
		var bs []*task.Behavior
		r.cluster.Local(func(m *task.Machine) { bs = m.BehaviorsAfter(after.Namespace, after.ID, page) })
		if len(bs) == 0 {
			return nil
		}
		if err := each(ctx, r, bs, see); err != nil {
			return err
		}
		last := bs[len(bs)-1]
		after = task.Key{Namespace: last.Namespace, ID: last.Name}
	}
}
