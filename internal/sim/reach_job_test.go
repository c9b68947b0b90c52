package sim_test

import (
	"fmt"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/jobs"
)

// reachJobs names what a run must meet of bulk jobs.
var reachJobs = []string{
	"task.StartJob ", "task.StartJob too_many_jobs", "task.StartJob invalid_command", "task.StartJob namespace_not_found", "task.StartJob namespace_purging",
	"task.SelectJob ", "task.SelectJob job_moved", "task.SelectJob blob_gone", "task.SelectJob invalid_command",
	"task.StepJob ", "task.StepJob job_moved", "task.StepJob invalid_command", "task.EndJob ", "task.EndJob job_not_found",
	"job selecting", "job acting", "job done", "job cancelled", "job failed no_leader", "job failed token_revoked", "job failed namespace_purging",
	"job 1 did", "job 2 did", "job 3 did", "job 4 did", "job changed", "job gone", "job refused", "job forbidden", "job later", "job with a filter did",
	"job needs a blob", "job ended before its tasks",
}

// seeJobs notes what bulk jobs are, and what becomes of their tasks.
func seeJobs(seen map[string]int, m *task.Machine) {
	for _, x := range task.Jobs(m) {
		switch x.State {
		case jobs.Selecting:
			seen["job selecting"]++
		case jobs.Acting:
			seen["job acting"]++
		case jobs.Done:
			seen["job done"]++
		case jobs.Cancelled:
			seen["job cancelled"]++
		case jobs.Failed:
			seen["job failed "+x.Code]++
		}
		for what, n := range map[string]int64{
			fmt.Sprintf("job %d did", x.Action): x.Counts.Done, "job changed": x.Counts.Changed, "job gone": x.Counts.Gone,
			"job refused": x.Counts.Refused, "job forbidden": x.Counts.Forbidden, "job needs a blob": int64(len(x.Blobs)),
		} {
			seen[what] += int(n)
		}
		if len(x.Spec) > 2 && x.Counts.Done > 0 {
			seen["job with a filter did"]++
		}
		if x.Ended() && x.Position < x.Selected {
			seen["job ended before its tasks"]++
		}
	}
}

// seeStep notes a step that ends before a task whose turn comes later.
func seeStep(seen map[string]int, p task.Proposal, r task.Result, m *task.Machine) {
	c, ok := p.Command.(task.StepJob)
	if !ok || r.Code != task.OK || r.Repeated || r.Index != m.Index() {
		return
	}
	for _, x := range task.Jobs(m) {
		if x.Number == c.Number && x.State == jobs.Acting && r.Count < int64(len(c.Tasks)) {
			seen["job later"]++
		}
	}
}
