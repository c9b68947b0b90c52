package task_test

import (
	"fmt"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// TestRunsAreBounded: of the runs of maintenance the last MaxRuns are remembered, whichever way they ended.
func TestRunsAreBounded(t *testing.T) {
	r := newRig(t, nil)
	token := r.maintain()
	k := task.MaintenanceKey()
	const runs = task.MaxRuns + 7
	for i := 1; i < runs; i++ {
		switch i % 3 {
		case 0:
			r.must(task.Finish{Key: k, Token: token})
			r.must(task.StartMaintenance{})
		case 1:
			r.must(task.GiveBack{Key: k, Token: token})
		case 2:
			r.must(task.StartMaintenance{Supersede: int64(i)})
		}
		token = r.must(task.Assign{Key: k, Rev: r.m.Task(k).Rev, Session: 1}).Task.Lease.Token
	}
	kept := r.m.MaintenanceRuns()
	if len(kept) != task.MaxRuns || kept[0].Run != runs || kept[0].Token != token || kept[task.MaxRuns-1].Run != runs-task.MaxRuns+1 {
		t.Errorf("%d runs are kept, from %d to %d", len(kept), kept[len(kept)-1].Run, kept[0].Run)
	}
	for _, x := range kept[1:] {
		switch want := []string{"", "given_back", "superseded"}[x.Run%3]; {
		case x.Ended != want, want == "" && !x.Success, want != "" && x.By != x.Run+1:
			t.Errorf("run %d: %+v", x.Run, x)
		}
	}
}

// TestDropsAreBounded: no command of a run deletes more than MaxDrop, and none without the token of the run that goes on.
func TestDropsAreBounded(t *testing.T) {
	r := newShop(t)
	token := r.maintain()
	r.must(task.SetNamespaceStatus{Name: shop, Status: task.NamespaceIsPurging})
	many := make([]task.KeyRev, task.MaxDrop+1)
	for i := range many {
		many[i] = task.KeyRev{Key: key(fmt.Sprint("task-", i)), Rev: 1}
	}
	digests := make([]string, task.MaxDrop+1)
	for i := range digests {
		digests[i] = fmt.Sprintf("%064x", i)
	}
	for _, c := range []struct {
		fits, large func(token uint64) task.Command
	}{
		{
			func(token uint64) task.Command { return task.DropTasks{Token: token, Tasks: many[:task.MaxDrop]} },
			func(token uint64) task.Command { return task.DropTasks{Token: token, Tasks: many} },
		},
		{
			func(token uint64) task.Command {
				return task.DropOperations{Token: token, Operations: many[:task.MaxDrop]}
			},
			func(token uint64) task.Command { return task.DropOperations{Token: token, Operations: many} },
		},
		{
			func(token uint64) task.Command { return task.DropBlobs{Token: token, Digests: digests[:task.MaxDrop]} },
			func(token uint64) task.Command { return task.DropBlobs{Token: token, Digests: digests} },
		},
		{
			func(token uint64) task.Command {
				return task.TrimBehavior{Token: token, Namespace: task.DefaultNamespace, Name: "echo", Max: task.MaxDrop}
			},
			func(token uint64) task.Command {
				return task.TrimBehavior{Token: token, Namespace: task.DefaultNamespace, Name: "echo", Max: task.MaxDrop + 1}
			},
		},
		{
			func(token uint64) task.Command {
				return task.PurgeNamespace{Token: token, Namespace: shop, Max: task.MaxDrop}
			},
			func(token uint64) task.Command {
				return task.PurgeNamespace{Token: token, Namespace: shop, Max: task.MaxDrop + 1}
			},
		},
	} {
		for _, dead := range []uint64{0, token - 1, token + 1} {
			if got := r.apply(c.fits(dead)); got.Code != task.Halt {
				t.Errorf("%T with the token %d: %q", c.fits(dead), dead, got.Code)
			}
		}
		if got := r.apply(c.large(token)); got.Code != task.InvalidCommand {
			t.Errorf("%T of too many: %q", c.large(token), got.Code)
		}
		r.must(c.fits(token))
	}
}
