package node

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/task"
)

// readTimeout bounds how long a read waits for a leader, or for an index, before it says so.
const readTimeout = 10 * time.Second

// readOptions say how fresh a read must be (SPEC W4).
type readOptions struct {
	stale    bool
	minIndex uint64
}

// lagTimeout is how long a stale read waits for an index that this node lacks before it asks the cluster if there is one.
const lagTimeout = 500 * time.Millisecond

// read runs fn on the state of this node's machine once it is fresh enough. fn must be short and must not block.
func (n *Node) read(ctx context.Context, o readOptions, fn func(*task.Machine)) error {
	rctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	beyond := error(nil)
	noted := func(m *task.Machine) {
		if o.minIndex > m.Index() {
			beyond = beyondLog(o.minIndex, m.Index())
			return
		}
		api.SetIndex(ctx, m.Index())
		fn(m)
	}
	if o.stale {
		switch err := n.reached(rctx, o.minIndex); {
		case err == nil:
			n.store.Local(noted)
			return nil
		case !errors.Is(err, raftstore.ErrBehind) || rctx.Err() != nil:
			return storeError(err, false)
		}
	}
	// Whatever was acknowledged before this request came is here then: an index that is not has not been told to anybody.
	return firstError(storeError(n.store.Read(rctx, noted), false), beyond)
}

// reached waits for an index that this node will have soon if there is one; 0 is there.
func (n *Node) reached(ctx context.Context, index uint64) error {
	if index == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lagTimeout)
	defer cancel()
	return n.store.WaitIndex(ctx, index)
}

func beyondLog(asked, last uint64) error {
	return api.FieldError(api.CodeInvalidField, "min_index", "%d is beyond the log, which ends at %d: it is not an index that this cluster has told", asked, last)
}

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
		return api.FieldError(string(task.NamespaceNotFound), "namespace", "no namespace %s", key.Namespace)
	}
	return api.NewError(api.CodeTaskNotFound, "no task %s", key.ID)
}

// Task implements api.Service.
func (n *Node) Task(ctx context.Context, namespace, id string, o api.GetOptions) (*api.Task, error) {
	key, err := taskKey(namespace, id)
	if err != nil {
		return nil, err
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Wait > 0 {
		return n.waitTask(ctx, key, o)
	}
	var t *api.Task
	missing := error(nil)
	err = n.read(ctx, readOptions{o.Stale, o.MinIndex}, func(m *task.Machine) {
		if r := m.Task(key); r != nil {
			t = view.Of(m).Task(r)
		} else {
			missing = notFound(m, key)
		}
	})
	return t, firstError(err, missing)
}

// Tasks implements api.Service.
func (n *Node) Tasks(ctx context.Context, r api.ListRequest) (*api.ListReply, error) {
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
	page := &taskPage{filter: f, limit: r.Limit, tasks: []*api.Task{}}
	missing := error(nil)
	err = n.look(ctx, readOptions{r.Stale, r.MinIndex}, func(m *task.Machine) (more bool) {
		if !m.NamespaceExists(r.Namespace) {
			missing = api.FieldError(string(task.NamespaceNotFound), "namespace", "no namespace %s", r.Namespace)
			return false
		}
		return page.look(m)
	})
	if err := firstError(err, missing); err != nil {
		return nil, err
	}
	return &api.ListReply{Tasks: page.tasks, Cursor: api.TasksCursor(page.next)}, nil
}

// lookedAt is how many records one look at the machine passes over: what a filter selects may be few of very many, and nothing
// is applied meanwhile.
const lookedAt = 10_000

// look is read for what takes many looks: between two, others have the machine. It ends with the first that wants no more, or
// with ctx.
func (n *Node) look(ctx context.Context, o readOptions, fn func(*task.Machine) (more bool)) error {
	more := false
	err := n.read(ctx, o, func(m *task.Machine) { more = fn(m) })
	for err == nil && more {
		if err = ctx.Err(); err == nil {
			n.store.Local(func(m *task.Machine) { more = fn(m) })
		}
	}
	return err
}

// taskPage is a page of tasks that takes shape over several looks.
type taskPage struct {
	filter task.Filter
	limit  int
	tasks  []*api.Task
	params view.Composed
	next   uint64 // as Machine.Tasks gives it
}

// look goes on where the look before ended; more: the page is not complete.
func (p *taskPage) look(m *task.Machine) (more bool) {
	p.filter.Limit = p.limit - len(p.tasks)
	ts, next := m.Tasks(p.filter)
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
func (n *Node) Cancel(ctx context.Context, namespace, id string) (*api.CancelReply, error) {
	key, err := taskKey(namespace, id)
	if err != nil {
		return nil, err
	}
	r, err := n.proposeOne(ctx, task.Cancel{Key: key})
	if err != nil {
		return nil, err
	}
	reply := &api.CancelReply{Told: r.Told}
	n.store.Local(func(m *task.Machine) { reply.Task = view.Of(m).Task(r.Task) })
	return reply, nil
}

// Remove implements api.Service.
func (n *Node) Remove(ctx context.Context, namespace, id string) error {
	key, err := taskKey(namespace, id)
	if err := firstError(err, api.CheckUserNamespace(namespace)); err != nil {
		return err
	}
	_, err = n.proposeOne(ctx, task.Remove{Key: key})
	return err
}

// firstError returns the first error that is not nil: api.Service hands out *api.Error values, not joined ones.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
