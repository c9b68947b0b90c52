package insight

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/insight"
	"github.com/taskrt/taskrt/node/lead"
	"github.com/taskrt/taskrt/node/query"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/hurdle"
	"github.com/taskrt/taskrt/task/match"
	"github.com/taskrt/taskrt/worker/stream"
)

// maxBefore bounds how many tasks are counted that come first: nothing is applied meanwhile.
const maxBefore = 5000

// Explain says why a task waits, by the state and by what the leader's loop knows; nil: the loop was not asked. A task that is not there: nil.
func Explain(m *task.Machine, k task.Key, loop *lead.Stand) *insight.WhyReply {
	x := m.Task(k)
	if x == nil {
		return nil
	}
	r := &insight.WhyReply{Namespace: x.Namespace, ID: x.ID, Behavior: x.Behavior, Reasons: []insight.WaitReason{}}
	t, runs, meets, before := task.Waiting(m, k, maxBefore)
	if t == nil {
		r.Reasons = append(r.Reasons, still(x))
		return r
	}
	r.Waits = true
	e := explainer{m: m, reply: r, t: t, runs: runs, before: before, loop: loop}
	e.times()
	for _, h := range meets {
		e.hurdle(h)
	}
	if loop != nil && runs != nil {
		e.workers()
	}
	if loop != nil && len(r.Reasons) == 0 {
		e.add(insight.WaitReason{Code: insight.Assigning, Text: "nothing stands in its way: it is about to be given to a worker"})
	}
	return r
}

// still says what a task does that does not wait.
func still(x *task.Task) insight.WaitReason {
	if l := x.Lease; l != nil {
		text := "it runs on " + l.Worker
		if l.Node != "" && l.Node != l.Worker {
			text += " of node " + l.Node
		}
		return insight.WaitReason{Code: insight.Running, Text: text, At: api.TimeOrNil(int64(x.StartedAt)), Workers: []string{l.Worker}}
	}
	return insight.WaitReason{Code: insight.Final, Text: "it has ended, and will not run again by itself", At: api.TimeOrNil(int64(x.FinishedAt))}
}

// explainer collects the reasons of one task.
type explainer struct {
	m      *task.Machine
	reply  *insight.WhyReply
	t      *task.Task
	runs   *task.Version
	before int
	loop   *lead.Stand
}

func (e *explainer) add(r insight.WaitReason) { e.reply.Reasons = append(e.reply.Reasons, r) }

func (e *explainer) times() {
	now := e.m.Now()
	if d := e.t.Deadline; d != 0 && d <= now {
		e.add(insight.WaitReason{Code: insight.DeadlinePassed, Text: "its deadline has passed: it is about to be cancelled", At: api.TimeOrNil(int64(d))})
	}
	if e.t.NotBefore > now {
		at := api.TimeOf(int64(e.t.NotBefore))
		e.add(insight.WaitReason{Code: insight.DueLater, Text: "it is not due before " + at.String(), At: &at})
	}
}

// hurdle says what one hurdle is.
func (e *explainer) hurdle(h hurdle.Kind) {
	ns, behavior := e.t.Namespace, e.t.Behavior
	policy := task.Policy{}
	if v := e.m.Version(ns, behavior, ""); v != nil {
		policy = v.Policy
	}
	switch h {
	case hurdle.SpaceClosed:
		e.add(insight.WaitReason{Code: insight.SpaceInactive, Text: fmt.Sprintf("the namespace %s is not active", ns)})
	case hurdle.SpaceFull:
		most := e.m.Namespace(ns).MaxRunning
		e.add(insight.WaitReason{Code: insight.SpaceLimit, Limit: most, Text: fmt.Sprintf("%d tasks of the namespace %s may run at once, and as many run", most, ns)})
	case hurdle.Paused:
		e.add(insight.WaitReason{Code: insight.BehaviorPaused, Text: fmt.Sprintf("the behavior %s is paused", behavior)})
	case hurdle.NoVersion:
		text := fmt.Sprintf("there is no behavior %s any more: its tasks wait until there is one again", behavior)
		if e.m.Behavior(ns, behavior) != nil {
			text = fmt.Sprintf("the version %.12s of %s is gone, to which it is pinned", e.t.Version, behavior)
		}
		e.add(insight.WaitReason{Code: insight.NoVersion, Text: text})
	case hurdle.BehaviorFull:
		e.add(insight.WaitReason{
			Code: insight.BehaviorLimit, Limit: policy.MaxConcurrent, Text: fmt.Sprintf("%d tasks of %s may run at once, and as many run", policy.MaxConcurrent, behavior),
		})
	case hurdle.KeyTaken:
		e.add(insight.WaitReason{
			Code: insight.KeyLimit, Limit: policy.MaxPerKey,
			Text: fmt.Sprintf("%d tasks of %s with its concurrency key may run at once: others run, or come first", policy.MaxPerKey, behavior),
		})
	}
}

// workers says what the workers, or the acceptors, have to do with it.
func (e *explainer) workers() {
	if e.runs.Module == "" {
		if e.loop.Acceptors == 0 {
			e.add(insight.WaitReason{Code: insight.NoAcceptor, Text: fmt.Sprintf("no program waits for tasks of %s now", e.t.Behavior)})
		} else {
			e.behind()
		}
		return
	}
	by := e.loop.Workers
	about := func(code string, names []string, format string, args ...any) {
		if len(names) > 0 {
			e.add(insight.WaitReason{Code: code, Text: fmt.Sprintf(format, args...), Workers: names[:min(len(names), insight.MaxBy)]})
		}
	}
	if len(by) == 0 {
		e.add(insight.WaitReason{Code: insight.NoWorker, Text: "no worker is connected"})
		return
	}
	if len(by[lead.Fits]) > 0 {
		e.behind()
		return
	}
	if full := by[lead.Full]; len(full) > 0 {
		about(insight.SlotsTaken, full, "all slots are taken of the workers that could run it")
		e.behind()
	} else {
		e.unready(by[lead.Unready])
		about(insight.NoSuitedWorker, by[lead.Unsuited], "%s", e.unsuited())
	}
	about(insight.WorkerDrained, append(append([]string(nil), by[lead.Drained]...), by[lead.Leaving]...), "workers are drained, or leave, and are given nothing new")
}

// unready says how far the workers are with the module that none of them has ready.
func (e *explainer) unready(names []string) {
	if len(names) == 0 {
		return
	}
	r := insight.WaitReason{Code: insight.ModuleNotReady, Workers: names[:min(len(names), insight.MaxBy)]}
	steps := map[string]int{}
	for _, p := range e.loop.Preparing {
		steps[string(p.Step)]++
		if len(r.Preparing) < insight.MaxBy {
			r.Preparing = append(r.Preparing, insight.Preparation{
				Worker: p.Worker, Step: string(p.Step), Since: api.TimeOrNil(p.Since.UnixMilli()), Failed: p.Failed, Error: p.Error,
			})
		}
	}
	steps[""] = len(names) - len(e.loop.Preparing)
	var parts []string
	for _, s := range stepWords {
		if n := steps[s.step]; n > 0 {
			parts = append(parts, fmt.Sprintf(s.words, n))
		}
	}
	r.Text = fmt.Sprintf("no worker has the module %.12s ready: %s", e.runs.Module, strings.Join(parts, ", "))
	e.add(r)
}

// stepWords says how many workers are at a step, what is worst first.
var stepWords = []struct{ step, words string }{
	{string(stream.Pausing), "%d failed to make it ready and will try again"},
	{string(stream.Compiling), "%d compiling it"},
	{string(stream.Fetching), "%d fetching it"},
	{string(stream.Queued), "%d busy with other modules before it"},
	{"", "%d not saying how far it is"},
}

func (e *explainer) unsuited() string {
	if e.t.Bound != 0 {
		return "it cleans up on the worker that ran what it tidies up after, and only there"
	}
	return "its process died under it: it waits for a process of its own, in which nothing else runs"
}

// behind says that others come first, unless it has its turn.
func (e *explainer) behind() {
	if e.loop.Next {
		return
	}
	held := len(e.reply.Reasons) > 0
	switch n := int64(e.before); {
	case n > 0:
		text := fmt.Sprintf("%d tasks of %s come before it", n, e.t.Behavior)
		if n == maxBefore {
			text = fmt.Sprintf("%d tasks of %s, or more, come before it", n, e.t.Behavior)
		}
		e.add(insight.WaitReason{Code: insight.Behind, Before: n, Text: text})
	case !held:
		e.add(insight.WaitReason{Code: insight.Behind, Text: "tasks of other behaviors come before it, or the share of another namespace"})
	}
}

// Why implements insight.Insight.
func (x Insight) Why(ctx context.Context, namespace, id string) (*insight.WhyReply, error) {
	if err := cmp.Or(api.CheckNamespace(&namespace), api.CheckID(id)); err != nil {
		return nil, err
	}
	k := task.Key{Namespace: namespace, ID: id}
	var r *insight.WhyReply
	known, leads := false, x.config.Leads()
	look := func(m *task.Machine) bool {
		known = m.NamespaceExists(namespace)
		r = Explain(m, k, nil)
		return false
	}
	if !leads {
		x.config.Log.Local(func(m *task.Machine) { look(m) })
	} else if err := x.config.Log.Read(ctx, look); api.CodeOf(err) == api.CodeNoLeader {
		leads = false
		x.config.Log.Local(func(m *task.Machine) { look(m) })
	} else if err != nil {
		return nil, err
	}
	switch {
	case !known:
		return nil, api.UnknownNamespace(namespace)
	case r == nil:
		return nil, api.NewError(api.CodeTaskNotFound, "no task %s", id)
	case !r.Waits:
		return r, nil
	case !leads:
		first := insight.WaitReason{Code: insight.NoLeader, Text: "the cluster has no leader, as far as this node knows: nobody gives tasks to workers now"}
		r.Reasons = append([]insight.WaitReason{first}, r.Reasons...)
		return r, nil
	}
	if of, err := x.config.Leader(ctx, k); err == nil && of != nil {
		r = of
	} else {
		r.Reasons = append(r.Reasons, insight.WaitReason{Code: insight.Unknown, Text: "the leader does not say what its workers and its queue have to do with it"})
	}
	return r, x.name(ctx, k, r)
}

// name names the tasks that hold the limits that are reached, as far as this node's index knows them.
func (x Insight) name(ctx context.Context, k task.Key, r *insight.WhyReply) error {
	for i := range r.Reasons {
		reason := &r.Reasons[i]
		f := query.Filter{Namespace: k.Namespace, Filter: match.Filter{States: match.Of(match.Running), Behaviors: []string{r.Behavior}}}
		holds := func(*task.Machine, *task.Task) bool { return true }
		switch reason.Code {
		case insight.BehaviorLimit:
		case insight.SpaceLimit:
			f.Behaviors = nil
		case insight.KeyLimit:
			f.States = match.Of(match.Running, match.Created, match.Retrying, match.Repeating)
			holds = func(m *task.Machine, t *task.Task) bool { return t.ID != k.ID && holdsKey(m, t, m.Task(k)) }
		default:
			continue
		}
		if x.config.Found.CatchUp(ctx) != nil {
			continue // then nobody is named
		}
		_, err := x.config.Found.Find(ctx, query.Search{Filter: f, Limit: query.MaxExamined}, func(m *task.Machine, ts []*task.Task) int {
			for _, t := range ts {
				if holds(m, t) && len(reason.By) < insight.MaxBy {
					reason.By = append(reason.By, t.ID)
				}
			}
			if len(reason.By) == insight.MaxBy {
				return 1 // enough
			}
			return len(ts)
		})
		if err != nil {
			return query.TooLong()
		}
	}
	return nil
}

// holdsKey reports whether a task has a slot of the key of another one: it runs, it keeps the slot between two runs, or the slot is meant for it (SPEC L11).
func holdsKey(m *task.Machine, t, than *task.Task) bool {
	if than == nil || t.ConcurrencyKey != than.ConcurrencyKey {
		return false
	}
	if v := m.Version(t.Namespace, t.Behavior, ""); t.Status == task.Running || v != nil && v.Policy.KeyStrict && t.Version != "" {
		return true
	}
	w, _, meets, _ := task.Waiting(m, t.Key(), 0)
	return w != nil && w.NotBefore <= m.Now() && !slices.Contains(meets, hurdle.KeyTaken)
}
