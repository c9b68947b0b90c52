package apitest

import (
	"encoding/json"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// show turns a record into what the API shows. f.mu is held.
func (f *Fake) show(t *task.Task) *api.Task {
	a := &api.Task{
		Namespace: t.Namespace, ID: t.ID, Behavior: t.Behavior, Version: t.Version, Status: t.Status.String(), Final: t.Final(),
		NotBefore: showTime(t.NotBefore), Deadline: showTime(t.Deadline), Attempt: t.Attempt, Failures: t.Failures, LostCount: t.LostCount,
		CancelRequested: t.CancelCode != "" && t.Status == task.Running, Rev: t.Rev, CreatedAt: api.TimeOf(int64(t.CreatedAt)),
		StartedAt: showTime(t.StartedAt), FinishedAt: showTime(t.FinishedAt), Lease: f.showLease(t),
		Parent: t.Parent, Partition: t.Partition, History: []api.Attempt{}, Labels: map[string]string{}, Priority: int(t.Priority),
	}
	a.Params, a.ParamsBase64 = split(f.fakeParams(t))
	a.Result, a.ResultBase64 = split(t.Result)
	a.Progress, _ = split(t.Progress)
	a.Checkpoint, a.CheckpointBase64 = split(t.Checkpoint)
	if t.Status == task.Success && t.Result.Encoding == task.None {
		a.Result = json.RawMessage("null")
	}
	if t.Error != nil {
		a.Error = &api.TaskError{Code: t.Error.Code, Message: t.Error.Message, Retryable: t.Error.Retryable, Details: t.Error.Details.Data}
	}
	if t.Resubmit != 0 {
		a.Resubmit = &api.ResubmitFlag{NotBefore: api.TimeOf(int64(t.Resubmit))}
	}
	for _, h := range t.History {
		a.History = append(a.History, api.Attempt{
			Attempt: h.Number, Token: h.Token, Worker: h.Worker, Node: h.Node,
			StartedAt: api.TimeOf(int64(h.StartedAt)), FinishedAt: showTime(h.FinishedAt), Outcome: h.Outcome,
			FuelUsed: h.Fuel,
		})
	}
	for _, l := range t.Labels {
		a.Labels[l.Name] = l.Value
	}
	return a
}

func (f *Fake) showLease(t *task.Task) *api.Lease {
	if t.Lease == nil {
		return nil
	}
	a := &api.Lease{Token: t.Lease.Token, Worker: t.Lease.Worker, Node: t.Lease.Node, External: t.Lease.External()}
	if end := f.machine.LeaseEnd(t); end != 0 {
		a.LeaseMS = max(int64(end-f.machine.LeaseNow()), 1)
		a.LostNotBefore = showTime(f.machine.Now() + task.Time(a.LeaseMS))
	}
	return a
}

func split(p task.Payload) (text json.RawMessage, raw []byte) {
	if p.Blobs != nil && p.Blobs.Content != "" {
		return api.BlobRef(p.Blobs.Content), nil
	}
	switch p.Encoding {
	case task.JSON:
		return p.Data, nil
	case task.Bytes:
		return nil, p.Data
	case task.None:
	}
	return nil, nil
}

func showTime(t task.Time) *api.Time { return api.TimeOrNil(int64(t)) }

func payload(j json.RawMessage, b []byte) task.Payload {
	switch {
	case j != nil:
		return task.Payload{Encoding: task.JSON, Data: j}
	case b != nil:
		return task.Payload{Encoding: task.Bytes, Data: b}
	}
	return task.Payload{}
}
