package node

import (
	"context"

	"github.com/google/uuid"
	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// Submit implements api.Service.
func (n *Node) Submit(ctx context.Context, r api.SubmitRequest) (*api.SubmitReply, error) {
	cmd, err := n.prepare(ctx, &r)
	if err != nil {
		return nil, err
	}
	res, err := n.proposeOne(ctx, cmd)
	if err != nil {
		return nil, err
	}
	var reply *api.SubmitReply
	n.store.Local(func(m *task.Machine) { reply = submitReply(view{m}, &res) })
	return reply, nil
}

// SubmitBatch implements api.Service: what is wrong with one task is its own answer, the others are submitted.
func (n *Node) SubmitBatch(ctx context.Context, rs []api.SubmitRequest) ([]api.SubmitResult, error) {
	if err := api.CheckBatch(rs); err != nil {
		return nil, err
	}
	out := make([]api.SubmitResult, len(rs))
	var cmds []task.Command
	var at []int // the request that each command comes from
	for i := range rs {
		cmd, err := n.prepare(ctx, &rs[i])
		if err != nil {
			if out[i].Error = asError(err); out[i].Error.Status >= 500 {
				return nil, out[i].Error // nothing was proposed yet: the whole batch can be sent again
			}
			continue
		}
		cmds, at = append(cmds, cmd), append(at, i)
	}
	if len(cmds) == 0 {
		return out, nil
	}
	results, err := n.store.Propose(ctx, cmds...)
	if err != nil {
		return nil, storeError(err, true)
	}
	n.store.Local(func(m *task.Machine) {
		for j := range results {
			r, i := &results[j], at[j]
			api.SetIndex(ctx, r.Index)
			if e := resultError(r); e != nil {
				out[i].Error = e
				continue
			}
			out[i].SubmitReply = submitReply(view{m}, r)
		}
	})
	return out, nil
}

func submitReply(v view, r *task.Result) *api.SubmitReply {
	return &api.SubmitReply{Task: v.task(r.Task), Outcome: r.Outcome.String()}
}

// prepare checks a request against everything that can be known before proposing, and draws the ID (SPEC I1, I2).
func (n *Node) prepare(ctx context.Context, r *api.SubmitRequest) (task.Submit, error) {
	if err := r.Check(); err != nil {
		return task.Submit{}, err
	}
	b, err := n.behavior(ctx, r.Namespace, r.Behavior)
	if err != nil {
		return task.Submit{}, err
	}
	v, ok := b.Find("")
	if !ok {
		return task.Submit{}, api.FieldError(api.CodeBehaviorNotFound, "behavior", "%s has no active version", r.Behavior)
	}
	cmd := task.Submit{
		Namespace: r.Namespace, ID: r.ID, Behavior: r.Behavior,
		Params: payloadOf(r.Params, r.ParamsBase64), IfExists: ifExists(r.IfExists),
		Labels: labelsOf(r.Labels), Priority: 4,
		HasParams: r.Params != nil || r.ParamsBase64 != nil,
	}
	if size, limit := int64(len(cmd.Params.Data)), v.Policy.Limits.ParamsBytes; limit > 0 && size > limit {
		return task.Submit{}, api.LimitError("params", limit, "%d bytes, behavior %s takes at most %d", size, r.Behavior, limit)
	}
	id := schemaID{r.Namespace, r.Behavior, v.Version}
	if err := n.schemas.check(id, v.Policy.ParamsSchema, cmd.Params); err != nil {
		return task.Submit{}, err
	}
	if r.NotBefore != nil {
		cmd.NotBefore = task.Time(r.NotBefore.UnixMilli())
	}
	if r.Delay != nil {
		cmd.Delay = delayMillis(*r.Delay)
	}
	if r.Deadline != nil {
		cmd.Deadline = task.Time(r.Deadline.UnixMilli())
	}
	if r.Priority != nil {
		cmd.Priority = int8(*r.Priority)
	}
	if cmd.ID == "" {
		cmd.ID, err = drawID(&cmd, &v.Policy)
	}
	return cmd, err
}

// delayMillis rounds up: a task never starts earlier than asked (SPEC R1).
func delayMillis(d api.Duration) task.Millis {
	ms := task.Millis(d / 1_000_000)
	if d%1_000_000 != 0 {
		ms++
	}
	return ms
}

// drawID chooses the ID of a task whose submitter gave none, before it is proposed, so that sending again is the same.
func drawID(cmd *task.Submit, p *task.Policy) (string, error) {
	switch p.IDStrategy {
	case task.IDCaller:
		return "", api.FieldError(api.CodeInvalidField, "id", "behavior %s wants an ID from the caller", cmd.Behavior)
	case task.IDParams:
		canonical, err := canonicalParams(cmd.Params, p.IDFrom)
		if err != nil {
			return "", err
		}
		return task.DeterministicID(cmd.Namespace, cmd.Behavior, canonical), nil
	}
	id, err := uuid.NewV7()
	if err != nil {
		return "", api.NewError(api.CodeInternal, "draw an ID: %v", err)
	}
	return id.String(), nil
}

func ifExists(s string) task.IfExists {
	switch s {
	case "fail":
		return task.Fail
	case "rerun":
		return task.Rerun
	case "resubmit":
		return task.Resubmit
	}
	return task.Join
}

// behavior finds a behavior. One that this node does not know may have been pushed through another a moment ago: only a
// linearizable read makes it a 404 (SPEC W4, I5).
func (n *Node) behavior(ctx context.Context, namespace, name string) (*task.Behavior, error) {
	var b *task.Behavior
	n.store.Local(func(m *task.Machine) { b = m.Behavior(namespace, name) })
	if b != nil {
		return b, nil
	}
	known := false
	err := n.read(ctx, readOptions{}, func(m *task.Machine) {
		b, known = m.Behavior(namespace, name), m.NamespaceExists(namespace)
	})
	switch {
	case err != nil:
		return nil, err
	case !known:
		return nil, api.FieldError(string(task.NamespaceNotFound), "namespace", "no namespace %s", namespace)
	case b == nil:
		return nil, api.FieldError(api.CodeBehaviorNotFound, "behavior", "no behavior %s", name)
	}
	return b, nil
}
