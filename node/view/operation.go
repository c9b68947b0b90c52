package view

import (
	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/tracing"
)

// completionID is the ID of an operation's completion.
func completionID(operation string) string { return operation + ":complete" }

// Operation converts a record. The counts come from the state, because results and events do not carry them.
func (v State) Operation(o *task.Operation) *api.Operation {
	if o == nil {
		return nil
	}
	a := &api.Operation{
		Namespace: o.Namespace, ID: o.ID, Behavior: o.Behavior, Version: o.Version,
		Target: o.Target, Object: o.Object, Instance: o.Instance,
		Status: o.Status.String(), Stopping: o.Stop != "" && o.Status == task.OperationRunning,
		Partitions: o.Partitions, Counts: v.counts(o), Cleanups: api.OperationCleanups{Made: o.Cleanups, Dropped: o.Dropped},
		Labels: map[string]string{}, Priority: int(o.Priority), Rev: o.Rev,
		CreatedAt: api.TimeOf(int64(o.CreatedAt)), FinishedAt: Time(o.FinishedAt),
		CreatedBy: v.CreatedBy(o.Creator), Traceparent: tracing.Parent(o.Trace), Tracestate: tracing.State(o.Trace),
	}
	a.Arg, _ = Payload(o.Arg)
	a.Result, a.ResultBase64 = Payload(o.Result)
	if o.Error != nil {
		a.Error = &api.TaskError{Code: o.Error.Code, Message: o.Error.Message, Retryable: o.Error.Retryable, Details: JSON(o.Error.Details)}
	}
	if key := (task.Key{Namespace: o.Namespace, ID: completionID(o.ID)}); v.m != nil && v.m.Task(key) != nil {
		a.Completion = key.ID
	}
	for _, l := range o.Labels {
		a.Labels[l.Name] = l.Value
	}
	return a
}

// counts returns the record's counts. If the record has no counts, it returns the counts of the same operation in the
// state, or else the counts of an operation that has just begun.
func (v State) counts(o *task.Operation) api.OperationCounts {
	if o.Counts == (task.OperationCounts{}) && v.m != nil {
		if now := v.m.Operation(o.Key()); now != nil && now.CreatedRev == o.CreatedRev {
			o = now
		}
	}
	if o.Counts == (task.OperationCounts{}) {
		return api.OperationCounts{Waiting: o.Partitions}
	}
	return countsOf(o)
}

func countsOf(o *task.Operation) api.OperationCounts {
	c := o.Counts
	return api.OperationCounts{Waiting: c.Waiting, Running: c.Running, Retrying: c.Retrying, Success: c.Success, Failure: c.Failure}
}
