package service

import (
	"context"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// Retry implements api.Service (SPEC T1, B2).
func (svc *Service) Retry(ctx context.Context, r api.RetryRequest) (*api.Task, error) {
	key, err := taskKey(r.Namespace, r.ID)
	if err != nil {
		return nil, err
	}
	if err := r.Check(); err != nil {
		return nil, err
	}
	cmd := task.RetryTask{
		Key: key, NotBefore: timeValue(r.NotBefore), Deadline: timeValue(r.Deadline),
		Version: r.Version, KeepCheckpoint: r.KeepCheckpoint,
	}
	if r.Delay != nil {
		cmd.Delay = delayMillis(*r.Delay)
	}
	res, err := svc.proposeOne(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return svc.submitReply(&res, false).Task, nil
}

// Resubmit implements api.Service (SPEC I3, J5).
func (svc *Service) Resubmit(ctx context.Context, r api.ResubmitRequest) (*api.SubmitReply, error) {
	key, err := taskKey(r.Namespace, r.ID)
	if err != nil {
		return nil, err
	}
	if err := r.Check(); err != nil {
		return nil, err
	}
	asked := api.SubmitRequest{
		Namespace: key.Namespace, ID: key.ID, IfExists: "resubmit",
		NotBefore: r.NotBefore, Delay: r.Delay, Deadline: r.Deadline, Params: r.Params, ParamsBase64: r.ParamsBase64,
	}
	c := checks{looks: looks{svc: svc}}
	res, err := svc.proposeValid(ctx, func() (task.Command, error) {
		cmd := submitOf(&asked)
		cmd.Existing, cmd.Trace = true, svc.traceOf(ctx)
		if cmd.HasParams {
			p, err := c.existingParams(ctx, key, cmd.Params)
			if err != nil {
				return nil, err
			}
			cmd.Behavior, cmd.BehaviorRev, cmd.ConcurrencyKey, cmd.Params = p.behavior, p.rev, p.key, p.params
		}
		return cmd, nil
	})
	if err != nil {
		return nil, err
	}
	svc.compareParams(ctx, &res, &asked)
	return svc.submitReply(&res, false), nil
}

// checkedParams are new params of an existing task after a check against its behavior.
type checkedParams struct {
	behavior string
	rev      uint64
	key      string       // SPEC L11
	params   task.Payload // packed
}

// existingParams checks new params of a task against its behavior, and packs them.
func (c *checks) existingParams(ctx context.Context, key task.Key, p task.Payload) (checked checkedParams, err error) {
	room := c.svc.contents()
	defer room.release()
	err = c.twice(ctx, func() error {
		var t *task.Task
		missing := error(nil)
		c.svc.store.Local(func(m *task.Machine) {
			if t = m.Task(key); t == nil {
				missing = notFound(m, key)
			}
		})
		if t == nil {
			return missing
		}
		b, v, err := c.svc.active(key.Namespace, t.Behavior)
		if err != nil {
			return err
		}
		whole, err := room.whole(ctx, "params", p)
		if err != nil {
			return err
		}
		k, err := c.svc.checkParams(ctx, b, v, whole)
		checked = checkedParams{b.Name, b.Rev, k, whole}
		return err
	})
	if err == nil {
		checked.params, err = c.svc.packed(ctx, checked.params)
	}
	return checked, err
}
