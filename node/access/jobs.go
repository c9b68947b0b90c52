package access

import (
	"context"
	"slices"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/jobs"
	"github.com/taskrt/taskrt/task/access"
)

// bulk is a Jobs that asks for roles (SPEC A5, Q3). What a job may do with a task is decided when the task has its turn.
type bulk struct {
	*guard
	to jobs.Jobs
}

// GuardJobs returns a Jobs that lets callers do what their roles allow.
func (g *Gate) GuardJobs(x jobs.Jobs, look Looks) jobs.Jobs {
	return bulk{&guard{gate: g, look: look}, x}
}

// Start implements jobs.Jobs. Whoever may operate on some behaviors of the namespace, or may submit to it, may start a job: of what others created, and of
// other behaviors, it changes nothing, and does not learn how many tasks there are.
func (x bulk) Start(ctx context.Context, a jobs.Action, r jobs.JobRequest) (*jobs.JobReply, error) {
	if err := in(ctx, auth.Namespace, access.Operate|access.Submit, r.Namespace, ""); err != nil {
		return nil, err
	}
	if p := auth.PrincipalOf(ctx); p != nil {
		r.May = func(behavior string, creator uint64) bool {
			return may(p, access.Operate, orDefault(r.Namespace), &Record{Behavior: behavior, Creator: creator})
		}
	}
	if !r.DryRun {
		auth.TrailOf(ctx).Mark()
	}
	return x.to.Start(ctx, a, r)
}

// sees reports whether the caller may see a job: it may read all of the namespace, or has started it.
func sees(p *auth.Principal, j *jobs.Job) bool {
	return p == nil || p.Grant.Whole(access.Read, j.Namespace) || j.Creator != "" && j.Creator == p.Name
}

// List implements jobs.Jobs.
func (x bulk) List(ctx context.Context, namespace string) (*jobs.JobList, error) {
	reply, err := x.to.List(ctx, namespace)
	if p := auth.PrincipalOf(ctx); err == nil {
		reply.Jobs = slices.DeleteFunc(reply.Jobs, func(j jobs.Job) bool { return !sees(p, &j) })
	}
	return reply, err
}

// Job implements jobs.Jobs. Of a job that the caller may not see it says that it is not there.
func (x bulk) Job(ctx context.Context, id string) (*jobs.JobReply, error) {
	reply, err := x.to.Job(ctx, id)
	if err == nil && !sees(auth.PrincipalOf(ctx), reply.Job) {
		return nil, jobs.NotFound(id)
	}
	return reply, err
}

// Cancel implements jobs.Jobs, for the job's creator and for callers that may operate on the whole namespace.
func (x bulk) Cancel(ctx context.Context, id string) (*jobs.JobReply, error) {
	reply, err := x.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	if p := auth.PrincipalOf(ctx); p != nil && reply.Job.Creator != p.Name && !p.Grant.Whole(access.Operate, reply.Job.Namespace) {
		return nil, api.NewError(api.CodeForbidden, "to cancel the job of another token needs the role operate for all of the namespace %s", reply.Job.Namespace)
	}
	auth.TrailOf(ctx).Mark()
	return x.to.Cancel(ctx, id)
}
