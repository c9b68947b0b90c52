package sim_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/taskrt/taskrt/internal/sim"
	"github.com/taskrt/taskrt/task"
)

// TestReaches: a comparison says nothing about what never happens. These seeds must meet every answer and every
// way a run can end.
func TestReaches(t *testing.T) {
	if raceDetector {
		t.Skip("the same without the race detector")
	}
	t.Parallel()
	seen := map[string]int{}
	opts := sim.Options{Observe: func(r *sim.Run, ps []task.Proposal, rs []task.Result) {
		for i, p := range ps {
			seen[fmt.Sprintf("%T %s", p.Command, rs[i].Code)]++
			if s, ok := p.Command.(task.Submit); ok && rs[i].Code == task.OK {
				seen[fmt.Sprintf("submit %d %s", s.IfExists, rs[i].Outcome)]++
			}
			if rs[i].Repeated {
				seen["repeated"]++
			}
			if rs[i].Told {
				seen["told"]++
			}
			if rs[i].Index != r.Machine().Index() {
				seen["answered from memory"]++
			}
		}
		for _, x := range r.Machine().Sessions() {
			for _, n := range r.Machine().Leases(x.ID) {
				seen["running"]++
				if n.Resubmit != 0 {
					seen["running with the resubmit flag"]++
				}
				if n.CancelCode != "" {
					seen["running, to end as "+n.CancelCode]++
				}
			}
		}
		ts, _ := r.Machine().Tasks(task.Filter{Limit: 1000})
		for _, n := range ts {
			if n.Error != nil {
				seen["error "+n.Error.Code]++
			}
			if n.Status != task.Created && n.Status != task.Running {
				seen[fmt.Sprint(n.Status, " final ", n.Final())]++
			}
			for _, a := range n.History {
				seen["attempt "+a.Outcome]++
			}
			if len(n.History) == task.MaxHistory {
				seen["full history"]++
			}
			if b := r.Machine().Behavior(n.Namespace, n.Behavior); n.Version != "" && b.Active != n.Version {
				seen["pinned to an old version"]++
			}
		}
		for _, b := range r.Machine().Behaviors(task.DefaultNamespace) {
			if len(b.Versions) > task.KeptVersions {
				seen["version kept for its tasks"]++
			}
		}
	}}
	for s := range uint64(10) {
		if _, failure := sim.Explore(s+1, 400, opts); failure != nil {
			t.Fatal(s+1, failure)
		}
	}
	want := []string{
		"submit 0 created", "submit 0 existing", "submit 0 existing_other_params", "submit 2 updated", "submit 2 existing",
		"submit 3 updated", "submit 3 existing", "submit 3 existing_other_params",
		"task.Submit namespace_not_found", "task.Submit behavior_not_found", "task.Submit other_behavior",
		"task.Submit already_exists", "task.Submit cancelling", "task.Submit origin_forgotten",
		"task.Assign ", "task.Assign not_eligible", "task.Assign no_free_slot", "task.Assign session_not_found",
		"task.Finish ", "task.Finish halt", "task.Beat ", "task.Beat halt", "task.Snooze ", "task.Snooze halt",
		"task.GiveBack ", "task.GiveBack halt", "task.Cancel ", "task.Cancel not_cancellable", "task.Cancel task_not_found",
		"task.Remove ", "task.Remove task_not_found", "task.OpenSession ", "task.OpenSession worker_in_use",
		"task.RenewSession ", "task.RenewSession session_not_found", "task.CloseSession ", "task.CloseSession session_not_found",
		"task.Activate ", "task.Tick ", "repeated", "told", "answered from memory", "running with the resubmit flag",
		"running, to end as CANCELLED", "running, to end as DEADLINE_EXCEEDED",
		"error CANCELLED", "error DEADLINE_EXCEEDED", "error LOST_TOO_OFTEN",
		"SUCCESS final true", "SUCCESS final false", "FAILURE final true", "FAILURE final false",
		"attempt SUCCESS", "attempt LOST", "attempt GIVEN_BACK", "attempt SNOOZED", "attempt CANCELLED",
		"attempt DEADLINE_EXCEEDED", "attempt HANDLER_ERROR", "full history", "pinned to an old version",
		"version kept for its tasks",
	}
	for _, w := range want {
		if seen[w] == 0 {
			t.Errorf("never met: %s", w)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%7d %s", seen[k], k)
	}
}
