package task_test

import (
	"fmt"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// TestOperationWorkIsBounded: whatever an operation of many partitions asks for, no entry writes more than Limit.Steps of
// its tasks, but for the one that the command is about and the completion; and Ticks carry everything out.
func TestOperationWorkIsBounded(t *testing.T) {
	const partitions, steps = 100, 7
	r := newRig(t, func(p *task.Policy) { p.Operation = &task.OperationPolicy{Complete: "echo"} }, task.WithLimit(task.Limit{Steps: steps}))
	entry := func(c task.Command) task.Result {
		t.Helper()
		results, events := r.propose(task.Proposal{Command: c})
		if results[0].Code != task.OK {
			t.Fatalf("%T: %s", c, results[0].Code)
		}
		written := 0
		for _, e := range events {
			if e.Kind == task.TaskChanged || e.Kind == task.TaskRemoved {
				written++
			}
		}
		if written > steps+2 {
			t.Errorf("%T writes %d tasks", c, written)
		}
		return results[0]
	}
	ticks := func(least int) {
		t.Helper()
		n := 0
		for wall, _ := r.m.NextTick(); wall != 0 && wall <= r.m.Now(); wall, _ = r.m.NextTick() {
			if !entry(task.Tick{}).Changed {
				t.Fatal("a Tick changes nothing")
			}
			n++
		}
		if n < least {
			t.Errorf("only %d Ticks", n)
		}
	}
	run := func(id string) {
		t.Helper()
		entry(task.Assign{Key: key(id), Rev: r.m.Task(key(id)).Rev, Session: 1})
	}
	finish := func(id string, e *task.Error) {
		t.Helper()
		entry(task.Finish{Key: key(id), Token: r.m.Task(key(id)).Lease.Token, Error: e})
	}
	is := func(status task.OperationStatus) {
		t.Helper()
		if o := r.m.Operation(key("job")); o == nil || o.Status != status {
			t.Fatalf("%+v", o)
		}
	}
	entry(task.StartOperation{Namespace: task.DefaultNamespace, ID: "job", Behavior: "echo", Partitions: partitions, Priority: 4})
	ticks(partitions/steps - 1)
	run("job:0")
	run("job:1")
	finish("job:0", &task.Error{Code: "X"}) // stops the rest
	ticks((partitions - 2) / steps)
	finish("job:1", nil)
	run("job:complete")
	finish("job:complete", nil)
	is(task.OperationFailure)
	entry(task.RetryOperation{Key: key("job")})
	ticks((partitions - 1) / steps)
	if n := r.m.Counts().Retrying; n != partitions-1 {
		t.Errorf("%d are due again", n)
	}
	entry(task.CancelOperation{Key: key("job")})
	ticks((partitions - 1) / steps)
	is(task.OperationCompleting)
	entry(task.RemoveOperation{Key: key("job")})
	ticks(partitions / steps)
	if r.m.Operation(key("job")) != nil || r.m.Counts().Success+r.m.Counts().Failure+r.m.Counts().Created != 0 {
		t.Errorf("%+v is left", r.m.Counts())
	}
}

// TestOperationsShareTicks: a large operation does not hold up a small one that started later.
func TestOperationsShareTicks(t *testing.T) {
	r := newRig(t, func(p *task.Policy) { p.Operation = &task.OperationPolicy{} }, task.WithLimit(task.Limit{Steps: 10}))
	for i, n := range []int64{1000, 25, 25} {
		r.must(task.StartOperation{Namespace: task.DefaultNamespace, ID: fmt.Sprint("job", i), Behavior: "echo", Partitions: n, Priority: 4})
	}
	for range 6 {
		r.must(task.Tick{})
	}
	for i, want := range []int64{28, 25, 25} {
		if o := r.m.Operation(key(fmt.Sprint("job", i))); o.Made < want || i == 0 && o.Made > 60 {
			t.Errorf("operation %d has %d of %d partitions", i, o.Made, o.Partitions)
		}
	}
}

// TestManyExclusions: a start that is excluded looks at heads of lists; among thousands the oldest is named.
func TestManyExclusions(t *testing.T) {
	r := newRig(t, func(p *task.Policy) { p.Operation = &task.OperationPolicy{} })
	start := func(id, behavior string) task.Result {
		r.h.Index++
		results, _ := r.m.Apply(r.h, []task.Proposal{{Command: task.StartOperation{
			Namespace: task.DefaultNamespace, ID: id, Behavior: behavior, Target: "t", Partitions: 1, Priority: 4,
		}}})
		return results[0]
	}
	for i := range 2000 {
		if got := start(fmt.Sprint("job-", i), "echo"); got.Code != task.OK {
			t.Fatal(got.Code)
		}
	}
	p := task.DefaultPolicy()
	p.Operation = &task.OperationPolicy{Incompatible: []string{"echo"}}
	r.must(task.Activate{
		Namespace: task.DefaultNamespace, Module: task.Module{Digest: "alone", Version: "v1"},
		Behaviors: []task.Activated{{Name: "alone", Policy: p}},
	})
	for i := range 100 {
		if got := start("alone", "alone"); got.Code != task.OperationConflict || got.Operation.ID != fmt.Sprint("job-", i) {
			t.Fatalf("%s %+v", got.Code, got.Operation)
		}
		r.h.Index++
		r.m.Apply(r.h, []task.Proposal{{Command: task.RemoveOperation{Key: key(fmt.Sprint("job-", i))}}})
	}
	if err := r.m.Check(); err != nil {
		t.Error(err)
	}
}
