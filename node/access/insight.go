package access

import (
	"context"

	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/insight"
	"github.com/taskrt/taskrt/task/access"
)

// explained is an Insight that asks for roles (SPEC A5).
type explained struct {
	*guard
	to insight.Insight
}

// GuardInsight returns an Insight that tells callers what their roles allow.
func (g *Gate) GuardInsight(x insight.Insight, look Looks) insight.Insight {
	return explained{&guard{gate: g, look: look}, x}
}

// Failures implements insight.Insight. Who may see tasks of some behaviors only sees the failures of these. Who may see only tasks that it
// created sees no groups.
func (x explained) Failures(ctx context.Context, r insight.FailuresRequest) (*insight.FailuresReply, error) {
	if p, namespace := auth.PrincipalOf(ctx), orDefault(r.Namespace); p != nil && !p.Grant.Whole(access.Read, namespace) {
		r.Sight = func(behavior string) bool { return p.Grant.Allows(access.Read, namespace, behavior) }
	}
	return read(ctx, x.guard, in(ctx, auth.Namespace, access.Read, r.Namespace, ""), func() (*insight.FailuresReply, error) { return x.to.Failures(ctx, r) })
}

// Why implements insight.Insight. Who may see the task, but not all of its behavior or namespace, is not told which others hold what it waits for.
func (x explained) Why(ctx context.Context, namespace, id string) (*insight.WhyReply, error) {
	see := func() error { return x.check(ctx, Records.Task, access.Read, namespace, id) }
	r, err := visible(ctx, x.guard, see, func(ctx context.Context) (*insight.WhyReply, error) { return x.to.Why(ctx, namespace, id) })
	p := auth.PrincipalOf(ctx)
	if err != nil || p == nil {
		return r, err
	}
	if everywhereRead.Check(p, "", "") != nil { // what goes wrong on a worker names nodes and files
		for i := range r.Reasons {
			for j := range r.Reasons[i].Preparing {
				r.Reasons[i].Preparing[j].Error = ""
			}
		}
	}
	if p.Grant.Whole(access.Read, orDefault(namespace)) {
		return r, nil
	}
	for i := range r.Reasons {
		if x := &r.Reasons[i]; x.Code == insight.SpaceLimit || !p.Grant.Allows(access.Read, r.Namespace, r.Behavior) {
			x.By = nil
		}
	}
	return r, nil
}
