package maintain

import (
	"context"

	"github.com/taskrt/taskrt/task"
)

// taskKind is for tasks. A task is kept until it is final and older than its retention, or one of too many (SPEC T9,
// M2). The tasks of an operation go with the operation. The tasks of a behavior that was deleted together with them are
// the business of behaviorKind.
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
			// Keep also the log of a task that may go, because the task might be rerun meanwhile. The removal of a task
			// removes its log.
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

// Retains keeps the blobs that params, result and checkpoint are, or name.
func (taskKind) Retains(_ *Run, o Object, keep func(Object) error) error {
	t := o.Value.(*task.Task)
	return keepBlobs(keep, &t.Params, &t.Result, &t.Checkpoint)
}

func (taskKind) Scan(ctx context.Context, r *Run, found func(Object) error) error {
	doomed := map[task.Key]bool{} // behaviors that take their tasks along
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

// foundPart decides by its mark about a task of an operation. A task without a mark goes with its operation.
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

// operationOf names the operation that a task belongs to, as marks name it.
func operationOf(t *task.Task) *Object {
	return &Object{Kind: "operation", Namespace: t.Namespace, Name: t.Parent}
}

func taskObject(t *task.Task) Object {
	return Object{Kind: "task", Namespace: t.Namespace, Name: t.ID, Rev: t.Rev, Value: t}
}

// Delete drops tasks that are still as they were when they were scanned.
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
