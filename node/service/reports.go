package service

import (
	"context"
	"slices"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/task"
)

// External workers report here (SPEC J3, J4). Any node takes a report; the machine decides by the token (SPEC L3).

// reports checks what workers report before it is proposed. One value serves the reports of one request.
type reports struct{ looks }

// leased returns the task and its version if token is the task's current one, as far as this node knows after asking
// the cluster. If not, nothing is left to check: the machine answers, with halt or with what it answered before.
func (c *reports) leased(ctx context.Context, key task.Key, token uint64) (t *task.Task, v *task.Version, err error) {
	look := func(m *task.Machine) {
		if t = m.Task(key); t == nil || t.Lease == nil || t.Lease.Token != token {
			t = nil
			return
		}
		v = m.Version(t.Namespace, t.Behavior, t.Version)
	}
	if c.svc.store.Local(look); t == nil && !c.fresh {
		err = c.svc.read(ctx, readOptions{}, look)
		c.fresh = err == nil
	}
	if v == nil {
		t = nil
	}
	return t, v, err
}

// Heartbeat implements api.Service. This node's state, which has the heartbeat, tells what remains of the lease: so no
// clocks of two machines are compared.
func (svc *Service) Heartbeat(ctx context.Context, r api.HeartbeatRequest) (*api.HeartbeatReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	cmd := task.Beat{Key: task.Key{Namespace: r.Namespace, ID: r.ID}, Token: r.Token, Seq: r.Seq, External: true}
	if r.Progress != nil {
		cmd.Progress = new(payloadOf(r.Progress, nil))
	}
	if r.Extend != nil {
		cmd.Extend = delayMillis(*r.Extend)
	}
	check := reports{looks{svc: svc}}
	res, err := svc.proposeValid(ctx, func() (_ task.Command, err error) {
		cmd.Checkpoint, err = check.checkpoint(ctx, cmd.Key, r.Token, payloadOf(r.Checkpoint, r.CheckpointBase64))
		return cmd, err
	})
	if err != nil {
		return nil, err
	}
	if err := svc.catchUpTo(ctx, res.Index); err != nil {
		return nil, err
	}
	reply := &api.HeartbeatReply{Resubmit: res.Task.Resubmit != 0, Cancel: res.Task.CancelCode != ""}
	svc.store.Local(func(m *task.Machine) {
		if l := view.Of(m).Lease(res.Task); l != nil && l.LostNotBefore != nil {
			reply.LeaseMS, reply.LostNotBefore = l.LeaseMS, *l.LostNotBefore
		}
	})
	return reply, nil
}

// whole is contents.whole, checked again by what the cluster knows.
func (c *reports) whole(ctx context.Context, room *contents, field string, p task.Payload) (whole task.Payload, err error) {
	err = c.twice(ctx, func() (err error) {
		whole, err = room.whole(ctx, field, p)
		return err
	})
	return whole, err
}

// checkpoint checks a checkpoint against the behavior's limit and packs it. It returns nil if there is none.
func (c *reports) checkpoint(ctx context.Context, key task.Key, token uint64, p task.Payload) (*task.Payload, error) {
	if p.Encoding == task.None {
		return nil, nil
	}
	room := c.svc.contents()
	defer room.release()
	t, v, err := c.leased(ctx, key, token)
	if err != nil {
		return nil, err
	}
	if p, err = c.whole(ctx, room, "checkpoint", p); err != nil {
		return nil, err
	}
	if t != nil {
		if size, limit := int64(len(p.Data)), v.Policy.Limits.CheckpointBytes; limit > 0 && size > limit {
			return nil, api.LimitError("checkpoint", limit, "%d bytes, behavior %s takes at most %d", size, t.Behavior, limit)
		}
	}
	p, err = c.svc.packed(ctx, p)
	return &p, err
}

// Finish implements api.Service.
func (svc *Service) Finish(ctx context.Context, r api.FinishRequest) (*api.FinishReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	check := reports{looks{svc: svc}}
	res, err := svc.proposeValid(ctx, func() (task.Command, error) { return check.finishOf(ctx, &r) })
	if err != nil {
		return nil, err
	}
	var reply *api.FinishReply
	svc.store.Local(func(m *task.Machine) { reply = finishReply(view.Of(m), &res, r.Minimal) })
	return reply, nil
}

func finishReply(v view.State, r *task.Result, minimal bool) *api.FinishReply {
	if minimal {
		t := new(api.Task)
		view.Minimal(t, r.Task)
		return &api.FinishReply{Task: t, Repeated: r.Repeated}
	}
	return &api.FinishReply{Task: v.Task(r.Task), Repeated: r.Repeated}
}

// finishOf makes the command of a finish over HTTP. A result that the behavior does not take is refused, and the
// attempt goes on.
func (c *reports) finishOf(ctx context.Context, r *api.FinishRequest) (f task.Finish, err error) {
	f = task.Finish{
		Key: task.Key{Namespace: r.Namespace, ID: r.ID}, Token: r.Token, Seq: r.Seq,
		Result: payloadOf(r.Result, r.ResultBase64), Again: timeValue(r.AgainAt), External: true,
	}
	if e := r.Error; e != nil {
		f.Error = &task.Error{Code: e.Code, Message: e.Message, Retryable: e.Retryable == nil || *e.Retryable, Details: payloadOf(e.Details, nil)}
	}
	if r.Progress != nil {
		f.Progress = new(payloadOf(r.Progress, nil))
	}
	room := c.svc.contents()
	defer room.release()
	if f.Result, err = c.whole(ctx, room, "result", f.Result); err != nil {
		return f, err
	}
	if err = c.checkFinish(ctx, &f); err == nil {
		f.Result, err = c.svc.packed(ctx, f.Result)
	}
	return f, err
}

// checkFinish checks an outcome against the limits and the schema of the version that runs. Without a result the last
// progress is the result (SPEC J4) and is checked as a result.
func (c *reports) checkFinish(ctx context.Context, f *task.Finish) error {
	t, v, err := c.leased(ctx, f.Key, f.Token)
	if t == nil || err != nil {
		return err
	}
	p := &v.Policy
	tooLarge := func(field string, size int) error {
		if limit := p.Limits.ResultBytes; limit > 0 && int64(size) > limit {
			return api.LimitError(field, limit, "%d bytes, behavior %s takes at most %d", size, t.Behavior, limit)
		}
		return nil
	}
	if f.Error != nil {
		return tooLarge("error.details", len(f.Error.Details.Data))
	}
	result := f.Result
	if result.Encoding == task.None && f.Progress != nil {
		result = *f.Progress
	} else if result.Encoding == task.None {
		// The progress may have come through another node a moment ago.
		if t, err = c.progressed(ctx, t, p); t == nil || err != nil {
			return err
		}
		result = t.Progress
	}
	if result.Encoding == task.None && p.ResultRequired {
		return api.FieldError(api.CodeResultSchema, "result", "behavior %s requires a result", t.Behavior)
	}
	if err := tooLarge("result", len(result.Data)); err != nil {
		return err
	}
	return c.svc.schemas.Result(ctx, p.ResultSchema, result)
}

// progressed returns the task with the progress that its finish is about. If anything is to be checked it asks the
// cluster first: the progress may have come through another node, and this node may be behind. It returns nil if the
// lease is gone.
func (c *reports) progressed(ctx context.Context, t *task.Task, p *task.Policy) (*task.Task, error) {
	if c.fresh || !p.ResultRequired && len(p.ResultSchema) == 0 {
		return t, nil
	}
	token := t.Lease.Token
	err := c.svc.read(ctx, readOptions{}, func(m *task.Machine) {
		if t = m.Task(t.Key()); t != nil && (t.Lease == nil || t.Lease.Token != token) {
			t = nil
		}
	})
	c.fresh = err == nil
	return t, err
}

// Snooze implements api.Service.
func (svc *Service) Snooze(ctx context.Context, r api.SnoozeRequest) (*api.Task, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	cmd := task.Snooze{
		Key: task.Key{Namespace: r.Namespace, ID: r.ID}, Token: r.Token, Seq: r.Seq, At: timeValue(r.AgainAt), External: true,
	}
	if r.Progress != nil {
		cmd.Progress = new(payloadOf(r.Progress, nil))
	}
	check := reports{looks{svc: svc}}
	res, err := svc.proposeValid(ctx, func() (_ task.Command, err error) {
		cmd.Checkpoint, err = check.checkpoint(ctx, cmd.Key, r.Token, payloadOf(r.Checkpoint, r.CheckpointBase64))
		return cmd, err
	})
	if err != nil {
		return nil, err
	}
	var t *api.Task
	svc.store.Local(func(m *task.Machine) { t = view.Of(m).Task(res.Task) })
	return t, nil
}

// FinishMany implements api.Service. What is wrong with one report is that report's own answer; the others are
// reported. Reports whose blobs were deleted in between are checked and proposed again, without the others.
func (svc *Service) FinishMany(ctx context.Context, rs []api.FinishRequest) ([]api.FinishResult, error) {
	if err := api.CheckReports(rs); err != nil {
		return nil, err
	}
	f := finishes{svc: svc, rs: slices.Clone(rs), out: make([]api.FinishResult, len(rs))}
	seen := map[[2]string]int{}
	for i := range f.rs {
		if f.rs[i].Refused != nil {
			f.out[i].Error = f.rs[i].Refused
			continue
		}
		if f.out[i].Error = api.CheckReport(&f.rs[i], i, seen); f.out[i].Error == nil {
			f.todo = append(f.todo, i)
		}
	}
	for round := 0; len(f.todo) > 0; round++ {
		err := errKeepsChanging()
		if round < maxRounds {
			err = f.round(ctx, round == 0)
		}
		switch {
		case err != nil && round == 0:
			return nil, err
		case err != nil: // others were reported, so the request has an answer
			for _, i := range f.todo {
				f.out[i].Error = view.Error(err)
			}
			f.todo = nil
		}
	}
	return f.out, nil
}

// finishes is a FinishMany under way.
type finishes struct {
	svc  *Service
	rs   []api.FinishRequest
	out  []api.FinishResult
	todo []int // reports that have no answer yet
}

// round checks and proposes the reports that have no answer. In the first round, an error that no report is to blame
// for is the error of the whole request: nothing was done, and all of it can be sent again.
func (f *finishes) round(ctx context.Context, first bool) error {
	cmds := make([]task.Command, len(f.rs)) // nil: not proposed, but keeps its place
	check := reports{looks{svc: f.svc}}
	var proposed []int
	for _, i := range f.todo {
		cmd, err := check.finishOf(ctx, &f.rs[i])
		if err == nil {
			cmds[i], proposed = cmd, append(proposed, i)
			continue
		}
		if f.out[i].Error = view.Error(err); first && f.out[i].Error.Status >= 500 {
			return f.out[i].Error
		}
	}
	if f.todo = proposed; len(proposed) == 0 {
		return nil
	}
	results, err := f.svc.propose(ctx, cmds...)
	if err != nil {
		return err
	}
	f.todo = nil
	f.svc.store.Local(func(m *task.Machine) {
		for _, i := range proposed {
			r := &results[i]
			if view.CheckAgain(r.Code) {
				f.todo = append(f.todo, i)
				continue
			}
			if f.out[i].Error = view.Refusal(r); f.out[i].Error == nil {
				f.out[i].FinishReply = finishReply(view.Of(m), r, f.rs[i].Minimal)
			}
		}
	})
	if len(f.todo) > 0 {
		return f.svc.catchUp(ctx)
	}
	return nil
}
