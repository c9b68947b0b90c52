package maintain

import (
	"context"

	"github.com/taskrt/taskrt/task"
)

// operationKind is for operations. A final operation is kept as long as a task of its behavior would be, counted from
// the operation's end, and its tasks with it (SPEC O6).
type operationKind struct{}

func (operationKind) Name() string { return "operation" }

func (operationKind) Mark(ctx context.Context, r *Run, keep func(Object) error) error {
	ages := retentions{run: r}
	crowds, err := r.operationCrowds(ctx, &ages)
	if err != nil {
		return err
	}
	return eachOperation(ctx, r, func(o *task.Operation) error {
		age, success := ages.of(o.Namespace, o.Behavior), o.Status == task.OperationSuccess
		if o.Final() && !age.ever(success) && (!age.covers(success, o.FinishedAt, r.Now) || crowds.over(o.Namespace, o.Behavior, ending{o.FinishedAt, o.CreatedRev})) {
			return nil
		}
		return keep(operationObject(o))
	})
}

// operationCrowds is taskCrowds for operations, without the count of a namespace, which is a count of tasks.
func (r *Run) operationCrowds(ctx context.Context, ages *retentions) (crowds, error) {
	c, err := r.behaviorCrowds(ctx, ages)
	if err != nil || len(c) == 0 {
		return c, err
	}
	err = eachOperation(ctx, r, func(o *task.Operation) error {
		if o.Final() && !ages.of(o.Namespace, o.Behavior).ever(o.Status == task.OperationSuccess) {
			c.add(o.Namespace, o.Behavior, ending{o.FinishedAt, o.CreatedRev})
		}
		return nil
	})
	c.trim()
	return c, err
}

// Retains keeps the blobs that the argument and the result are, or name.
func (operationKind) Retains(_ *Run, o Object, keep func(Object) error) error {
	op := o.Value.(*task.Operation)
	return keepBlobs(keep, &op.Arg, &op.Result)
}

func (operationKind) Scan(ctx context.Context, r *Run, found func(Object) error) error {
	return eachOperation(ctx, r, func(o *task.Operation) error { return found(operationObject(o)) })
}

func operationObject(o *task.Operation) Object {
	return Object{Kind: "operation", Namespace: o.Namespace, Name: o.ID, Rev: o.Rev, Value: o}
}

// Delete removes operations with their tasks. Ticks remove the tasks, which count as deleted with the operation.
func (operationKind) Delete(ctx context.Context, r *Run, os []Object) (int64, error) {
	krs := keyRevs(os)
	res, err := r.command(ctx, task.DropOperations{Token: r.job.Token, Operations: krs})
	if err != nil {
		return 0, err
	}
	r.cluster.Local(func(m *task.Machine) {
		for _, kr := range krs {
			if m.Operation(kr.Key) == nil {
				r.countParts(kr.Key)
			}
		}
	})
	return res.Count, nil
}

// countParts counts the tasks of an operation as deleted.
func (r *Run) countParts(key task.Key) {
	if n := r.parts[key]; n > 0 {
		r.counts.of("task", key.Namespace).Deleted += n
		delete(r.parts, key)
	}
}

func keyRevs(os []Object) []task.KeyRev {
	krs := make([]task.KeyRev, len(os))
	for i, o := range os {
		krs[i] = task.KeyRev{Key: task.Key{Namespace: o.Namespace, ID: o.Name}, Rev: o.Rev}
	}
	return krs
}

func eachOperation(ctx context.Context, r *Run, see func(*task.Operation) error) error {
	after := uint64(0)
	for {
		var os []*task.Operation
		next := uint64(0)
		r.cluster.Local(func(m *task.Machine) { os, next = m.Operations(task.OperationFilter{Limit: page, After: after}) })
		if err := each(ctx, r, os, see); err != nil {
			return err
		}
		if next == 0 {
			return nil
		}
		after = next
	}
}

// keepBlobs keeps the blobs that payloads are, or name.
func keepBlobs(keep func(Object) error, payloads ...*task.Payload) error {
	for _, p := range payloads {
		for digest := range p.Digests() {
			if err := keep(Object{Kind: "blob", Name: digest}); err != nil {
				return err
			}
		}
	}
	return nil
}
