package apitest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/spaces"
	"github.com/taskrt/taskrt/task"
)

// Retry implements api.Service.
func (f *Fake) Retry(ctx context.Context, r api.RetryRequest) (*api.Task, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.report(ctx, task.RetryTask{
		Key: task.Key{Namespace: r.Namespace, ID: r.ID}, NotBefore: timeOf(r.NotBefore), Delay: millisOf(r.Delay),
		Deadline: timeOf(r.Deadline), Version: r.Version, KeepCheckpoint: r.KeepCheckpoint,
	})
}

// report proposes a command that answers with a record. f.mu is held.
func (f *Fake) report(ctx context.Context, c task.Command) (*api.Task, error) {
	res, err := f.propose(ctx, c)
	if err != nil {
		return nil, err
	}
	return f.show(res.Task), nil
}

// Resubmit implements api.Service.
func (f *Fake) Resubmit(ctx context.Context, r api.ResubmitRequest) (*api.SubmitReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	c := task.Submit{
		Namespace: r.Namespace, ID: r.ID, Existing: true, IfExists: task.Resubmit, Priority: 4,
		Params: payload(r.Params, r.ParamsBase64), HasParams: r.Params != nil || r.ParamsBase64 != nil,
		NotBefore: timeOf(r.NotBefore), Delay: millisOf(r.Delay), Deadline: timeOf(r.Deadline),
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	t, err := f.find(task.Key{Namespace: r.Namespace, ID: r.ID})
	if err != nil {
		return nil, err
	}
	if b := f.machine.Behavior(t.Namespace, t.Behavior); b != nil && c.HasParams {
		v, _ := b.Find("")
		if c.Params, err = f.whole("params", c.Params); err != nil {
			return nil, err
		}
		c.Behavior, c.BehaviorRev, c.ConcurrencyKey = b.Name, b.Rev, keyOf(&v.Policy, c.Params)
		if c.Params, err = f.packed(c.Params); err != nil {
			return nil, err
		}
	}
	res, err := f.propose(ctx, c)
	if err != nil {
		return nil, err
	}
	return &api.SubmitReply{Task: f.show(res.Task), Outcome: res.Outcome.String()}, nil
}

// Accept implements api.Service.
func (f *Fake) Accept(ctx context.Context, r api.AcceptRequest) (*api.AcceptReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	wait := time.Duration(0)
	if r.Wait != nil {
		wait = time.Duration(*r.Wait)
	}
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := spaces.Open(f.machine, r.Namespace); err != nil {
		return nil, err
	}
	b, err := f.behavior(r.Namespace, r.Behavior)
	if err != nil {
		return nil, err
	}
	if !b.External {
		return nil, api.NewError(string(task.NotExternal), "behavior %s has a module", r.Behavior)
	}
	for over := false; ; {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if leased := f.take(&r); len(leased) > 0 || over || wait == 0 {
			return f.accepted(leased), nil
		}
		changed := f.changed
		f.mu.Unlock()
		select {
		case <-changed:
		case <-timeout.C:
			over = true
		case <-ctx.Done():
		}
		f.mu.Lock()
	}
}

// take leases what an accept may have now: first what the same request got before.
func (f *Fake) take(r *api.AcceptRequest) []*task.Task {
	if r.RequestID != "" {
		if had := f.machine.LeasesOf(r.Namespace, r.Behavior, r.Worker, r.RequestID); len(had) > 0 {
			return had
		}
	}
	f.apply(task.Tick{}) // what has become due since
	free := task.Free{
		Slots: r.Max, Namespace: r.Namespace, Behavior: r.Behavior, Order: 1,
		External: &task.Acceptor{Worker: r.Worker, Lease: millisOf(r.Lease), MaxNotBefore: timeOf(r.MaxNotBefore), Request: r.RequestID},
	}
	var leased []*task.Task
	for _, a := range f.machine.Plan([]task.Free{free}, r.Max) {
		if res := f.apply(a); res.Code == task.OK {
			leased = append(leased, res.Task)
		}
	}
	if len(leased) > 0 {
		f.announce()
	}
	return leased
}

// accepted is the answer to an accept. What cannot be delivered counts as nothing (SPEC J2).
func (f *Fake) accepted(leased []*task.Task) *api.AcceptReply {
	reply := &api.AcceptReply{Tasks: []*api.Task{}}
	for _, t := range leased {
		reply.Tasks = append(reply.Tasks, f.show(t))
	}
	reply.Undelivered = func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, t := range leased {
			f.apply(task.GiveBack{Key: t.Key(), Token: t.Lease.Token, External: true})
		}
		f.announce()
	}
	return reply
}

// announce wakes who waits for a change. f.mu is held.
func (f *Fake) announce() {
	close(f.changed)
	f.changed = make(chan struct{})
	f.arm()
}

// Heartbeat implements api.Service.
func (f *Fake) Heartbeat(ctx context.Context, r api.HeartbeatRequest) (*api.HeartbeatReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	c := task.Beat{Key: task.Key{Namespace: r.Namespace, ID: r.ID}, Token: r.Token, Seq: r.Seq, Extend: millisOf(r.Extend), External: true}
	if r.Progress != nil {
		c.Progress = new(payload(r.Progress, nil))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	if c.Checkpoint, err = f.checkpoint(r.Checkpoint, r.CheckpointBase64); err != nil {
		return nil, err
	}
	t, err := f.report(ctx, c)
	if err != nil {
		return nil, err
	}
	return &api.HeartbeatReply{
		LeaseMS: t.Lease.LeaseMS, LostNotBefore: *t.Lease.LostNotBefore, Resubmit: t.Resubmit != nil, Cancel: t.CancelRequested,
	}, nil
}

// Finish implements api.Service.
func (f *Fake) Finish(ctx context.Context, r api.FinishRequest) (*api.FinishReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c, err := f.finishOf(&r)
	if err != nil {
		return nil, err
	}
	res, err := f.propose(ctx, c)
	if err != nil {
		return nil, err
	}
	return &api.FinishReply{Task: f.show(res.Task), Repeated: res.Repeated}, nil
}

// finishOf is the command of a request that has been checked. f.mu is held.
func (f *Fake) finishOf(r *api.FinishRequest) (c task.Finish, err error) {
	c = task.Finish{
		Key: task.Key{Namespace: r.Namespace, ID: r.ID}, Token: r.Token, Seq: r.Seq,
		Again: timeOf(r.AgainAt), External: true,
	}
	if r.Progress != nil {
		c.Progress = new(payload(r.Progress, nil))
	}
	if c.Result, err = f.whole("result", payload(r.Result, r.ResultBase64)); err == nil {
		c.Result, err = f.packed(c.Result)
	}
	if e := r.Error; e != nil {
		c.Error = &task.Error{Code: e.Code, Message: e.Message, Retryable: e.Retryable == nil || *e.Retryable, Details: payload(e.Details, nil)}
	}
	return c, err
}

// FinishMany implements api.Service.
func (f *Fake) FinishMany(ctx context.Context, rs []api.FinishRequest) ([]api.FinishResult, error) {
	if err := api.CheckReports(rs); err != nil {
		return nil, err
	}
	results := make([]api.FinishResult, len(rs))
	for i, r := range rs {
		reply, err := f.Finish(withPart(ctx, i), r)
		results[i].FinishReply = reply
		results[i].Error, _ = errors.AsType[*api.Error](err)
	}
	return results, nil
}

// Snooze implements api.Service.
func (f *Fake) Snooze(ctx context.Context, r api.SnoozeRequest) (*api.Task, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c := task.Snooze{Key: task.Key{Namespace: r.Namespace, ID: r.ID}, Token: r.Token, Seq: r.Seq, At: timeOf(r.AgainAt), External: true}
	if r.Progress != nil {
		c.Progress = new(payload(r.Progress, nil))
	}
	var err error
	if c.Checkpoint, err = f.checkpoint(r.Checkpoint, r.CheckpointBase64); err != nil {
		return nil, err
	}
	return f.report(ctx, c)
}

// Txn implements api.Service.
func (f *Fake) Txn(ctx context.Context, r api.TxnRequest) (*api.TxnReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c, err := f.txnOf(&r)
	if err != nil {
		return nil, err
	}
	res, err := f.propose(ctx, c)
	if err != nil {
		return nil, err
	}
	reply := &api.TxnReply{Tasks: []*api.Task{}}
	for _, t := range res.Tasks {
		reply.Tasks = append(reply.Tasks, f.show(t))
	}
	return reply, nil
}

func (f *Fake) txnOf(r *api.TxnRequest) (task.Txn, error) {
	c := task.Txn{Namespace: r.Namespace}
	for _, d := range r.Depends {
		c.Depends = append(c.Depends, task.TxnDepend{ID: d.ID, Rev: d.Rev, Token: d.Token})
	}
	for i := range r.Submit {
		s, err := f.submitOf(&r.Submit[i])
		if e, ok := errors.AsType[*api.Error](err); ok {
			e.Field = fmt.Sprintf("submit[%d].%s", i, e.Field)
			return c, e
		}
		c.Submits = append(c.Submits, s)
	}
	for i := range r.Update {
		u, err := f.updateOf(r.Namespace, &r.Update[i])
		if e, ok := errors.AsType[*api.Error](err); ok {
			e.Field = fmt.Sprintf("update[%d].%s", i, e.Field)
			return c, e
		}
		c.Updates = append(c.Updates, u)
	}
	for i := range r.Finish {
		end, err := f.finishOf(&r.Finish[i])
		if e, ok := errors.AsType[*api.Error](err); ok {
			e.Field = fmt.Sprintf("finish[%d].%s", i, e.Field)
			return c, e
		}
		c.Finishes = append(c.Finishes, end)
	}
	for _, d := range r.Delete {
		c.Deletes = append(c.Deletes, task.TxnDelete{ID: d.ID, Rev: d.Rev})
	}
	return c, nil
}

func (f *Fake) updateOf(namespace string, u *api.TxnUpdate) (c task.TxnUpdate, err error) {
	c = task.TxnUpdate{ID: u.ID, Rev: u.Rev, Labels: labelsOf(u.Labels), HasLabels: u.Labels != nil}
	if u.NotBefore != nil {
		c.NotBefore = new(timeOf(u.NotBefore))
	}
	if u.Delay != nil {
		c.Delay = new(millisOf(u.Delay))
	}
	if u.Deadline != nil {
		c.Deadline = new(timeOf(u.Deadline))
	}
	if u.Priority != nil {
		c.Priority = new(int8(*u.Priority))
	}
	if u.Params == nil && u.ParamsBase64 == nil {
		return c, nil
	}
	params, err := f.whole("params", payload(u.Params, u.ParamsBase64))
	if err != nil {
		return c, err
	}
	if t := f.machine.Task(task.Key{Namespace: namespace, ID: u.ID}); t != nil {
		if b := f.machine.Behavior(t.Namespace, t.Behavior); b != nil {
			v, _ := b.Find("")
			c.BehaviorRev, c.ConcurrencyKey = b.Rev, keyOf(&v.Policy, params)
		}
	}
	params, err = f.packed(params)
	c.Params = &params
	return c, err
}
