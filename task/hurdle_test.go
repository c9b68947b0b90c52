package task_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/hurdle"
)

// TestHurdles provokes each hurdle, alone and two at once (SPEC Q4): Waiting names those that are there, the one first for which an Assign is
// refused, and when they have gone the Assign is not.
func TestHurdles(t *testing.T) {
	type state = map[hurdle.Kind]bool
	for first := range hurdle.Kinds {
		for second := range hurdle.Kinds {
			r := newRig(t, nil)
			p := task.DefaultPolicy()
			there := state{first: true, second: true}
			if there[hurdle.BehaviorFull] {
				p.MaxConcurrent = 1
			}
			p.MaxPerKey = 1
			r.must(task.PutBehavior{Namespace: task.DefaultNamespace, Name: "mail", Version: "v", Policy: p})
			for _, id := range []string{"runs", "waits"} {
				c := submit(id)
				c.Behavior = "mail"
				if there[hurdle.KeyTaken] {
					c.ConcurrencyKey = "k"
				}
				r.must(c)
			}
			runs := r.m.Task(key("runs"))
			r.must(task.Assign{Key: runs.Key(), Rev: runs.Rev, External: &task.Acceptor{Worker: "w"}})
			space := func(status task.NamespaceStatus) {
				r.must(task.SetNamespaceStatus{Name: task.DefaultNamespace, Status: status})
			}
			if there[hurdle.SpaceFull] {
				r.must(task.PutNamespace{Name: task.DefaultNamespace, Share: &task.Share{MaxRunning: 1}})
			}
			if there[hurdle.Paused] {
				r.must(task.PauseBehavior{Namespace: task.DefaultNamespace, Name: "mail", Paused: true})
			}
			if there[hurdle.NoVersion] {
				r.must(task.DeleteBehavior{Namespace: task.DefaultNamespace, Name: "mail"})
			}
			if there[hurdle.SpaceClosed] {
				space(task.NamespaceIsInactive)
			}
			want := []hurdle.Kind{}
			for h := range hurdle.Kinds {
				if there[h] && (h != hurdle.Paused && h != hurdle.BehaviorFull && h != hurdle.KeyTaken || !there[hurdle.NoVersion]) { // a deleted behavior limits nothing
					want = append(want, h)
				}
			}
			x, _, meets, _ := task.Waiting(r.m, key("waits"), 10)
			if !slices.Equal(meets, want) {
				t.Errorf("%v and %v: %v, want %v", first, second, meets, want)
			}
			no := r.apply(task.Assign{Key: x.Key(), Rev: x.Rev, External: &task.Acceptor{Worker: "w"}})
			codes := map[hurdle.Kind]task.Code{
				hurdle.SpaceClosed: task.NamespaceInactive, hurdle.SpaceFull: task.LimitReached, hurdle.Paused: task.BehaviorPaused,
				hurdle.NoVersion: task.ModuleMissing, hurdle.BehaviorFull: task.LimitReached, hurdle.KeyTaken: task.LimitReached,
			}
			if no.Code != codes[want[0]] {
				t.Errorf("%v and %v: refused with %s, want %s", first, second, no.Code, codes[want[0]])
			}
		}
	}
}

// TestBefore: of the tasks that come first as many are counted as are asked for; and what runs or has ended does not wait.
func TestBefore(t *testing.T) {
	r := newRig(t, nil)
	for i := range 5 {
		r.must(submit(fmt.Sprint("task-", i)))
	}
	for most, want := range map[int]int{10: 4, 4: 4, 3: 3} {
		if _, _, meets, before := task.Waiting(r.m, key("task-4"), most); before != want || len(meets) > 0 {
			t.Errorf("%d of at most %d before it; %v", before, most, meets)
		}
	}
	x := r.m.Task(key("task-0"))
	r.must(task.Cancel{Key: x.Key()})
	for _, k := range []task.Key{x.Key(), key("nobody")} {
		if got, _, _, _ := task.Waiting(r.m, k, 10); got != nil {
			t.Errorf("%s waits", k.ID)
		}
	}
}
