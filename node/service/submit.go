package service

import (
	"bufio"
	"context"
	"crypto/rand"
	"slices"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/task"
)

// Submit implements api.Service.
func (svc *Service) Submit(ctx context.Context, r api.SubmitRequest) (*api.SubmitReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	c := checks{looks: looks{svc: svc}}
	res, err := svc.proposeValid(ctx, func() (task.Command, error) {
		c.anew()
		return c.prepare(ctx, &r)
	})
	if err != nil {
		return nil, err
	}
	svc.compareParams(ctx, &res, &r)
	reply := svc.submitReply(&res, r.Minimal && r.Wait == 0)
	if r.Wait > 0 {
		o := api.GetOptions{Wait: r.Wait}
		if _, keyed := api.OnceOf(ctx); !keyed {
			// What was acknowledged before the request came stands in the log before the submit. So a caller that has the submit need ask no node.
			// (Under a key the answer may be that of a former request.)
			o.Stale, o.MinIndex = true, res.Index
		}
		err = reply.AwaitSubmitted(ctx, svc, o)
	}
	if err != nil {
		return nil, err
	}
	return reply, nil
}

func (svc *Service) submitReply(r *task.Result, minimal bool) *api.SubmitReply {
	answer := new(taskReply)
	svc.fillReply(answer, r, minimal)
	return &answer.reply
}

// taskReply is a reply and its task in one piece.
type taskReply struct {
	reply api.SubmitReply
	task  api.Task
}

// fillReply makes the answer to a submit. For most tasks the record alone is enough, and the answer does not wait for
// the machine.
func (svc *Service) fillReply(answer *taskReply, r *task.Result, minimal bool) {
	answer.reply = api.SubmitReply{Task: &answer.task, Outcome: r.Outcome.String()}
	if r.Task == nil {
		answer.reply.Task = nil
		return
	}
	if minimal {
		view.Minimal(&answer.task, r.Task)
		return
	}
	if r.Task.Lease == nil && r.Task.Role == task.RoleNone && r.Task.Creator == 0 {
		view.State{}.Fill(&answer.task, r.Task)
		return
	}
	svc.store.Local(func(m *task.Machine) { view.Of(m).Fill(&answer.task, r.Task) })
}

// SubmitBatch implements api.Service. What is wrong with one task is that task's own answer; the others are submitted.
// Tasks whose behavior or blobs were changed in between are checked and proposed again, without the others.
func (svc *Service) SubmitBatch(ctx context.Context, rs []api.SubmitRequest) ([]api.SubmitResult, error) {
	if err := api.CheckBatch(rs); err != nil {
		return nil, err
	}
	var wrong []*api.Error // nil: nothing is
	for i := range rs {
		if err := rs[i].Check(); err != nil {
			if wrong == nil {
				wrong = make([]*api.Error, len(rs))
			}
			wrong[i] = view.Error(err)
		}
	}
	if wrong == nil {
		return svc.submitRight(ctx, rs)
	}
	return svc.submitOthers(ctx, rs, wrong)
}

// submitOthers is SubmitBatch for a batch in which some tasks are wrong by themselves. An idempotency key counts places
// without these tasks.
func (svc *Service) submitOthers(ctx context.Context, rs []api.SubmitRequest, wrong []*api.Error) ([]api.SubmitResult, error) {
	var right []api.SubmitRequest
	for i := range rs {
		if wrong[i] == nil {
			right = append(right, rs[i])
		}
	}
	answers, err := svc.submitRight(ctx, right)
	if err != nil {
		return nil, err
	}
	out := make([]api.SubmitResult, len(rs))
	for i := range out {
		if out[i].Error = wrong[i]; wrong[i] == nil {
			out[i], answers = answers[0], answers[1:]
		}
	}
	return out, nil
}

// submitRight is SubmitBatch for tasks that are all right by themselves.
func (svc *Service) submitRight(ctx context.Context, rs []api.SubmitRequest) ([]api.SubmitResult, error) {
	b := batch{
		checks: checks{looks: looks{svc: svc}, random: bufio.NewReader(rand.Reader)}, rs: rs, todo: make([]int, 0, len(rs)),
		out: make([]api.SubmitResult, len(rs)), cmds: make([]task.Command, len(rs)), replies: make([]taskReply, len(rs)),
	}
	for i := range rs {
		if b.out[i].Error = rs[i].Refused; rs[i].Refused == nil {
			b.todo = append(b.todo, i)
		}
	}
	for round := 0; len(b.todo) > 0; round++ {
		err := errKeepsChanging()
		if round < maxRounds {
			err = b.round(ctx, round == 0)
		}
		switch {
		case err != nil && round == 0:
			return nil, err
		case err != nil: // others of the batch were submitted, so the request has an answer
			b.fail(view.Error(err))
		}
	}
	return b.out, nil
}

// batch is a SubmitBatch under way.
type batch struct {
	checks
	rs      []api.SubmitRequest
	out     []api.SubmitResult
	replies []taskReply    // what out points to
	cmds    []task.Command // of this round, nil if answered; an idempotency key knows a task by its place here
	todo    []int          // tasks that have no answer yet
}

func (b *batch) fail(e *api.Error) {
	for _, i := range b.todo {
		b.out[i].Error = e
	}
	b.todo = nil
}

// round checks and proposes the tasks that have no answer. In the first round, an error that no task is to blame for is
// the error of the whole batch: nothing was done, and all of it can be sent again.
func (b *batch) round(ctx context.Context, first bool) error {
	left := false
	b.anew() // what passed in an earlier round either counts in the state, or is made anew
	for _, i := range b.todo {
		b.cmds[i] = nil
		cmd, err := b.prepare(ctx, &b.rs[i])
		if err != nil {
			if r, ok := b.svc.kept(ctx, i); ok {
				b.answer(ctx, i, &r)
				continue
			}
			if b.out[i].Error = view.Error(err); first && b.out[i].Error.Status >= 500 {
				return b.out[i].Error
			}
			continue
		}
		b.cmds[i], left = cmd, true
	}
	if !left {
		b.todo = nil
		return nil
	}
	results, err := b.svc.propose(ctx, b.cmds...)
	if err != nil {
		b.todo = slices.DeleteFunc(b.todo, func(i int) bool { return b.cmds[i] == nil })
		return err
	}
	var again []int
	for _, i := range b.todo {
		switch r := &results[i]; {
		case b.cmds[i] == nil:
		case view.CheckAgain(r.Code):
			again = append(again, i)
			continue
		default:
			b.answer(ctx, i, r)
		}
		b.cmds[i] = nil
	}
	if b.todo = again; len(again) > 0 {
		if err := b.svc.catchUp(ctx); err != nil {
			b.fail(view.Error(err))
		}
	}
	return nil
}

func (b *batch) answer(ctx context.Context, i int, r *task.Result) {
	if b.out[i].Error = view.Refusal(r); b.out[i].Error == nil {
		b.svc.compareParams(ctx, r, &b.rs[i])
		b.svc.fillReply(&b.replies[i], r, b.rs[i].Minimal)
		b.out[i].SubmitReply = &b.replies[i].reply
	}
}
