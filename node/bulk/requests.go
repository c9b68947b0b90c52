package bulk

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/jobs"
	"github.com/taskrt/taskrt/node/query"
	"github.com/taskrt/taskrt/task"
	rows "github.com/taskrt/taskrt/task/jobs"
	"github.com/taskrt/taskrt/task/match"
)

// Log is how the state is read and changed. service.Log implements it.
type Log interface {
	Propose(context.Context, task.Command) (task.Result, error) // a rejection is an error
	// Read runs a function on a state that has whatever was acknowledged before, and again as long as it wants more.
	Read(context.Context, func(*task.Machine) (more bool)) error
	Await(ctx context.Context, index uint64) error // returns once this node has applied the log up to index
}

// Manager starts, shows and cancels jobs.
type Manager struct {
	log    Log
	freeze func(context.Context) (*task.Frozen, error)
	counts *semaphore.Weighted
}

var _ jobs.Jobs = (*Manager)(nil)

// counting is how many dry runs a node makes at a time: each reads every record.
const counting = 2

// NewManager returns a Manager.
func NewManager(log Log, freeze func(context.Context) (*task.Frozen, error)) *Manager {
	return &Manager{log, freeze, semaphore.NewWeighted(counting)}
}

var actions = map[jobs.Action]rows.Action{jobs.Cancel: rows.Cancel, jobs.Retry: rows.Retry, jobs.Resubmit: rows.Resubmit, jobs.Remove: rows.Remove}

// Start implements jobs.Jobs.
func (m *Manager) Start(ctx context.Context, a jobs.Action, r jobs.JobRequest) (*jobs.JobReply, error) {
	if err := r.Check(a); err != nil {
		return nil, err
	}
	cmd := task.StartJob{Namespace: r.Namespace, Action: uint64(actions[a]), Spec: specOf(&r), Rate: r.Rate, Version: r.Version, Keep: r.KeepCheckpoint}
	if r.Delay != nil {
		cmd.Delay = task.Millis(time.Duration(*r.Delay).Milliseconds())
	}
	if r.DryRun {
		return m.count(ctx, &cmd, r.May)
	}
	res, err := m.log.Propose(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return m.after(ctx, res.Index, uint64(res.Count))
}

// count counts the tasks that a job would be about.
func (m *Manager) count(ctx context.Context, c *task.StartJob, may func(behavior string, creator uint64) bool) (*jobs.JobReply, error) {
	if !m.counts.TryAcquire(1) {
		return nil, api.NewError(api.CodeOverloaded, "this node counts for %d dry runs already", counting)
	}
	defer m.counts.Release(1)
	missing := false
	if err := m.log.Read(ctx, func(m *task.Machine) bool { missing = !m.NamespaceExists(c.Namespace); return false }); err != nil {
		return nil, err
	}
	if missing {
		return nil, api.UnknownNamespace(c.Namespace)
	}
	f, err := m.freeze(ctx)
	if err != nil {
		return nil, err
	}
	n := int64(0)
	x := rows.Planned(rows.Job{Namespace: c.Namespace, Spec: c.Spec})
	if err := Select(ctx, f, x, may, func(uint64) error { n++; return nil }); err != nil {
		return nil, err
	}
	return &jobs.JobReply{Matches: &n}, nil
}

// after returns a job as it is after an entry.
func (m *Manager) after(ctx context.Context, index, number uint64) (*jobs.JobReply, error) {
	if err := m.log.Await(ctx, index); err != nil {
		return nil, err
	}
	return m.show(ctx, number)
}

func (m *Manager) show(ctx context.Context, number uint64) (*jobs.JobReply, error) {
	var reply *jobs.JobReply
	err := m.log.Read(ctx, func(m *task.Machine) bool {
		for _, x := range task.Jobs(m) {
			if x.Number == number {
				reply = &jobs.JobReply{Job: new(viewOf(m, x))}
			}
		}
		return false
	})
	if err == nil && reply == nil {
		err = jobs.NotFound(strconv.FormatUint(number, 10))
	}
	return reply, err
}

// List implements jobs.Jobs.
func (m *Manager) List(ctx context.Context, namespace string) (*jobs.JobList, error) {
	reply := &jobs.JobList{}
	err := m.log.Read(ctx, func(m *task.Machine) bool {
		reply.Jobs = []jobs.Job{}
		for _, x := range slices.Backward(task.Jobs(m)) {
			if namespace == "" || x.Namespace == namespace {
				reply.Jobs = append(reply.Jobs, viewOf(m, x))
			}
		}
		return false
	})
	return reply, err
}

// Job implements jobs.Jobs.
func (m *Manager) Job(ctx context.Context, id string) (*jobs.JobReply, error) {
	number, err := jobs.Number(id)
	if err != nil {
		return nil, err
	}
	return m.show(ctx, number)
}

// Cancel implements jobs.Jobs.
func (m *Manager) Cancel(ctx context.Context, id string) (*jobs.JobReply, error) {
	number, err := jobs.Number(id)
	if err != nil {
		return nil, err
	}
	res, err := m.log.Propose(ctx, task.EndJob{Number: number})
	if err != nil {
		return nil, err
	}
	return m.after(ctx, res.Index, number)
}

// specOf returns the filter of a request, which has passed its Check, as the log keeps it.
func specOf(r *jobs.JobRequest) []byte {
	list := r.Filter.List(r.Namespace)
	b, _ := json.Marshal(query.SpecOf(&list)) // texts, numbers and booleans: it cannot fail
	return b
}

var statuses = map[rows.State]string{
	rows.Selecting: jobs.Selecting, rows.Acting: jobs.Running, rows.Done: jobs.Success, rows.Cancelled: jobs.Cancelled, rows.Failed: jobs.Failed,
}

func viewOf(m *task.Machine, x *task.Job) jobs.Job {
	v := jobs.Job{
		ID: strconv.FormatUint(x.Number, 10), Namespace: x.Namespace, Status: statuses[x.State], Filter: filterOf(x.Spec), Rate: x.Rate, Version: x.Version,
		CreatedAt: api.TimeOrNil(x.CreatedAt), EndedAt: api.TimeOrNil(x.EndedAt), Selected: x.Selected, SelectedIndex: x.SelectedAt, Position: x.Position,
		Done: x.Counts.Done, Changed: x.Counts.Changed, Gone: x.Counts.Gone, Refused: x.Counts.Refused, Forbidden: x.Counts.Forbidden,
	}
	for a, is := range actions {
		if is == x.Action {
			v.Action = string(a)
		}
	}
	if x.Delay != 0 {
		d := api.Duration(time.Duration(x.Delay) * time.Millisecond)
		v.Delay = &d
	}
	if x.By != 0 {
		v.Creator = m.Access().Name(x.By)
	}
	if x.Code != "" {
		v.Error = &jobs.JobFailure{Code: x.Code, Message: x.Message}
	}
	return v
}

// filterOf is the inverse of specOf.
func filterOf(spec []byte) jobs.JobFilter {
	s, _ := match.Parse(spec)
	f := jobs.JobFilter{
		Status: s.Statuses, Final: s.Final, Behavior: s.Behaviors, Error: s.Codes, Worker: s.Worker, Node: s.Node, Parent: s.Parent, IDPrefix: s.IDPrefix,
		DueBefore: api.TimeOrNil(s.DueBefore), CreatedFrom: api.TimeOrNil(s.Created.From), CreatedTo: api.TimeOrNil(s.Created.To),
		StartedFrom: api.TimeOrNil(s.Started.From), StartedTo: api.TimeOrNil(s.Started.To),
		FinishedFrom: api.TimeOrNil(s.Finished.From), FinishedTo: api.TimeOrNil(s.Finished.To),
	}
	for _, l := range s.Labels {
		f.Label = append(f.Label, l.Name+"="+l.Value)
	}
	return f
}
