package sim_test

import (
	"github.com/taskrt/taskrt/task"
)

// reachOperations names what a run must meet of operations.
var reachOperations = []string{
	"task.StartOperation ", "task.StartOperation operation_conflict", "task.StartOperation already_exists", "task.StartOperation reserved_id",
	"task.StartOperation not_an_operation", "task.StartOperation behavior_not_found", "task.StartOperation behavior_changed",
	"task.StartOperation invalid_command", "task.StartOperation quota_exceeded", "task.StartOperation namespace_inactive",
	"task.CancelOperation ", "task.CancelOperation operation_state", "task.CancelOperation operation_not_found", "task.CancelOperation not_cancellable",
	"task.RetryOperation ", "task.RetryOperation operation_conflict", "task.RetryOperation operation_state", "task.RetryOperation operation_not_found",
	"task.RemoveOperation ", "task.RemoveOperation operation_not_found",
	"task.Submit operation_task", "task.Submit reserved_id", "task.Remove operation_task", "task.RetryTask operation_task",
	"task.Cancel operation_task", "task.Txn operation_task", "task.Txn reserved_id",
	"operation RUNNING", "operation COMPLETING", "operation SUCCESS", "operation FAILURE", "operation stops", "operation fails and goes on",
	"operation is being made", "operation has a result", "operation failed to complete", "operation of instance 2",
	"operation drops a cleanup", "operation cleans up", "operation tried until it succeeded",
	"partition RUNNING", "partition CREATED", "partition SUCCESS", "partition FAILURE", "partition is being cancelled", "partition keeps a checkpoint",
	"completion RUNNING", "completion SUCCESS", "completion FAILURE", "cleanup CREATED", "cleanup RUNNING", "cleanup SUCCESS",
	"cleanup SESSION_ENDED",
}

var roles = map[task.Role]string{task.RolePartition: "partition", task.RoleCompletion: "completion", task.RoleCleanup: "cleanup"}

// seeOperations notes what operations and their tasks do.
func seeOperations(seen map[string]int, m *task.Machine, ts []*task.Task) {
	os, _ := m.Operations(task.OperationFilter{Limit: 100})
	for _, o := range os {
		for what, is := range map[string]bool{
			o.Status.String(): true, "stops": o.Stop != "", "fails and goes on": o.Status == task.OperationRunning && o.Error != nil && o.Stop == "",
			"is being made": o.Made < o.Partitions, "is being retried": o.RetryRev != 0, "has a result": o.Result.Encoding != task.None,
			"failed to complete": o.Error != nil && o.Error.Code == task.CodeCompletionFailed, "of instance 2": o.Instance == 2,
			"drops a cleanup": o.Dropped > 0, "cleans up": o.Cleanups > 0,
			"tried until it succeeded": o.Status == task.OperationSuccess && o.Counts.Success > 0 && hasFailed(ts, o),
		} {
			if is {
				seen["operation "+what]++
			}
		}
	}
	for _, t := range ts {
		role := roles[t.Role]
		if role == "" {
			continue
		}
		seen[role+" "+t.Status.String()]++
		if t.Error != nil {
			seen[role+" "+t.Error.Code]++
		}
		if t.CancelCode != "" {
			seen[role+" is being cancelled"]++
		}
		if t.Checkpoint.Encoding != task.None && len(t.History) > 0 {
			seen[role+" keeps a checkpoint"]++
		}
	}
}

// hasFailed reports whether one of the operation's partitions ran and failed before.
func hasFailed(ts []*task.Task, o *task.Operation) bool {
	for _, t := range ts {
		if t.Parent == o.ID && t.Role == task.RolePartition {
			for _, a := range t.History {
				switch a.Outcome {
				case "SUCCESS", "LOST", "SUSPECT", "GIVEN_BACK", "SNOOZED":
				default:
					return true
				}
			}
		}
	}
	return false
}
