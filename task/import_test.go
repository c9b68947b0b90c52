package task_test

import (
	"math"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// TestImportRefuses: an export may have been edited. A record that no machine could have made refuses the whole command,
// and nothing of it is taken up.
func TestImportRefuses(t *testing.T) {
	named := task.Payload{Encoding: task.JSON, Data: []byte(`1`), Blobs: &task.Blobs{Named: []string{digest("ab")}}}
	content := task.Payload{Encoding: task.JSON, Blobs: &task.Blobs{Content: digest("ab"), Size: 1}}
	operation := func(change func(o *task.Operation)) task.ImportRecords {
		o := task.Operation{
			Namespace: "x", ID: "imported", Behavior: "echo", Version: "v1", Instance: 1, Status: task.OperationRunning, Partitions: 2, Made: 1,
			Rev: 5, CreatedRev: 4, CreatedAt: 1,
		}
		change(&o)
		return task.ImportRecords{Operations: []*task.Operation{&o}}
	}
	imported := func(change func(x *task.Task)) task.ImportRecords {
		x := task.Task{Namespace: "x", ID: "imported", Behavior: "echo", Status: task.Created, NotBefore: 5, Rev: 5, CreatedRev: 4}
		change(&x)
		return task.ImportRecords{Tasks: []*task.Task{&x}}
	}
	behavior := func(change func(b *task.Behavior)) task.ImportRecords {
		b := task.Behavior{Name: "imported", Active: "w", Versions: []task.Version{{Version: "w", Module: "module"}}}
		change(&b)
		return task.ImportRecords{Behaviors: []*task.Behavior{&b}}
	}
	failed := &task.Error{Code: "X"}
	long := task.Payload{Encoding: task.Bytes, Data: make([]byte, 64<<10+1)}
	for name, c := range map[string]task.ImportRecords{
		"too many":                 {Records: make([]*task.StoreRecord, task.MaxImport+1)},
		"no record":                {Records: []*task.StoreRecord{nil}},
		"no group":                 {Records: []*task.StoreRecord{{}}},
		"negative time":            {Records: []*task.StoreRecord{{Group: "g", Available: -1}}},
		"no module":                {Modules: []*task.Module{nil}},
		"module without a version": {Modules: []*task.Module{{Digest: "m"}}},
		"no behavior":              {Behaviors: []*task.Behavior{nil}},
		"behavior's name":          behavior(func(b *task.Behavior) { b.Name = "A" }),
		"unknown active version":   behavior(func(b *task.Behavior) { b.Active = "z" }),
		"two versions of one name": behavior(func(b *task.Behavior) { b.Versions = append(b.Versions, b.Versions[0]) }),
		"unknown module":           behavior(func(b *task.Behavior) { b.Versions[0].Module = "nothing" }),
		"of the other kind":        behavior(func(b *task.Behavior) { b.External = true }),
		"half deleted":             behavior(func(b *task.Behavior) { b.Deleted = true }),
		"purged":                   behavior(func(b *task.Behavior) { b.Purge = true }),
		"no task":                  {Tasks: []*task.Task{nil}},
		"task's ID":                imported(func(x *task.Task) { x.ID = "a b" }),
		"T2":                       imported(func(x *task.Task) { x.Status = task.Success; x.Error = failed }),
		"time":                     imported(func(x *task.Task) { x.Deadline = task.MaxTime + 1 }),
		"labels":                   imported(func(x *task.Task) { x.Labels = []task.Label{{Name: "b"}, {Name: "a"}} }),
		"history":                  imported(func(x *task.Task) { x.History = make([]task.Attempt, 99) }),
		"fuel below none":          imported(func(x *task.Task) { x.History = []task.Attempt{{Number: 1, Fuel: -1}} }),
		"memory below none":        imported(func(x *task.Task) { x.History = []task.Attempt{{Number: 1, Pages: -1}} }),
		"memory beyond all": imported(func(x *task.Task) {
			x.History = []task.Attempt{{Number: 1}, {Number: 2, Pages: task.MaxFuel/task.PageBytes + 1}}
		}),
		"fuel beyond all":              imported(func(x *task.Task) { x.History = []task.Attempt{{Number: 1}, {Number: 2, Fuel: task.MaxFuel + 1}} }),
		"params of a strange blob":     imported(func(x *task.Task) { x.Params = named }),
		"checkpoint of one":            imported(func(x *task.Task) { x.Checkpoint = content }),
		"progress with a blob":         imported(func(x *task.Task) { x.Progress = named }),
		"role":                         imported(func(x *task.Task) { x.Role = 9 }),
		"partition without a version":  imported(func(x *task.Task) { x.Role, x.Parent = task.RolePartition, "imported" }),
		"no operation":                 {Operations: []*task.Operation{nil}},
		"operation's ID":               operation(func(o *task.Operation) { o.ID = "a:b" }),
		"operation's behavior":         operation(func(o *task.Operation) { o.Behavior = "nobody" }),
		"operation's status":           operation(func(o *task.Operation) { o.Status = 7 }),
		"operation's policy":           operation(func(o *task.Operation) { o.Policy.Concurrency = 9 }),
		"operation's completion":       operation(func(o *task.Operation) { o.Policy.Complete = "nobody" }),
		"partitions":                   operation(func(o *task.Operation) { o.Partitions = task.MaxPartitions + 1 }),
		"names":                        operation(func(o *task.Operation) { o.Names = []string{"a", "a"} }),
		"made":                         operation(func(o *task.Operation) { o.Made = 3 }),
		"made and ended":               operation(func(o *task.Operation) { o.Status = task.OperationSuccess }),
		"removing":                     operation(func(o *task.Operation) { o.Removing = true }),
		"stopped for nothing":          operation(func(o *task.Operation) { o.Stop = "X" }),
		"completing without":           operation(func(o *task.Operation) { o.Status, o.Made = task.OperationCompleting, 2 }),
		"failure of nothing":           operation(func(o *task.Operation) { o.Status, o.Made = task.OperationFailure, 2 }),
		"arg of a strange blob":        operation(func(o *task.Operation) { o.Arg = content }),
		"details of a strange blob":    operation(func(o *task.Operation) { o.Error = &task.Error{Code: "X", Details: named} }),
		"instance":                     operation(func(o *task.Operation) { o.Instance = 0 }),
		"operation's time":             operation(func(o *task.Operation) { o.CreatedAt = -1 }),
		"target":                       operation(func(o *task.Operation) { o.Target = string(make([]byte, 257)) }),
		"native":                       behavior(func(b *task.Behavior) { b.Versions[0].Module = task.NativeMaintenance }),
		"attempts that overflow":       imported(func(x *task.Task) { x.Attempt = math.MaxInt64 }),
		"long params":                  imported(func(x *task.Task) { x.Params = long }),
		"long progress":                imported(func(x *task.Task) { x.Progress = long }),
		"long arg":                     operation(func(o *task.Operation) { o.Arg = long }),
		"long details":                 operation(func(o *task.Operation) { o.Error = &task.Error{Code: "X", Details: long} }),
		"instances that overflow":      operation(func(o *task.Operation) { o.Instance = math.MaxInt64 }),
		"cleanups that overflow":       operation(func(o *task.Operation) { o.Cleanups = math.MaxInt64 }),
		"details of the error of task": imported(func(x *task.Task) { x.Status, x.NotBefore, x.Error = task.Failure, 0, &task.Error{Details: named} }),
	} {
		r := newRig(t, func(p *task.Policy) { p.Operation = &task.OperationPolicy{} })
		for level := task.FirstLevel; level < task.KnownLevel; level++ {
			r.must(task.RaiseLevel{Level: level + 1})
		}
		c.Namespace = task.DefaultNamespace
		before := r.m.Rev()
		c.Records = append(c.Records, &task.StoreRecord{Group: "right"})
		if got := r.apply(c); got.Code == task.OK || got.Field == "" && got.Code != task.BlobGone || r.m.Rev() != before {
			t.Errorf("%s: %q %q (%s), revs %d", name, got.Code, got.Field, got.Message, r.m.Rev()-before)
		}
	}
	r := newRig(t, func(p *task.Policy) { p.Operation = &task.OperationPolicy{} })
	for _, c := range []task.ImportRecords{
		operation(func(*task.Operation) {}), imported(func(x *task.Task) { x.ID = "right" }), behavior(func(*task.Behavior) {}),
	} {
		c.Namespace = task.DefaultNamespace
		if got := r.must(c); got.Count != 1 {
			t.Errorf("%d taken up", got.Count)
		}
	}
}

// TestRetryOfHalfAnImport: what completes must have all partitions, and one without a completion must not become one that
// completes.
func TestRetryOfHalfAnImport(t *testing.T) {
	r := newRig(t, func(p *task.Policy) { p.Operation = &task.OperationPolicy{} })
	failed := &task.Error{Code: "X"}
	o := &task.Operation{
		ID: "imported", Behavior: "echo", Version: "v1", Instance: 1, Status: task.OperationFailure, Partitions: 2, Made: 2, Error: failed,
		CreatedAt: 1, FinishedAt: 2,
	}
	part := func(id, partition string, status task.Status, e *task.Error) *task.Task {
		return &task.Task{
			ID: id, Behavior: "echo", Version: "v1", Status: status, Error: e, Role: task.RolePartition, Parent: o.ID, Partition: partition,
			CreatedAt: 1, FinishedAt: 2, Attempt: 1, Failures: 1,
		}
	}
	take := func(c task.ImportRecords) {
		c.Namespace = task.DefaultNamespace
		r.must(c)
	}
	retry := task.RetryOperation{Key: key(o.ID)}
	take(task.ImportRecords{Operations: []*task.Operation{o}, Tasks: []*task.Task{part("imported:0", "0", task.Success, nil)}})
	if got := r.apply(retry); got.Code != task.OperationState {
		t.Fatalf("half of it is retried: %q", got.Code)
	}
	take(task.ImportRecords{Tasks: []*task.Task{part("imported:1", "1", task.Failure, failed)}})
	if got := r.must(retry); got.Operation.Status != task.OperationRunning {
		t.Fatalf("%s after a retry", got.Operation.Status)
	}
}
