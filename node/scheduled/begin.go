package scheduled

import (
	"context"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/snapshot"
	"github.com/taskrt/taskrt/node/saving"
	"github.com/taskrt/taskrt/task"
)

// NotScheduled answers a request for a backup when no node makes backups.
const NotScheduled = "no backups are scheduled: servers make them that are started with --backup-to"

// Begin makes the task due now. While a run goes on, another one follows it: the first one may have taken the state already.
func Begin(ctx context.Context, log saving.Log) (*snapshot.BeginReply, error) {
	there := false
	err := log.Read(ctx, func(m *task.Machine) bool { there = m.Task(Key()) != nil; return false })
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, api.NewError(api.CodeTaskNotFound, NotScheduled)
	}
	r, err := log.Propose(ctx, task.Submit{Namespace: task.SystemNamespace, ID: Task, IfExists: task.Resubmit, Existing: true})
	if err != nil {
		return nil, err
	}
	return &snapshot.BeginReply{Attempt: r.Task.Attempt + 1}, nil
}
