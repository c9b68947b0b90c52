package task_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// TestPinnedVersionsStay: whatever is activated, rolled back, deleted and taken up again, a version is there for as long
// as a task is pinned to it, and its module too (SPEC B2). A retry by hand therefore never meets a version that is gone,
// and runs the one that it is pinned to.
func TestPinnedVersionsStay(t *testing.T) {
	const ns, name = task.DefaultNamespace, "echo"
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 3))
		r := newRig(t, func(p *task.Policy) { p.KeepFailure = 0 })
		pinned := map[string]string{}
		for i := range 120 {
			version := fmt.Sprintf("v%d", 2+random.IntN(30))
			switch random.IntN(6) {
			case 0, 1, 2:
				r.apply(task.Activate{
					Namespace: ns, Module: task.Module{Digest: "module-" + version, Version: version},
					Behaviors: []task.Activated{{Name: name, Policy: task.DefaultPolicy()}},
				})
			case 3:
				r.apply(task.ActivateVersion{Namespace: ns, Name: name, Version: version})
			case 4:
				r.apply(task.DeleteBehavior{Namespace: ns, Name: name})
			case 5:
				id := fmt.Sprintf("task-%d", i)
				if r.apply(submit(id)).Code != task.OK {
					continue // deleted
				}
				pinned[id] = r.assign(id).Version
				r.finish(id, &task.Error{Code: "X"})
			}
			for id, v := range pinned {
				found := r.m.Version(ns, name, v)
				if x := r.m.Task(key(id)); x.Version != v || found == nil || r.m.Module(found.Module) == nil {
					t.Fatalf("seed %d: %s is pinned to %s, which is %v", seed, id, v, found)
				}
			}
		}
		if len(pinned) < 3 {
			continue
		}
		r.apply(task.Activate{
			Namespace: ns, Module: task.Module{Digest: "last", Version: "last"},
			Behaviors: []task.Activated{{Name: name, Policy: task.DefaultPolicy()}},
		})
		for id, v := range pinned {
			r.must(task.RetryTask{Key: key(id)})
			if got := r.assign(id); got.Version != v {
				t.Errorf("seed %d: %s ran %s, was pinned to %s", seed, id, got.Version, v)
			}
		}
	}
}

// TestKeptVersions counts: of versions that nobody is pinned to the last five activated stay.
func TestKeptVersions(t *testing.T) {
	r := newRig(t, nil)
	for i := range 9 {
		r.must(task.PutBehavior{Namespace: task.DefaultNamespace, Name: "ext", Version: fmt.Sprintf("e%d", i), Policy: task.DefaultPolicy()})
	}
	versions := r.m.Behavior(task.DefaultNamespace, "ext").Versions
	if len(versions) != task.KeptVersions || versions[0].Version != "e4" || versions[4].Version != "e8" {
		t.Errorf("%+v", versions)
	}
}

// TestPurgeIsBounded: a run of maintenance removes as many tasks at a time as it asks for, and learns how many are left.
func TestPurgeIsBounded(t *testing.T) {
	r := newRig(t, nil)
	token := r.maintain()
	for i := range 8 {
		c := submit(fmt.Sprintf("task-%d", i))
		c.Delay = task.Millis(i % 2 * 5000)
		r.must(c)
	}
	r.must(task.DeleteBehavior{Namespace: task.DefaultNamespace, Name: "echo", Purge: true})
	trim := task.TrimBehavior{Token: token, Namespace: task.DefaultNamespace, Name: "echo", Max: 3}
	for _, left := range []int64{5, 2, 0} {
		if got := r.must(trim); got.Left != left || r.m.Counts().Created != left || !got.Changed {
			t.Errorf("%d left, it says %d, want %d", r.m.Counts().Created, got.Left, left)
		}
	}
	if r.must(trim).Changed || r.must(task.Tick{}).Changed {
		t.Error("there was something left")
	}
}

// TestDeletedBehaviorsAreForgotten: the record of a deleted behavior goes with its last task, however that goes, and what
// only it needed goes with it.
func TestDeletedBehaviorsAreForgotten(t *testing.T) {
	r := newRig(t, nil)
	records := func() (n int) {
		for x := range r.m.Freeze().Records {
			if _, ok := x.(*task.Behavior); ok {
				n++
			}
		}
		return n
	}
	purge := func() {
		r.must(task.DeleteBehavior{Namespace: task.DefaultNamespace, Name: "echo", Purge: true})
		r.must(task.Tick{})
	}
	for name, last := range map[string]func(){
		"no task": nil,
		"removed": func() {},
		"txn":     func() { r.must(task.Txn{Namespace: task.DefaultNamespace, Deletes: []task.TxnDelete{{ID: "one"}}}) },
		"purge":   purge,
	} {
		r.must(task.PutBehavior{Namespace: task.DefaultNamespace, Name: "other", Version: "e", Policy: task.DefaultPolicy()})
		r.must(task.Activate{
			Namespace: task.DefaultNamespace, Module: task.Module{Digest: "module", Version: "v1"},
			Behaviors: []task.Activated{{Name: "echo", Policy: task.DefaultPolicy()}},
		})
		var leased *task.Task
		if last != nil {
			r.must(submit("one"))
			leased = r.assign("one")
		}
		r.must(task.DeleteBehavior{Namespace: task.DefaultNamespace, Name: "echo"})
		if last != nil {
			if n := records(); n != 2 || r.m.Module("module") == nil {
				t.Errorf("%s: %d records while a task runs", name, n)
			}
			r.must(task.GiveBack{Key: leased.Key(), Token: leased.Lease.Token})
			if last(); r.m.Task(leased.Key()) != nil {
				r.must(task.Remove{Key: leased.Key()})
			}
		}
		if n := records(); n != 1 || r.m.Module("module") != nil {
			t.Errorf("%s: %d records, module %v", name, n, r.m.Module("module"))
		}
		if got := r.apply(task.DeleteBehavior{Namespace: task.DefaultNamespace, Name: "echo", Purge: true}); got.Code != task.BehaviorNotFound {
			t.Errorf("%s: deleted again: %+v", name, got)
		}
	}
}

// TestSubmitOfExisting: a resubmit that means an existing task need not know its behavior.
func TestSubmitOfExisting(t *testing.T) {
	r := newRig(t, nil)
	c := task.Submit{Namespace: task.DefaultNamespace, ID: "one", IfExists: task.Resubmit, Existing: true, Delay: 50}
	if got := r.apply(c); got.Code != task.TaskNotFound {
		t.Errorf("%+v", got)
	}
	r.must(submit("one"))
	if got := r.must(c); got.Outcome != task.SubmitUpdated || got.Task.NotBefore != r.h.Now+50 || got.Task.Behavior != "echo" {
		t.Errorf("%+v", got)
	}
	r.must(task.DeleteBehavior{Namespace: task.DefaultNamespace, Name: "echo"})
	if got := r.apply(c); got.Code != task.BehaviorNotFound {
		t.Errorf("of a deleted behavior: %+v", got)
	}
	long := submit("two")
	for n, want := range map[int]task.Code{257: task.BehaviorNotFound, 258: task.InvalidCommand} {
		long.ConcurrencyKey = string(make([]byte, n))
		if got := r.apply(long); got.Code != want {
			t.Errorf("a key of %d bytes: %s", n, got.Code)
		}
	}
}

// TestTimesThatNobodyCanRead: a run may ask for any time, but a record must not show one that the API cannot write.
func TestTimesThatNobodyCanRead(t *testing.T) {
	r := newRig(t, nil)
	for id, end := range map[string]func(*task.Task) task.Command{
		"success": func(x *task.Task) task.Command {
			return task.Finish{Key: x.Key(), Token: x.Lease.Token, Again: math.MaxInt64}
		},
		"failure": func(x *task.Task) task.Command {
			return task.Finish{Key: x.Key(), Token: x.Lease.Token, Again: math.MaxInt64, Error: &task.Error{Code: "bad"}}
		},
		"snooze": func(x *task.Task) task.Command {
			return task.Snooze{Key: x.Key(), Token: x.Lease.Token, At: math.MaxInt64}
		},
	} {
		r.must(submit(id))
		c := end(r.assign(id))
		if got := r.must(c); got.Task.NotBefore != task.MaxTime {
			t.Errorf("%s: due at %d", id, got.Task.NotBefore)
		}
		if _, ok := c.(task.Finish); ok && !r.must(c).Repeated {
			t.Errorf("%s: the same again is not known", id)
		}
	}
}
