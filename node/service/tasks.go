package service

import (
	"context"
	"slices"
	"strings"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/spaces"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/task"
)

// taskKey checks the two parts of a task's name.
func taskKey(namespace, id string) (task.Key, error) {
	if err := api.CheckID(id); err != nil {
		return task.Key{}, err
	}
	if namespace == "" {
		namespace = task.DefaultNamespace
	}
	return task.Key{Namespace: namespace, ID: id}, nil
}

func notFound(m *task.Machine, key task.Key) error {
	if !m.NamespaceExists(key.Namespace) {
		return spaces.Unknown(key.Namespace)
	}
	return api.NewError(api.CodeTaskNotFound, "no task %s", key.ID)
}

// Task implements api.Service.
func (svc *Service) Task(ctx context.Context, namespace, id string, o api.GetOptions) (*api.Task, error) {
	key, err := taskKey(namespace, id)
	if err != nil {
		return nil, err
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Wait > 0 {
		return svc.waitTask(ctx, key, o)
	}
	var t *api.Task
	missing := error(nil)
	err = svc.read(ctx, readOptions{o.Stale, o.MinIndex}, func(m *task.Machine) {
		if r := m.Task(key); r != nil {
			t = view.Of(m).Task(r)
		} else {
			missing = notFound(m, key)
		}
	})
	return t, firstError(err, missing)
}

// Tasks implements api.Service.
func (svc *Service) Tasks(ctx context.Context, r api.ListRequest) (*api.ListReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	after, err := r.After()
	if err != nil {
		return nil, err
	}
	f := task.Filter{
		Namespace: r.Namespace, Behavior: r.Behavior, Parent: r.Parent, Limit: r.Limit, After: after,
	}
	for _, s := range r.Statuses {
		f.Statuses = append(f.Statuses, statuses(s))
	}
	for _, l := range r.Labels {
		name, value, _ := strings.Cut(l, "=")
		f.Labels = append(f.Labels, task.Label{Name: name, Value: value})
	}
	if r.DueBefore != nil {
		f.DueBefore = task.Time(r.DueBefore.UnixMilli())
	}
	f.Rows = lookedAt
	page := &taskPage{filter: f, limit: r.Limit, sight: r.Sight, tasks: []*api.Task{}}
	missing := error(nil)
	err = svc.look(ctx, readOptions{r.Stale, r.MinIndex}, func(m *task.Machine) (more bool) {
		if !m.NamespaceExists(r.Namespace) {
			missing = spaces.Unknown(r.Namespace)
			return false
		}
		return page.look(m)
	})
	if err := firstError(err, missing); err != nil {
		return nil, err
	}
	return &api.ListReply{Tasks: page.tasks, Cursor: api.TasksCursor(page.next)}, nil
}

// taskPage is a page of tasks that is filled by several looks.
type taskPage struct {
	filter task.Filter
	limit  int
	sight  func(behavior string, creator uint64) bool // nil: everything
	tasks  []*api.Task
	params view.Composed
	next   uint64 // where the next page begins, as Machine.Tasks gives it
}

// look goes on where the last look ended. It returns true if the page is not complete.
func (p *taskPage) look(m *task.Machine) (more bool) {
	p.filter.Limit = p.limit - len(p.tasks)
	ts, next := m.Tasks(p.filter)
	if p.sight != nil {
		ts = slices.DeleteFunc(ts, func(t *task.Task) bool { return !p.sight(t.Behavior, t.Creator) })
	}
	shown := view.Of(m).Page(ts, &p.params)
	p.tasks = append(p.tasks, shown...)
	if n := len(shown); n < len(ts) { // the params of the others are for the next page
		p.next = ts[n-1].CreatedRev
		return false
	}
	p.filter.After, p.next = next, next
	return next != 0 && len(p.tasks) < p.limit && !p.params.Full()
}

func statuses(s string) task.Status {
	for _, st := range []task.Status{task.Created, task.Running, task.Success, task.Failure} {
		if st.String() == s {
			return st
		}
	}
	return 0
}

// Cancel implements api.Service.
func (svc *Service) Cancel(ctx context.Context, namespace, id string) (*api.CancelReply, error) {
	key, err := taskKey(namespace, id)
	if err != nil {
		return nil, err
	}
	r, err := svc.proposeOne(ctx, task.Cancel{Key: key})
	if err != nil {
		return nil, err
	}
	reply := &api.CancelReply{Told: r.Told}
	svc.store.Local(func(m *task.Machine) { reply.Task = view.Of(m).Task(r.Task) })
	return reply, nil
}

// Remove implements api.Service.
func (svc *Service) Remove(ctx context.Context, namespace, id string) error {
	key, err := taskKey(namespace, id)
	if err := firstError(err, api.CheckUserNamespace(namespace)); err != nil {
		return err
	}
	_, err = svc.proposeOne(ctx, task.Remove{Key: key})
	return err
}
