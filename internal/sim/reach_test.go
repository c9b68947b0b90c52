package sim_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/sim"
	"github.com/taskrt/taskrt/task"
)

// TestReaches: a comparison says nothing about events that never happen. These seeds must meet every answer, and every
// way a run can end.
func TestReaches(t *testing.T) {
	if raceDetector {
		t.Skip("the same without the race detector")
	}
	t.Parallel()
	seen := map[string]int{}
	opts := sim.Options{Light: true, Observe: func(r *sim.Run, ps []task.Proposal, rs []task.Result) {
		for i, p := range ps {
			seen[fmt.Sprintf("%T %s", p.Command, rs[i].Code)]++
			if s, ok := p.Command.(task.Submit); ok && rs[i].Code == task.OK {
				seen[fmt.Sprintf("submit %d %s", s.IfExists, rs[i].Outcome)]++
			}
			seeMore(seen, p, rs[i])
			seeRun(seen, p, rs[i])
			seeStep(seen, p, rs[i], r.Machine())
			if rs[i].Repeated {
				seen["repeated"]++
			}
			if rs[i].Code == task.QuotaExceeded {
				seen["over "+rs[i].Field]++
			}
			if strings.HasPrefix(rs[i].Field, "caller.") {
				seen["audit: "+rs[i].Field]++
			}
			seeLook(seen, p, rs[i], r.Machine().Audit())
			if rs[i].Told {
				seen["told"]++
			}
			if rs[i].Index != r.Machine().Index() {
				seen["answered from memory"]++
			}
		}
		ts, _ := r.Machine().Tasks(task.Filter{Limit: 1000})
		seeOperations(seen, r.Machine(), ts)
		seeUpkeep(seen, r.Machine(), ts)
		seeAudit(seen, r.Machine().Audit())
		seeJobs(seen, r.Machine())
		for _, n := range ts {
			if n.Lease != nil {
				seen["running"]++
				if r.Machine().Namespace(n.Namespace).Status == task.NamespaceIsPurging {
					seen["runs in a namespace in PURGING"]++
				}
				if n.Lease.External() {
					seen["running externally"]++
				}
				if n.Resubmit != 0 {
					seen["running with the resubmit flag"]++
				}
				if n.CancelCode != "" {
					seen["running, to end as "+n.CancelCode]++
				}
			}
			if n.Error != nil {
				seen["error "+n.Error.Code]++
			}
			if n.Status != task.Created && n.Status != task.Running {
				seen[fmt.Sprint(n.Status, " final ", n.Final())]++
			}
			seeLimits(seen, r.Machine(), n)
			if h := n.History; n.Ended != nil && n.Ended.Finish == 0 && h[len(h)-1].Outcome == task.CodeTimeout {
				seen["ended by the leader"]++
			}
			for _, a := range n.History {
				seen["attempt "+a.Outcome]++
				if a.Fuel > 0 {
					seen["metered "+a.Outcome]++
				}
				if a.Pages > 0 {
					seen["with memory "+a.Outcome]++
				}
			}
			if len(n.History) == task.MaxHistory {
				seen["full history"]++
			}
			if b := r.Machine().Behavior(n.Namespace, n.Behavior); n.Version != "" && b != nil && b.Active != n.Version {
				seen["pinned to an old version"]++
			}
		}
		for _, b := range r.Machine().Behaviors(task.DefaultNamespace) {
			if len(b.Versions) > task.KeptVersions {
				seen["version kept for its tasks"]++
			}
		}
	}}
	missing := slices.Concat(reach, reachOperations, reachUpkeep, reachJobs)
	seeds := uint64(0)
	for ; len(missing) > 0 && seeds < mostSeeds; seeds++ {
		if _, failure := sim.Explore(seeds+1, 500, opts); failure != nil {
			t.Fatal(seeds+1, failure)
		}
		missing = slices.DeleteFunc(missing, func(what string) bool {
			if seen[what] > 0 && seeds > mostSeeds/5 {
				t.Logf("met late, in seed %d: %s", seeds, what)
			}
			return seen[what] > 0
		})
	}
	for _, w := range missing {
		t.Errorf("never met in %d seeds: %s", seeds, w)
	}
	for _, k := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%7d %s", seen[k], k)
	}
	t.Logf("%d seeds", seeds)
}

// mostSeeds is the number of runs in which each event must be met. It is several times as many as this takes.
const mostSeeds = 120

// reach names what a run must meet.
var reach = []string{
	"task.CreateToken ", "task.CreateToken token_exists", "task.CreateToken invalid_command", "task.CreateToken token_revoked",
	"task.RotateToken ", "task.RotateToken token_exists", "task.RotateToken token_not_found", "task.RotateToken invalid_command",
	"task.RevokeToken ", "task.RevokeToken token_not_found", "task.SetRoot ", "task.Submit token_revoked", "keyed token_revoked",
	"task.NoteRefusals ", "task.NoteRefusals invalid_command", "audit: a change", "audit: a token that is gone", "audit: counted again", "audit: a record went",
	"audit: too many refusals", "audit: caller.target",
	"task.Cancel forbidden", "task.RetryTask forbidden", "task.Submit forbidden", "task.Txn forbidden", "task.Finish forbidden", "task.Beat forbidden",
	"task.Snooze forbidden", "keyed forbidden", "looked at: recorded", "looked at: one's own",
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
	"attempt SUCCESS", "attempt LOST", "attempt SUSPECT", "attempt CRASHED", "attempt GIVEN_BACK", "attempt SNOOZED", "attempt CANCELLED",
	"attempt DEADLINE_EXCEEDED", "attempt HANDLER_ERROR", "full history", "pinned to an old version",
	"version kept for its tasks",
	"metered SUCCESS", "metered GIVEN_BACK", "metered SNOOZED", "metered CANCELLED", "metered DEADLINE_EXCEEDED", "metered HANDLER_ERROR",
	"with memory SUCCESS", "with memory GIVEN_BACK", "with memory SNOOZED", "with memory CANCELLED", "with memory DEADLINE_EXCEEDED", "with memory HANDLER_ERROR",
	"task.Finish invalid_command", "task.Snooze invalid_command", "task.GiveBack invalid_command",
	"external task.Finish invalid_command", "external task.Snooze invalid_command", "external task.GiveBack invalid_command",
	"submit 3 existing only: ", "submit 3 existing only: task_not_found", "task.Submit behavior_changed",
	"keyed ", "keyed idempotency_mismatch", "keyed keys_exhausted", "keyed origin_forgotten",
	"external task.Assign ", "external task.Assign not_external", "external task.Assign limit_reached",
	"external task.Assign invalid_command", "external task.Assign not_eligible", "external task.Assign behavior_paused",
	"task.Assign limit_reached", "task.Assign worker_drained", "task.Assign behavior_paused", "task.Assign module_missing",
	"external task.Beat ", "external task.Beat not_external", "external task.Beat invalid_command", "renewed only",
	"external task.Finish ", "external task.Finish halt", "external task.Finish not_external", "external task.Snooze ",
	"external task.GiveBack ", "finished with again", "failed with again", "running externally", "early",
	"task.RetryTask ", "task.RetryTask not_final", "task.RetryTask task_not_found", "task.RetryTask version_not_found",
	"task.PutBehavior ", "task.PutBehavior other_kind", "task.Activate other_kind",
	"task.ActivateVersion ", "task.ActivateVersion behavior_not_found", "task.ActivateVersion version_not_found",
	"task.DeleteBehavior ", "task.DeleteBehavior behavior_not_found", "task.PauseBehavior ", "task.PauseBehavior behavior_not_found",
	"task.DrainNode ", "task.SetMember ", "task.Refound ", "task.HoldBlobs ", "task.HoldBlobs halt", "task.HoldBlobs invalid_command", "task.DropBlobs left", "task.SetMember invalid_command", "task.StoreUpdate ", "task.StoreUpdate store_conflict", "task.StoreUpdate invalid_command",
	"task.StoreUpdate namespace_not_found", "refused by its owner", "claimed nothing", "claimed",
	"task.StoreClaim store_conflict", "task.StoreClaim namespace_not_found", "error TIMEOUT", "attempt TIMEOUT",
	"task.Txn ", "task.Txn conflict", "task.Txn invalid_command", "task.Txn namespace_not_found", "task.Txn behavior_not_found",
	"task.Txn behavior_changed", "reason missing", "reason changed", "reason leased", "reason exists", "transaction depends",
	"transaction submits", "transaction updates", "transaction finishes", "transaction deletes", "purged",
	"waits for a repeat after a failure", "waits for a strict key", "runs with a limited key",
	"task.PutNamespace ", "task.PutNamespace namespace_exists", "task.PutNamespace namespace_reserved", "task.PutNamespace invalid_command",
	"task.PutNamespace quota_exceeded", "task.PutNamespace namespace_purging", "task.PutNamespace namespace_not_found",
	"task.SetNamespaceStatus ", "task.SetNamespaceStatus namespace_reserved", "task.SetNamespaceStatus namespace_not_found",
	"task.SetNamespaceStatus invalid_command", "task.SetNamespaceStatus namespace_purging",
	"task.Submit namespace_inactive", "task.Submit namespace_purging", "task.Assign namespace_inactive", "task.Assign namespace_purging",
	"task.RetryTask namespace_purging", "task.Txn namespace_inactive", "task.Txn namespace_purging", "task.Txn quota_exceeded",
	"task.Activate namespace_purging", "task.PutBehavior namespace_purging", "task.DeleteBehavior namespace_purging",
	"task.StoreUpdate namespace_inactive", "task.StoreClaim namespace_inactive", "task.StoreUpdate quota_exceeded",
	"over max_tasks", "over max_bytes", "over submits_per_second", "over namespaces", "runs in a namespace in PURGING", "snoozed while draining", "ended by the leader",
	"fresh assign false ", "fresh assign true ", "fresh assign false not_eligible", "fresh assign false no_free_slot",
}

// seeMore notes what only some commands have.
func seeMore(seen map[string]int, p task.Proposal, r task.Result) {
	external := false
	switch c := p.Command.(type) {
	case task.Submit:
		if c.Existing {
			seen[fmt.Sprint("submit ", c.IfExists, " existing only: ", r.Code)]++
		}
	case task.Assign:
		external = c.External != nil
		if c.Fresh {
			seen[fmt.Sprint("fresh assign ", external, " ", r.Code)]++
		}
		if external && r.Task != nil && r.Code == task.OK && c.External.MaxNotBefore > 0 && r.Task.StartedAt < c.External.MaxNotBefore {
			seen["early"]++
		}
	case task.Beat:
		external = c.External
		if external && r.Code == task.OK && c.Seq == 0 && c.Progress == nil && c.Checkpoint == nil {
			seen["renewed only"]++
		}
	case task.Finish:
		if external = c.External; c.Again != 0 && r.Code == task.OK {
			seen[map[bool]string{true: "finished with again", false: "failed with again"}[c.Error == nil]]++
		}
	case task.Snooze:
		external = c.External
		if t := r.Task; c.At == 0 && t != nil && t.Status == task.Created && len(t.History) > 0 && t.NotBefore == t.History[len(t.History)-1].FinishedAt {
			seen["snoozed while draining"]++
		}
	case task.GiveBack:
		external = c.External
	case task.Txn:
		for _, why := range r.Reasons {
			seen["reason "+why.Kind]++
		}
		if r.Code == task.OK {
			for part, n := range map[string]int{
				"depends": len(c.Depends), "submits": len(c.Submits), "updates": len(c.Updates), "finishes": len(c.Finishes), "deletes": len(c.Deletes),
			} {
				seen["transaction "+part] += n
			}
		}
	case task.DeleteBehavior:
		if c.Purge && r.Code == task.OK {
			seen["purged"]++
		}
	case task.StoreUpdate:
		if r.Refusal != nil && len(r.Refusal.Owned) > 0 {
			seen["refused by its owner"]++
		}
	case task.StoreClaim:
		if r.Code == task.OK {
			seen[map[bool]string{true: "claimed", false: "claimed nothing"}[len(r.Records) == 1]]++
			for _, x := range r.Records {
				if x.Blob.Blobs != nil {
					seen["claimed a blob"]++
				}
			}
		}
	}
	if external {
		seen[fmt.Sprintf("external %T %s", p.Command, r.Code)]++
	}
	if p.Origin.Body != 0 {
		seen["keyed "+string(r.Code)]++
	}
}

// seeLimits notes tasks that a limit or a repeat concerns, and tasks of a deleted behavior.
func seeLimits(seen map[string]int, m *task.Machine, t *task.Task) {
	v := m.Version(t.Namespace, t.Behavior, "")
	if v == nil {
		seen["of a deleted behavior"]++
		return
	}
	p, waits := v.Policy, t.Lease == nil && t.NotBefore != 0
	if p.RepeatAny && waits && t.Status == task.Failure && t.Version == "" {
		seen["waits for a repeat after a failure"]++
	}
	if p.MaxPerKey > 0 && t.ConcurrencyKey != "" {
		if t.Lease != nil {
			seen["runs with a limited key"]++
		}
		if waits && p.KeyStrict && t.Version != "" {
			seen["waits for a strict key"]++
		}
	}
}
