package sim_test

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/audit"
)

// reachUpkeep names what a run must meet of blobs and maintenance.
var reachUpkeep = []string{
	"task.NoteBlob ", "task.NoteBlob blob_gone", "task.NoteBlob invalid_command", "ready", "coming",
	"task.Submit blob_gone", "task.Finish blob_gone", "task.Beat blob_gone", "task.Snooze blob_gone", "task.StartOperation blob_gone",
	"task.Activate blob_gone", "task.Txn blob_gone", "task.Submit invalid_command",
	"params are a blob", "params name blobs", "result is a blob", "checkpoint is a blob", "argument is a blob",
	"task.StoreUpdate blob_gone", "task.StoreUpdate invalid_command", "record is a blob", "claimed a blob",
	"task.StartMaintenance ", "task.StartMaintenance maintenance_running", "task.StartMaintenance run_not_found", "task.StartMaintenance task_not_found",
	"task.RecordRun ", "task.RecordRun halt", "task.RecordRun invalid_command",
	"task.DropBlobs halt", "task.DropTasks halt", "task.DropOperations halt", "task.TrimBehavior halt", "task.PurgeNamespace halt", "task.EndPurge halt",
	"task.DropBlobs some", "task.DropBlobs none", "task.DropTasks some", "task.DropTasks none", "task.DropOperations some", "task.DropOperations none",
	"task.TrimBehavior some", "task.TrimBehavior changed", "task.TrimBehavior left", "task.TrimBehavior invalid_command",
	"task.PurgeNamespace some", "task.PurgeNamespace left", "task.PurgeNamespace invalid_command", "task.PurgeNamespace namespace_not_found",
	"task.EndPurge changed", "task.EndPurge namespace_not_empty", "task.EndPurge invalid_command", "task.EndPurge namespace_not_found",
	"namespace PURGED", "namespace forgotten", "namespace created again",
	"run success", "run finished", "run lost", "run given_back", "run snoozed", "run superseded", "run removed", "run taken over",
	"task.ImportRecords some", "task.ImportRecords none", "task.ImportRecords namespace_not_found", "task.ImportRecords namespace_purging",
	"task.ImportRecords quota_exceeded", "task.ImportRecords invalid_command",
}

// seeAudit notes the records of changes and refusals.
func seeAudit(seen map[string]int, view audit.View) {
	if view.Lost() > 0 {
		seen["audit: too many refusals"]++
	}
	first := uint64(0)
	for x := range view.After(0) {
		first = cmp.Or(first, x.Number)
		switch {
		case x.Count > 9:
			seen["audit: counted again"]++
		case x.Refused():
		case x.Name == "":
			seen["audit: a token that is gone"]++
		default:
			seen["audit: a change"]++
		}
	}
	if first > 1 {
		seen["audit: a record went"]++
	}
}

// seeLook notes what became of a command for which Apply decides whether its caller may (SPEC A5), and whether it was recorded.
func seeLook(seen map[string]int, p task.Proposal, r task.Result, view audit.View) {
	if !p.Caller.Look || p.Caller.Route == "" || !task.Steers(p.Command) || r.Code != task.OK || r.Repeated {
		return
	}
	for x := range view.After(0) {
		if x.Index == r.Index {
			seen["looked at: recorded"]++
			return
		}
	}
	seen["looked at: one's own"]++
}

// seeUpkeep notes the records of blobs and runs.
func seeUpkeep(seen map[string]int, m *task.Machine, ts []*task.Task) {
	for b := range m.Blobs("") {
		seen[map[bool]string{true: "ready", false: "coming"}[b.Ready]]++
	}
	for _, t := range ts {
		for what, p := range map[string]task.Payload{"params": t.Params, "result": t.Result, "checkpoint": t.Checkpoint} {
			seeBlobs(seen, what, p)
		}
	}
	for _, n := range m.Namespaces() {
		for _, group := range m.StoreGroups(n.Name) {
			for _, x := range slices.Collect(m.StoreRecords(n.Name, group, true, 0)) {
				seeBlobs(seen, "record", x.Blob)
			}
		}
	}
	os, _ := m.Operations(task.OperationFilter{Limit: 100})
	for _, o := range os {
		seeBlobs(seen, "argument", o.Arg)
	}
	for _, r := range m.MaintenanceRuns() {
		seen["run "+r.Ended]++
		if r.By != 0 {
			seen["run taken over"]++
		}
		if r.Success {
			seen["run success"]++
		} else if r.FinishedAt != 0 {
			seen["run finished"]++
		}
	}
	for _, n := range m.Namespaces() {
		seen["namespace "+n.Status.String()]++
	}
}

func seeBlobs(seen map[string]int, what string, p task.Payload) {
	if p.Blobs == nil {
		return
	}
	verb := map[bool]string{true: " are a blob", false: " is a blob"}[what == "params"]
	if p.Blobs.Content == "" {
		verb = " name blobs"
	}
	seen[what+verb]++
}

// seeRun notes what a run of maintenance deletes.
func seeRun(seen map[string]int, p task.Proposal, r task.Result) {
	if r.Code != task.OK {
		return
	}
	name := fmt.Sprintf("%T", p.Command)
	switch c := p.Command.(type) {
	case task.PutNamespace:
		if c.Create && r.Changed && r.Space != nil && r.Space.Rev > 1 && // Space is nil in an answer to another command under the same key
			seen["purged "+c.Name] > 0 {
			seen["namespace created again"]++
		}
		return
	case task.EndPurge:
		if r.Space == nil {
			seen["namespace forgotten"]++
		} else if r.Changed {
			seen["purged "+c.Namespace]++
		}
	case task.DropBlobs, task.ImportRecords, task.DropTasks, task.DropOperations, task.TrimBehavior, task.PurgeNamespace:
	default:
		return
	}
	seen[name+map[bool]string{true: " some", false: " none"}[r.Count > 0]]++
	if r.Changed {
		seen[name+" changed"]++
	}
	if r.Left > 0 {
		seen[name+" left"]++
	}
}
