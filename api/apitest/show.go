package apitest

import (
	"encoding/json"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// show turns a record into what the API shows.
func show(t *task.Task) *api.Task {
	a := &api.Task{
		Namespace: t.Namespace, ID: t.ID, Behavior: t.Behavior, Version: t.Version, Status: t.Status.String(), Final: t.Final(),
		NotBefore: showTime(t.NotBefore), Deadline: showTime(t.Deadline), Attempt: t.Attempt, Failures: t.Failures, LostCount: t.LostCount,
		CancelRequested: t.CancelCode != "", Rev: t.Rev, CreatedAt: api.TimeOf(int64(t.CreatedAt)),
		StartedAt: showTime(t.StartedAt), FinishedAt: showTime(t.FinishedAt),
		History: []api.Attempt{}, Labels: map[string]string{}, Priority: int(t.Priority),
	}
	if t.Lease != nil {
		a.Lease = &api.Lease{Token: t.Lease.Token, Worker: t.Lease.Worker, Node: t.Lease.Node}
	}
	switch t.Params.Encoding {
	case task.JSON:
		a.Params = t.Params.Data
	case task.Bytes:
		a.ParamsBase64 = t.Params.Data
	case task.None:
	}
	if t.Status == task.Success {
		a.Result = json.RawMessage("null")
	}
	if t.Error != nil {
		a.Error = &api.TaskError{Code: t.Error.Code, Message: t.Error.Message, Retryable: t.Error.Retryable}
	}
	if t.Resubmit != 0 {
		a.Resubmit = &api.ResubmitFlag{NotBefore: api.TimeOf(int64(t.Resubmit))}
	}
	for _, h := range t.History {
		a.History = append(a.History, api.Attempt{
			Attempt: h.Number, Token: h.Token, Worker: h.Worker, Node: h.Node,
			StartedAt: api.TimeOf(int64(h.StartedAt)), FinishedAt: showTime(h.FinishedAt), Outcome: h.Outcome,
		})
	}
	for _, l := range t.Labels {
		a.Labels[l.Name] = l.Value
	}
	return a
}

func showTime(t task.Time) *api.Time {
	if t == 0 {
		return nil
	}
	shown := api.TimeOf(int64(t))
	return &shown
}

func payload(j json.RawMessage, b []byte) task.Payload {
	switch {
	case j != nil:
		return task.Payload{Encoding: task.JSON, Data: j}
	case b != nil:
		return task.Payload{Encoding: task.Bytes, Data: b}
	}
	return task.Payload{}
}
