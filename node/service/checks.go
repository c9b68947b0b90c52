package service

import (
	"cmp"
	"context"
	"crypto/rand"
	"io"

	"github.com/google/uuid"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/spaces"
	"github.com/taskrt/taskrt/api/tracing"
	"github.com/taskrt/taskrt/node/identity"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/names"
)

// checks looks at the parts of one request before they are proposed. This node's state may be behind: a behavior, or a
// version that takes other params, may have been activated through another node a moment ago. So what this state
// refuses is looked at again after asking the cluster, once for all parts of the request (SPEC W4).
type checks struct {
	looks
	submits map[string]int64 // by namespace that limits its rate: the submits of this request that have passed
	origin  []byte           // JSON from which an ID is computed if neither submitter nor behavior makes it; nil: such IDs are random
	random  io.Reader        // source of random IDs; nil: the system's, read for each ID
	last    found            // what was looked up last: most tasks of a request have one behavior
}

// found is what this node's state knows about a behavior that submits name.
type found struct {
	namespace, name string
	behavior        *task.Behavior // nil: nothing was looked up
	version         *task.Version  // the active one
	rated           bool           // the namespace limits submits per second
}

// anew forgets what was found and counted: a request, or a round of one, begins by this node's state as it is now.
func (c *checks) anew() { c.submits, c.last = nil, found{} }

// active is Service.active, looked up once for parts of one behavior that follow each other.
func (c *checks) active(namespace, name string) (*found, error) {
	if c.last.behavior != nil && c.last.namespace == namespace && c.last.name == name {
		return &c.last, nil
	}
	b, v, err := c.svc.active(namespace, name)
	if err != nil {
		return nil, err
	}
	c.last = found{namespace: namespace, name: name, behavior: b, version: v}
	c.svc.store.Local(func(m *task.Machine) {
		if space := m.Namespace(namespace); space != nil {
			c.last.rated = space.Quota.SubmitsPerSecond > 0
		}
	})
	return &c.last, nil
}

// looks are the looks of one request at this node's state. They ask the cluster at most once.
type looks struct {
	svc   *Service
	fresh bool // this node has caught up since the request came
}

// twice checks by this node's state. What is refused is checked again by what the cluster knows.
func (c *looks) twice(ctx context.Context, check func() error) error {
	err := check()
	if err == nil || c.fresh {
		return err
	}
	if err := c.refresh(ctx); err != nil {
		return err
	}
	return check()
}

// refresh catches up with the cluster.
func (c *looks) refresh(ctx context.Context) error {
	err := c.svc.catchUp(ctx)
	c.fresh = err == nil
	return err
}

// prepare checks a request that is right by itself against everything that can be known before proposing, and draws the
// ID if it has none (SPEC I1, I2).
func (c *checks) prepare(ctx context.Context, r *api.SubmitRequest) (cmd task.Submit, err error) {
	room := c.svc.contents()
	defer room.release()
	cmd, err = c.submitNow(ctx, r, room)
	if err != nil && !c.fresh { // as twice does, but a request that passes allocates nothing for it
		if err := c.refresh(ctx); err != nil {
			return cmd, err
		}
		c.last = found{}
		cmd, err = c.submitNow(ctx, r, room)
	}
	if err == nil && c.last.rated {
		err = c.rate(&cmd)
	}
	if err == nil {
		cmd.Params, err = c.svc.packed(ctx, cmd.Params)
	}
	return cmd, err
}

// submitNow makes the command of a request that is right by itself, by the state that this node has. The params are
// whole.
func (c *checks) submitNow(ctx context.Context, r *api.SubmitRequest, room *contents) (task.Submit, error) {
	of, err := c.active(r.Namespace, r.Behavior)
	if err != nil {
		return task.Submit{}, err
	}
	cmd := submitOf(r)
	cmd.BehaviorRev, cmd.Trace = of.behavior.Rev, c.svc.traceOf(tracing.Own(ctx, r.Traceparent, r.Tracestate))
	if cmd.Params, err = room.whole(ctx, "params", cmd.Params); err != nil {
		return task.Submit{}, err
	}
	if cmd.ConcurrencyKey, err = c.svc.checkParams(ctx, of.behavior, of.version, cmd.Params); err != nil {
		return task.Submit{}, err
	}
	if cmd.ID == "" {
		cmd.ID, err = c.drawID(&cmd, &of.version.Policy)
	}
	return cmd, err
}

// submitOf makes the command of a request that has been checked.
func submitOf(r *api.SubmitRequest) task.Submit {
	cmd := task.Submit{
		Namespace: r.Namespace, ID: r.ID, Behavior: r.Behavior,
		Params: payloadOf(r.Params, r.ParamsBase64), IfExists: ifExists(r.IfExists),
		Labels: labelsOf(r.Labels), Priority: 4,
		HasParams: r.Params != nil || r.ParamsBase64 != nil,
		NotBefore: timeValue(r.NotBefore), Deadline: timeValue(r.Deadline),
	}
	if r.Delay != nil {
		cmd.Delay = delayMillis(*r.Delay)
	}
	if r.Priority != nil {
		cmd.Priority = int8(*r.Priority)
	}
	if cmd.IfExists >= task.Rerun { // both take labels and priority only if they are given
		cmd.HasLabels, cmd.HasPriority = r.Labels != nil, r.Priority != nil
	}
	return cmd
}

// checkParams checks params against the active version v of a behavior: its limit and its schema (SPEC B1). It returns
// the concurrency key of the params (SPEC L11).
func (svc *Service) checkParams(ctx context.Context, b *task.Behavior, v *task.Version, p task.Payload) (key string, err error) {
	if size, limit := int64(len(p.Data)), v.Policy.Limits.ParamsBytes; limit > 0 && size > limit {
		return "", api.LimitError("params", limit, "%d bytes, behavior %s takes at most %d", size, b.Name, limit)
	}
	if err := svc.schemas.Params(ctx, v.Policy.ParamsSchema, p); err != nil {
		return "", err
	}
	return identity.ConcurrencyKey(&v.Policy, p)
}

// drawID chooses the ID of a task whose submitter gave none. It does so before the proposal, so that sending it again
// is the same.
func (c *checks) drawID(cmd *task.Submit, p *task.Policy) (string, error) {
	switch p.IDStrategy {
	case task.IDCaller:
		return "", api.FieldError(api.CodeInvalidField, "id", "behavior %s wants an ID from the caller", cmd.Behavior)
	case task.IDParams:
		canonical, err := identity.Canonical(cmd.Params, p.IDFrom)
		if err != nil {
			return "", err
		}
		return names.OfParams(cmd.Namespace, cmd.Behavior, canonical), nil
	}
	if c.origin != nil {
		return names.OfParams(cmd.Namespace, cmd.Behavior, c.origin), nil
	}
	id, err := uuid.NewV7FromReader(cmp.Or(c.random, rand.Reader))
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

// active finds a behavior and its active version in this node's state, for a request that brings work or takes it.
func (svc *Service) active(namespace, name string) (b *task.Behavior, v *task.Version, err error) {
	svc.store.Local(func(m *task.Machine) { b, err = m.Behavior(namespace, name), spaces.Open(m, namespace) })
	switch {
	case err != nil:
		return nil, nil, err
	case b == nil:
		return nil, nil, api.FieldError(api.CodeBehaviorNotFound, "behavior", "no behavior %s", name)
	}
	v, ok := b.Find("")
	if !ok {
		return nil, nil, api.FieldError(api.CodeBehaviorNotFound, "behavior", "%s has no active version", name)
	}
	return b, v, nil
}
