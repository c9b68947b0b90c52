package query

import (
	"context"
	"strings"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/insight"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/match"
)

// maxCount bounds what a list counts.
const maxCount = 10_000

// List answers a list of tasks, which has passed its Check, of at least the state that the machine has now.
func (x *Index) List(ctx context.Context, r *api.ListRequest) (*api.ListReply, error) {
	s := Search{Filter: filterOf(r), Desc: r.Desc, Limit: r.Limit}
	var err error
	if s.After, err = s.placeOf(r.Cursor); err != nil {
		return nil, err
	}
	if err := x.CatchUp(ctx); err != nil {
		return nil, notMade()
	}
	reply := &api.ListReply{Tasks: []*api.Task{}}
	var params view.Composed
	page, err := x.Find(ctx, s, func(m *task.Machine, ts []*task.Task) int {
		shown := view.Of(m).Page(ts, &params)
		reply.Tasks = append(reply.Tasks, shown...)
		return len(shown)
	})
	if err != nil {
		return nil, TooLong()
	}
	reply.Cursor, reply.Examined = s.cursorAt(page.Next), int64(page.Examined)
	if !r.Count {
		return reply, nil
	}
	n := int64(0)
	s.After, s.Limit = Place{}, maxCount
	page, err = x.Find(ctx, s, func(_ *task.Machine, ts []*task.Task) int {
		n += int64(len(ts))
		return len(ts)
	})
	if err != nil {
		return nil, TooLong()
	}
	reply.Count, reply.CountMore = &n, page.Next != Place{}
	return reply, nil
}

// TooLong is the answer to whom looking for tasks takes too long.
func TooLong() *api.Error {
	return api.NewError(api.CodeNotReady, "it took too long to look for tasks on this node; ask another, or try again")
}

// filterOf translates what a request asks for.
func filterOf(r *api.ListRequest) Filter {
	spec := SpecOf(r)
	return Filter{Namespace: r.Namespace, Sight: r.Sight, Filter: spec.Filter()}
}

// SpecOf says what a request asks for, besides the namespace and what the caller may see.
func SpecOf(r *api.ListRequest) match.Spec {
	s := match.Spec{
		Statuses: r.Statuses, Final: r.Final, Behaviors: r.Behaviors, Codes: r.Errors, Worker: r.Worker, Node: r.Node,
		Parent: r.Parent, IDPrefix: r.IDPrefix, Created: rangeOf(r.Created), Started: rangeOf(r.Started), Finished: rangeOf(r.Finished),
		DueBefore: timeAt(r.DueBefore),
	}
	for _, l := range r.Labels {
		name, value, _ := strings.Cut(l, "=")
		s.Labels = append(s.Labels, match.Label{Name: name, Value: value})
	}
	return s
}

func rangeOf(r api.TimeRange) match.Range { return match.Range{From: timeAt(r.From), To: timeAt(r.To)} }

// timeAt translates a time; 0: none is given. Times before 1970 are the beginning.
func timeAt(at *time.Time) int64 {
	if at == nil {
		return 0
	}
	return max(at.UnixMilli(), 1)
}

// ListFailures answers a request for failures, which has passed its Check, of at least the state that the machine has now (SPEC Q2).
func (x *Index) ListFailures(ctx context.Context, r *insight.FailuresRequest) (*insight.FailuresReply, error) {
	if err := x.CatchUp(ctx); err != nil {
		return nil, notMade()
	}
	groups, others := x.Failures(FailureFilter{Namespace: r.Namespace, Behaviors: r.Behaviors, Codes: r.Errors, Sight: r.Sight}, r.Limit)
	reply := &insight.FailuresReply{Groups: make([]insight.FailureGroup, len(groups))}
	for from := 0; from < len(groups); from += verifiedAt {
		if ctx.Err() != nil {
			return nil, TooLong()
		}
		x.cfg.Local(func(m *task.Machine) {
			for i := from; i < min(from+verifiedAt, len(groups)); i++ {
				g := &groups[i]
				reply.Groups[i] = insight.FailureGroup{Behavior: g.Behavior, Version: g.Version, Code: g.Code, FailureCounts: countsOf(g.Failures)}
				if t := task.NumberedTask(m, g.Last.Rev); t != nil && g.is(r.Namespace, t) {
					reply.Groups[i].Sample = t.ID
				}
			}
		})
	}
	if others.Retrying+others.Dead > 0 {
		counts := countsOf(others)
		reply.Other = &counts
	}
	return reply, nil
}

func countsOf(f Failures) insight.FailureCounts {
	return insight.FailureCounts{Retrying: int64(f.Retrying), Final: int64(f.Dead), FirstAt: api.TimeOf(f.First.Time), LastAt: api.TimeOf(f.Last.Time)}
}

// notMade is the answer of a node whose index is not there.
func notMade() *api.Error {
	return api.NewError(api.CodeNotReady, "this node makes its index of tasks, or stops; ask another, or try again")
}
