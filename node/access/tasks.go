package access

import (
	"context"
	"slices"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/task/access"
)

// submits checks what a submit needs. To make an existing task run again is to submit, for who created it; else it is to operate.
func (x *guard) submits(ctx context.Context, r *api.SubmitRequest) error {
	if err := in(ctx, auth.Behavior, access.Submit, r.Namespace, r.Behavior); err != nil {
		return err
	}
	if r.ID == "" || r.IfExists != "rerun" && r.IfExists != "resubmit" {
		return nil
	}
	return x.check(ctx, Records.Task, access.Operate, r.Namespace, r.ID)
}

// Submit implements api.Service.
func (x taskGuard) Submit(ctx context.Context, r api.SubmitRequest) (*api.SubmitReply, error) {
	if err := x.submits(ctx, &r); err != nil {
		return nil, err
	}
	reply, err := x.to.Submit(ctx, r)
	if err != nil {
		return nil, x.conflict(ctx, err)
	}
	return x.met(ctx, reply), nil
}

// met shows the answer to a submit, which may have met a task of somebody else.
func (x *guard) met(ctx context.Context, r *api.SubmitReply) *api.SubmitReply {
	if r == nil || r.Outcome == "created" {
		return r
	}
	shown := *r
	shown.Task = x.shown(ctx, r.Task)
	return &shown
}

// SubmitBatch implements api.Service. What a token may not submit is refused by itself. It keeps its place, because an idempotency key
// knows the others by theirs.
func (x taskGuard) SubmitBatch(ctx context.Context, rs []api.SubmitRequest) ([]api.SubmitResult, error) {
	if auth.PrincipalOf(ctx) == nil {
		return x.to.SubmitBatch(ctx, rs)
	}
	one, err := x.once(ctx)
	if err != nil {
		return nil, err
	}
	rs = slices.Clone(rs)
	for i := range rs {
		rs[i].Refused = refusal(one.submits(ctx, &rs[i]))
	}
	out, err := x.to.SubmitBatch(ctx, rs)
	for i := range out {
		out[i].SubmitReply = x.met(ctx, out[i].SubmitReply)
		if out[i].Error != nil {
			out[i].Error = refusal(x.conflict(ctx, out[i].Error))
		}
	}
	return out, err
}

// Task implements api.Service.
func (x taskGuard) Task(ctx context.Context, namespace, id string, o api.GetOptions) (*api.Task, error) {
	see := func() error { return x.check(ctx, Records.Task, access.Read, namespace, id) }
	return visible(ctx, x.guard, see, func(ctx context.Context) (*api.Task, error) { return x.to.Task(ctx, namespace, id, o) })
}

// Tasks implements api.Service.
func (x taskGuard) Tasks(ctx context.Context, r api.ListRequest) (*api.ListReply, error) {
	r.Sight = sight(ctx, r.Namespace)
	return read(ctx, x.guard, in(ctx, auth.Namespace, auth.SeeTasks, r.Namespace, ""), func() (*api.ListReply, error) { return x.to.Tasks(ctx, r) })
}

// Cancel implements api.Service.
func (x taskGuard) Cancel(ctx context.Context, namespace, id string) (*api.CancelReply, error) {
	if err := x.check(ctx, Records.Task, access.Operate, namespace, id); err != nil {
		return nil, err
	}
	reply, err := x.to.Cancel(ctx, namespace, id)
	if err != nil {
		return nil, err
	}
	return &api.CancelReply{Task: x.shown(ctx, reply.Task), Told: reply.Told}, nil
}

// Remove implements api.Service.
func (x taskGuard) Remove(ctx context.Context, namespace, id string) error {
	if err := x.check(ctx, Records.Task, access.Operate, namespace, id); err != nil {
		return err
	}
	return x.to.Remove(ctx, namespace, id)
}

// Logs implements api.Service.
func (x taskGuard) Logs(ctx context.Context, namespace, id string, g api.LogsGet) (*api.LogsReply, error) {
	return read(ctx, x.guard, x.check(ctx, Records.Task, access.Read, namespace, id), func() (*api.LogsReply, error) { return x.to.Logs(ctx, namespace, id, g) })
}

// Retry implements api.Service.
func (x taskGuard) Retry(ctx context.Context, r api.RetryRequest) (*api.Task, error) {
	if err := x.check(ctx, Records.Task, access.Operate, r.Namespace, r.ID); err != nil {
		return nil, err
	}
	t, err := x.to.Retry(ctx, r)
	return x.shown(ctx, t), err
}

// Resubmit implements api.Service.
func (x taskGuard) Resubmit(ctx context.Context, r api.ResubmitRequest) (*api.SubmitReply, error) {
	if err := x.check(ctx, Records.Task, access.Operate, r.Namespace, r.ID); err != nil {
		return nil, err
	}
	reply, err := x.to.Resubmit(ctx, r)
	return x.met(ctx, reply), err
}

// WaitTasks implements api.Service.
func (x taskGuard) WaitTasks(ctx context.Context, r api.WaitRequest) (*api.WaitReply, error) {
	see := func() error { return x.check(ctx, Records.Task, access.Read, r.Namespace, r.IDs...) }
	return visible(ctx, x.guard, see, func(ctx context.Context) (*api.WaitReply, error) { return x.to.WaitTasks(ctx, r) })
}

// Txn implements api.Service. Every part is looked at by itself.
func (x taskGuard) Txn(ctx context.Context, r api.TxnRequest) (*api.TxnReply, error) {
	one, err := x.once(ctx)
	if err == nil {
		err = one.parts(ctx, &r)
	}
	if err != nil {
		return nil, err
	}
	reply, err := x.to.Txn(ctx, r)
	if err != nil {
		return nil, x.conflict(ctx, err)
	}
	for i := range reply.Tasks {
		reply.Tasks[i] = x.shown(ctx, reply.Tasks[i])
	}
	return reply, nil
}

// parts checks the parts of a transaction.
func (x *guard) parts(ctx context.Context, r *api.TxnRequest) error {
	if err := in(ctx, auth.Namespace, auth.Change, r.Namespace, ""); err != nil {
		return err
	}
	for i := range r.Submit {
		s := r.Submit[i]
		s.Namespace = r.Namespace
		if err := x.submits(ctx, &s); err != nil {
			return err
		}
	}
	for i := range r.Finish {
		if err := x.reports(ctx, r.Namespace, r.Finish[i].ID, r.Finish[i].Token); err != nil {
			return err
		}
	}
	var seen, changed []string
	for _, d := range r.Depends {
		seen = append(seen, d.ID)
	}
	for i := range r.Update {
		changed = append(changed, r.Update[i].ID)
	}
	for _, d := range r.Delete {
		changed = append(changed, d.ID)
	}
	if len(changed) > 0 {
		if err := x.check(ctx, Records.Task, access.Operate, r.Namespace, changed...); err != nil {
			return err
		}
	}
	if len(seen) > 0 {
		return x.check(ctx, Records.Task, access.Read, r.Namespace, seen...)
	}
	return nil
}

// Events implements api.Service.
func (x taskGuard) Events(ctx context.Context, r api.EventsRequest) (api.EventStream, error) {
	if err := in(ctx, auth.Namespace, auth.SeeTasks, r.Namespace, ""); err != nil {
		return nil, err
	}
	r.Sight = sight(ctx, r.Namespace)
	long, end, err := x.gate.Long(ctx, auth.PrincipalOf(ctx))
	if err != nil {
		return nil, err
	}
	s, err := read(ctx, x.guard, nil, func() (api.EventStream, error) { return x.to.Events(long, r) })
	if err != nil {
		end()
		return nil, err
	}
	if auth.PrincipalOf(ctx) == nil {
		return s, nil
	}
	return &stream{s, long, end}, nil
}

// stream is a stream of events that ends with its token.
type stream struct {
	api.EventStream
	long context.Context
	end  func()
}

// Next implements api.EventStream.
func (s *stream) Next(ctx context.Context) (api.Event, error) {
	both, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.long, cancel)()
	if err := ended(ctx, s.long); err != nil {
		return api.Event{}, err
	}
	e, err := s.EventStream.Next(both)
	if gone := ended(ctx, s.long); gone != nil {
		return api.Event{}, gone
	}
	return e, err
}

// Try returns the next event if it is there.
func (s *stream) Try() (api.Event, bool) {
	if try, can := s.EventStream.(interface{ Try() (api.Event, bool) }); can && s.long.Err() == nil {
		return try.Try()
	}
	return api.Event{}, false
}

// Close implements api.EventStream.
func (s *stream) Close() {
	s.EventStream.Close()
	s.end()
}

// Accept implements api.Service.
func (x taskGuard) Accept(ctx context.Context, r api.AcceptRequest) (*api.AcceptReply, error) {
	return wait(ctx, x.guard, in(ctx, auth.Behavior, access.Work, r.Namespace, r.Behavior), func(ctx context.Context) (*api.AcceptReply, error) { return x.to.Accept(ctx, r) })
}

// Heartbeat implements api.Service.
func (x taskGuard) Heartbeat(ctx context.Context, r api.HeartbeatRequest) (*api.HeartbeatReply, error) {
	if err := x.reports(ctx, r.Namespace, r.ID, r.Token); err != nil {
		return nil, err
	}
	return x.to.Heartbeat(ctx, r)
}

// Finish implements api.Service. Who may work sees the task, as when it was accepted.
func (x taskGuard) Finish(ctx context.Context, r api.FinishRequest) (*api.FinishReply, error) {
	if err := x.reports(ctx, r.Namespace, r.ID, r.Token); err != nil {
		return nil, err
	}
	return x.to.Finish(ctx, r)
}

// FinishMany implements api.Service. As in SubmitBatch, what is refused keeps its place.
func (x taskGuard) FinishMany(ctx context.Context, rs []api.FinishRequest) ([]api.FinishResult, error) {
	if auth.PrincipalOf(ctx) == nil {
		return x.to.FinishMany(ctx, rs)
	}
	one, err := x.once(ctx)
	if err != nil {
		return nil, err
	}
	rs = slices.Clone(rs)
	for i := range rs {
		rs[i].Refused = refusal(one.reports(ctx, rs[i].Namespace, rs[i].ID, rs[i].Token))
	}
	return x.to.FinishMany(ctx, rs)
}

// Snooze implements api.Service.
func (x taskGuard) Snooze(ctx context.Context, r api.SnoozeRequest) (*api.Task, error) {
	if err := x.reports(ctx, r.Namespace, r.ID, r.Token); err != nil {
		return nil, err
	}
	return x.to.Snooze(ctx, r)
}

// StartOperation implements api.Service.
func (x taskGuard) StartOperation(ctx context.Context, r api.StartOperationRequest) (*api.Operation, error) {
	if err := in(ctx, auth.Behavior, access.Submit, r.Namespace, r.Behavior); err != nil {
		return nil, err
	}
	o, err := x.to.StartOperation(ctx, r)
	return o, x.conflict(ctx, err)
}

// Operation implements api.Service.
func (x taskGuard) Operation(ctx context.Context, namespace, id string, o api.OperationGet) (*api.Operation, error) {
	see := func() error { return x.check(ctx, Records.Operation, access.Read, namespace, id) }
	return visible(ctx, x.guard, see, func(ctx context.Context) (*api.Operation, error) { return x.to.Operation(ctx, namespace, id, o) })
}

// Operations implements api.Service.
func (x taskGuard) Operations(ctx context.Context, r api.OperationsRequest) (*api.OperationsReply, error) {
	r.Sight = sight(ctx, r.Namespace)
	return read(ctx, x.guard, in(ctx, auth.Namespace, auth.SeeTasks, r.Namespace, ""), func() (*api.OperationsReply, error) { return x.to.Operations(ctx, r) })
}

// Partitions implements api.Service. They have the operation's behavior and creator.
func (x taskGuard) Partitions(ctx context.Context, r api.PartitionsRequest) (*api.ListReply, error) {
	return read(ctx, x.guard, x.check(ctx, Records.Operation, access.Read, r.Namespace, r.ID), func() (*api.ListReply, error) { return x.to.Partitions(ctx, r) })
}

// CancelOperation implements api.Service.
func (x taskGuard) CancelOperation(ctx context.Context, namespace, id string) (*api.Operation, error) {
	return x.steer(ctx, namespace, id, x.to.CancelOperation)
}

// RetryOperation implements api.Service.
func (x taskGuard) RetryOperation(ctx context.Context, namespace, id string) (*api.Operation, error) {
	return x.steer(ctx, namespace, id, x.to.RetryOperation)
}

func (x *guard) steer(ctx context.Context, namespace, id string, change func(context.Context, string, string) (*api.Operation, error)) (*api.Operation, error) {
	if err := x.check(ctx, Records.Operation, access.Operate, namespace, id); err != nil {
		return nil, err
	}
	o, err := change(ctx, namespace, id)
	return x.operation(ctx, o), x.conflict(ctx, err)
}

// RemoveOperation implements api.Service.
func (x taskGuard) RemoveOperation(ctx context.Context, namespace, id string) error {
	if err := x.check(ctx, Records.Operation, access.Operate, namespace, id); err != nil {
		return err
	}
	return x.to.RemoveOperation(ctx, namespace, id)
}
