package service

import (
	"context"
	"fmt"
	"math"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/task"
)

// Txn implements api.Service (SPEC X1). Every part is checked as a request of its own would be. What only the state can
// tell is decided where the command is applied, and all reasons are told at once.
func (svc *Service) Txn(ctx context.Context, r api.TxnRequest) (*api.TxnReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	c := checks{looks: looks{svc: svc}}
	res, err := svc.proposeValid(ctx, func() (task.Command, error) { return c.txnOf(ctx, &r) })
	if err != nil {
		return nil, err
	}
	reply := &api.TxnReply{Tasks: make([]*api.Task, len(res.Tasks))}
	svc.store.Local(func(m *task.Machine) {
		for i, t := range res.Tasks {
			reply.Tasks[i] = view.Of(m).Task(t)
			if t.Result.Encoding == task.None {
				reply.Tasks[i].Result = nil // not set by the transaction, so left out of the answer; null would be a result
			}
		}
	})
	return reply, nil
}

// txnOf makes the command of a request that has been checked.
func (c *checks) txnOf(ctx context.Context, r *api.TxnRequest) (task.Command, error) {
	cmd := task.Txn{Namespace: r.Namespace}
	c.anew()
	for _, d := range r.Depends {
		cmd.Depends = append(cmd.Depends, task.TxnDepend{ID: d.ID, Rev: d.Rev, Token: d.Token})
	}
	for i := range r.Submit {
		s := r.Submit[i]
		s.Namespace = r.Namespace
		part, err := c.prepare(ctx, &s)
		if err != nil {
			return nil, partError("submit", i, err)
		}
		cmd.Submits = append(cmd.Submits, part)
	}
	for i := range r.Update {
		part, err := c.txnUpdate(ctx, r.Namespace, &r.Update[i])
		if err != nil {
			return nil, partError("update", i, err)
		}
		cmd.Updates = append(cmd.Updates, part)
	}
	check := reports{looks{svc: c.svc}}
	for i := range r.Finish {
		f := r.Finish[i]
		f.Namespace = r.Namespace
		part, err := check.finishOf(ctx, &f)
		if err != nil {
			return nil, partError("finish", i, err)
		}
		cmd.Finishes = append(cmd.Finishes, part)
	}
	for _, d := range r.Delete {
		cmd.Deletes = append(cmd.Deletes, task.TxnDelete{ID: d.ID, Rev: d.Rev})
	}
	return cmd, nil
}

// partError names the part of a transaction that an error is about.
func partError(list string, i int, err error) error {
	e := *view.Error(err)
	at := fmt.Sprintf("%s[%d]", list, i)
	if e.Field == "" || e.Code == api.CodeQuotaExceeded { // then Field names the quota
		e.Detail = at + ": " + e.Detail
	} else {
		e.Field = at + "." + e.Field
	}
	return &e
}

// noSuchTask stands for the rev of a behavior in an update whose task this node does not have: there was nothing to
// check its params with. If the task is there when the transaction is applied, the update is checked and proposed
// again.
const noSuchTask = math.MaxUint64

func (c *checks) txnUpdate(ctx context.Context, namespace string, u *api.TxnUpdate) (task.TxnUpdate, error) {
	cmd := task.TxnUpdate{ID: u.ID, Rev: u.Rev, Labels: labelsOf(u.Labels), HasLabels: u.Labels != nil}
	if u.NotBefore != nil {
		cmd.NotBefore = new(timeValue(u.NotBefore))
	}
	if u.Delay != nil {
		cmd.Delay = new(delayMillis(*u.Delay))
	}
	if u.Deadline != nil {
		cmd.Deadline = new(timeValue(u.Deadline))
	}
	if u.Priority != nil {
		cmd.Priority = new(int8(*u.Priority))
	}
	if u.Params == nil && u.ParamsBase64 == nil {
		return cmd, nil
	}
	cmd.Params = new(payloadOf(u.Params, u.ParamsBase64))
	p, err := c.existingParams(ctx, task.Key{Namespace: namespace, ID: u.ID}, *cmd.Params)
	switch api.CodeOf(err) {
	case "":
		cmd.BehaviorRev, cmd.ConcurrencyKey, cmd.Params = p.rev, p.key, &p.params
		return cmd, nil
	case api.CodeTaskNotFound:
		cmd.BehaviorRev = noSuchTask
		return cmd, nil
	}
	return cmd, err
}
