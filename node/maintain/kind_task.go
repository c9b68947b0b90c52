package maintain

import (
	"context"

	"github.com/taskrt/taskrt/task"
)

// taskKind: a task is kept until it is final and older than its retention, or one of too many (SPEC T9, M2). Those of an
// operation go with it; those of a behavior that was deleted with them are the business of behaviorKind.
type taskKind struct{}

func (taskKind) Name() string { return "task" }

func (taskKind) Mark(ctx context.Context, r *Run, keep func(Object) error) error {
	ages := retentions{run: r}
	crowds, err := r.taskCrowds(ctx, &ages)
	if err != nil {
		return err
	}
	return eachTask(ctx, r, func(t *task.Task) error {
		if t.Attempt > 0 {
			// Also the log of one that may go: it might be rerun meanwhile. Who removes a task removes its log.
			if err := keep(logObject(t.Key())); err != nil {
				return err
			}
		}
		if t.Role != task.RoleNone && !r.filter.has(operationOf(t)) {
			return nil // it goes with its operation
		}
		if sweepable(t) && !ages.ever(t) && (!ages.young(t) || crowds.beyond(t)) {
			return nil
		}
		return keep(taskObject(t))
	})
}

// sweepable reports whether retention decides about t. The task of maintenance itself stays.
func sweepable(t *task.Task) bool {
	return t.Final() && t.Role == task.RoleNone && t.Key() != task.MaintenanceKey()
}

// Retains: its params, its result and its checkpoint may be blobs.
func (taskKind) Retains(_ *Run, o Object, keep func(Object) error) error {
	t := o.Value.(*task.Task)
	return keepBlobs(keep, &t.Params, &t.Result, &t.Checkpoint)
}

func (taskKind) Scan(ctx context.Context, r *Run, found func(Object) error) error {
	doomed := map[task.Key]bool{} // behaviors whose tasks go with them
	err := eachBehavior(ctx, r, func(b *task.Behavior) error {
		if b.Purge {
			doomed[task.Key{Namespace: b.Namespace, ID: b.Name}] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	return eachTask(ctx, r, func(t *task.Task) error {
		o := taskObject(t)
		if !doomed[task.Key{Namespace: t.Namespace, ID: t.Behavior}] || r.purging[t.Namespace] {
			if t.Role != task.RoleNone && !r.purging[t.Namespace] {
				r.foundPart(&o, t)
				return nil
			}
			return found(o)
		}
		line := r.counts.of(o.Kind, o.Namespace)
		line.Scanned++
		switch {
		case t.Status == task.Running:
			line.Retained++ // until it has ended
		case r.job.DryRun:
			line.Deleted++
		}
		return nil
	})
}

// foundPart decides about a task of an operation, by its mark: it goes with the operation if that does.
func (r *Run) foundPart(o *Object, t *task.Task) {
	line := r.counts.of(o.Kind, o.Namespace)
	line.Scanned++
	switch {
	case r.filter.has(o):
		line.Retained++
	case t.Rev > r.Rev:
		line.Newer++
	default:
		r.parts[task.Key{Namespace: t.Namespace, ID: t.Parent}]++
	}
}

// operationOf is the operation that a task is of, as far as marks name it.
func operationOf(t *task.Task) *Object {
	return &Object{Kind: "operation", Namespace: t.Namespace, Name: t.Parent}
}

func taskObject(t *task.Task) Object {
	return Object{Kind: "task", Namespace: t.Namespace, Name: t.ID, Rev: t.Rev, Value: t}
}

// Delete drops tasks that are as they were when they were scanned.
func (taskKind) Delete(ctx context.Context, r *Run, os []Object) (int64, error) {
	res, err := r.command(ctx, task.DropTasks{Token: r.job.Token, Tasks: keyRevs(os)})
	return res.Count, err
}

// eachTask shows all tasks in order of creation.
func eachTask(ctx context.Context, r *Run, see func(*task.Task) error) error {
	after := uint64(0)
	for {
		var ts []*task.Task
		next := uint64(0)
		r.cluster.Local(func(m *task.Machine) { ts, next = m.Tasks(task.Filter{Limit: page, After: after}) })
		if err := each(ctx, r, ts, see); err != nil {
			return err
		}
		if next == 0 {
			return nil
		}
		after = next
	}
}
