package view

import (
	"encoding/json"
	"strconv"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/tracing"
)

// State is one state of the machine. The zero State has none: it shows what a record alone says.
type State struct{ m *task.Machine }

// Of returns the state of a machine that the caller holds.
func Of(m *task.Machine) State { return State{m} }

// Task converts a record (SPEC section 3, H2).
func (v State) Task(t *task.Task) *api.Task {
	if t == nil {
		return nil
	}
	a := new(api.Task)
	v.Fill(a, t)
	return a
}

// Fill is Task into a place that the caller has.
func (v State) Fill(a *api.Task, t *task.Task) {
	*a = api.Task{
		Namespace: t.Namespace, ID: t.ID, Behavior: t.Behavior, Version: t.Version,
		Status: t.Status.String(), Final: t.Final(),
		NotBefore: Time(t.NotBefore), Deadline: Time(t.Deadline),
		Attempt: t.Attempt, Failures: t.Failures, LostCount: t.LostCount,
		CancelRequested: t.CancelCode != "" && t.Status == task.Running,
		Rev:             t.Rev, CreatedAt: api.TimeOf(int64(t.CreatedAt)),
		StartedAt: Time(t.StartedAt), FinishedAt: Time(t.FinishedAt),
		Parent: t.Parent, Partition: t.Partition, Labels: map[string]string{}, Priority: int(t.Priority),
		CreatedBy: v.CreatedBy(t.Creator), Lease: v.Lease(t), History: make([]api.Attempt, len(t.History)), Traceparent: tracing.Parent(t.Trace), Tracestate: tracing.State(t.Trace),
	}
	a.Params, a.ParamsBase64 = Payload(v.params(t))
	a.Result, a.ResultBase64 = Payload(t.Result)
	a.Progress, _ = Payload(t.Progress)
	a.Checkpoint, a.CheckpointBase64 = Payload(t.Checkpoint)
	if t.Status == task.Success && t.Result.Encoding == task.None {
		a.Result = json.RawMessage("null") // SPEC T7
	}
	if t.Error != nil {
		a.Error = &api.TaskError{Code: t.Error.Code, Message: t.Error.Message, Retryable: t.Error.Retryable}
		a.Error.Details = JSON(t.Error.Details)
	}
	if t.Resubmit != 0 {
		a.Resubmit = &api.ResubmitFlag{NotBefore: api.TimeOf(int64(t.Resubmit))}
	}
	for i, h := range t.History {
		a.History[i] = api.Attempt{
			Attempt: h.Number, Token: h.Token, Worker: h.Worker, Node: h.Node,
			StartedAt: api.TimeOf(int64(h.StartedAt)), FinishedAt: Time(h.FinishedAt), Outcome: h.Outcome,
			FuelUsed: h.Fuel, PeakMemoryBytes: h.Pages * task.PageBytes,
		}
	}
	for _, l := range t.Labels {
		a.Labels[l.Name] = l.Value
	}
}

// CreatedBy names the creator of a record: the access token with this number, "" for 0.
func (v State) CreatedBy(number uint64) string {
	if number == 0 {
		return ""
	}
	if v.m != nil {
		if name := v.m.Access().Name(number); name != "" {
			return name
		}
	}
	return "token:" + strconv.FormatUint(number, 10)
}

// Minimal fills in only what api.Task.Minimal keeps.
func Minimal(a *api.Task, t *task.Task) {
	*a = api.Task{
		Namespace: t.Namespace, ID: t.ID, Behavior: t.Behavior, Status: t.Status.String(), Final: t.Final(), Rev: t.Rev,
		CreatedAt: api.TimeOf(int64(t.CreatedAt)),
	}
}

// params returns the task's own params, or those that its operation gives it.
func (v State) params(t *task.Task) task.Payload {
	if v.m == nil {
		return t.Params
	}
	return Params(v.m, t)
}

// Lease estimates when the lease can be lost, and when it is renewed next: a look before then sees no change of it. The
// last log entry stamped both clocks at one moment. What is left of the session, or of an external lease, on the lease
// clock is added to the wall clock of that moment. So no clocks of two machines are compared.
func (v State) Lease(t *task.Task) *api.Lease {
	l := t.Lease
	if l == nil {
		return nil
	}
	a := &api.Lease{Token: l.Token, Worker: l.Worker, Node: l.Node, External: l.External()}
	if v.m == nil {
		return a
	}
	end, ttl := v.m.LeaseEnd(t), l.TTL
	if s := v.m.Session(l.Session); s != nil {
		end, ttl = s.Expires, s.TTL
	}
	if end == 0 {
		return a
	}
	now, left := v.m.Now(), int64(end-v.m.LeaseNow())
	lost := now + task.Time(left)
	renewed := lost - task.Time(ttl-ttl/renewals)
	a.LostNotBefore = Time(lost)
	a.RecheckNotBefore = Time(min(max(renewed, now), lost))
	if l.External() {
		a.LeaseMS = max(left, 1) // over, but not taken away yet: a heartbeat still keeps it (SPEC L4)
	}
	return a
}

// renewals is how often a lease is renewed in its TTL (SPEC L2). Sessions always do so, external workers if they do as
// told.
const renewals = 3

// Time returns nil for no time.
func Time(t task.Time) *api.Time { return api.TimeOrNil(int64(t)) }

// Payload shows a payload as JSON or as bytes (SPEC T7). A payload that is a blob is shown as a reference, which keeps
// answers and lists small; GET /v1/blobs/{digest} has the bytes.
func Payload(p task.Payload) (json.RawMessage, []byte) {
	if p.Blobs != nil && p.Blobs.Content != "" {
		return api.BlobRef(p.Blobs.Content), nil
	}
	switch p.Encoding {
	case task.JSON:
		return json.RawMessage(p.Data), nil
	case task.Bytes:
		return nil, p.Data
	}
	return nil, nil
}

// JSON shows a payload where the API has room for JSON only: bytes become a base64 string.
func JSON(p task.Payload) json.RawMessage {
	j, b := Payload(p)
	if b != nil {
		j, _ = json.Marshal(b) // a []byte always marshals
	}
	return j
}
