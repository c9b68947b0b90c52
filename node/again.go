package node

import (
	"context"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// Retry implements api.Service (SPEC T1, B2).
func (n *Node) Retry(ctx context.Context, r api.RetryRequest) (*api.Task, error) {
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
	res, err := n.proposeOne(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return n.submitReply(&res).Task, nil
}

// Resubmit implements api.Service (SPEC I3, J5).
func (n *Node) Resubmit(ctx context.Context, r api.ResubmitRequest) (*api.SubmitReply, error) {
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
	res, err := n.proposeValid(ctx, func() (task.Command, error) {
		cmd := submitOf(&asked)
		cmd.Existing = true
		if cmd.HasParams {
			p, err := n.existingParams(ctx, key, cmd.Params)
			if err != nil {
				return nil, err
			}
			cmd.Behavior, cmd.BehaviorRev, cmd.ConcurrencyKey = p.behavior, p.rev, p.key
		}
		return cmd, nil
	})
	if err != nil {
		return nil, err
	}
	return n.submitReply(&res), nil
}

// checkedParams are new params of a task that exists, checked against its behavior.
type checkedParams struct {
	behavior string
	rev      uint64
	key      string // SPEC L11
}

// existingParams checks new params of a task. Without them a behavior that is gone is no reason to refuse (SPEC I5);
// with them it is: nobody can say whether they are right.
func (n *Node) existingParams(ctx context.Context, key task.Key, p task.Payload) (checkedParams, error) {
	t, err := n.existing(ctx, key)
	if err != nil {
		return checkedParams{}, err
	}
	b, err := n.behavior(ctx, key.Namespace, t.Behavior)
	if err != nil {
		return checkedParams{}, err
	}
	v, ok := b.Find("")
	if !ok {
		return checkedParams{}, api.NewError(api.CodeBehaviorNotFound, "%s has no active version", t.Behavior)
	}
	k, err := n.checkParams(b, v, p)
	return checkedParams{b.Name, b.Rev, k}, err
}

// existing finds a task; only a linearizable read makes it a 404 (SPEC W4).
func (n *Node) existing(ctx context.Context, key task.Key) (*task.Task, error) {
	var t *task.Task
	n.store.Local(func(m *task.Machine) { t = m.Task(key) })
	if t != nil {
		return t, nil
	}
	missing := error(nil)
	err := n.read(ctx, readOptions{}, func(m *task.Machine) {
		if t = m.Task(key); t == nil {
			missing = notFound(m, key)
		}
	})
	return t, firstError(err, missing)
}
