package service

import (
	"context"
	"errors"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/spaces"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/node/watch"
	"github.com/taskrt/taskrt/task"
)

// Events implements api.Service (SPEC W3). A subscription without a rev begins with the first change after everything
// that was acknowledged before. A subscription with a rev goes on after the rev. It needs no leader, unless this node
// is not there yet: then it waits until the node has caught up. A rev that the cluster does not know belongs to another
// history: the subscription begins with reset.
func (svc *Service) Events(ctx context.Context, r api.EventsRequest) (api.EventStream, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	after, missing := r.After, error(nil)
	begin := func(m *task.Machine) {
		if !m.NamespaceExists(r.Namespace) {
			missing = spaces.Unknown(r.Namespace)
		}
		if !r.HasAfter {
			after = m.Rev()
		}
	}
	here := false
	svc.store.Local(func(m *task.Machine) { here = r.HasAfter && r.After <= m.Rev() })
	if err := svc.read(ctx, readOptions{stale: here}, begin); err != nil {
		return nil, err
	}
	if missing != nil {
		return nil, missing
	}
	sub, err := svc.changes.Subscribe(watch.Filter{
		Namespace: r.Namespace, IDs: r.IDs, Behavior: r.Behavior, Parent: r.Parent, Status: statuses(r.Status),
		Sight: r.Sight,
	}, after)
	switch {
	case errors.Is(err, watch.ErrTooMany):
		return nil, api.NewError(api.CodeOverloaded, "too many follow events on this node; ask another")
	case err != nil:
		return nil, api.NewError(api.CodeNotReady, "this node is stopping; ask another")
	}
	return &eventStream{sub}, nil
}

// eventStream is a subscription in the words of the API.
type eventStream struct{ sub *watch.Sub }

var eventKinds = map[watch.Kind]string{
	watch.Task: api.EventTask, watch.Progress: api.EventProgress, watch.Removed: api.EventRemoved, watch.Reset: api.EventReset,
}

func shown(e watch.Event) api.Event {
	return api.Event{Kind: eventKinds[e.Kind], Rev: e.ID, Data: e.Data}
}

// Next implements api.EventStream.
func (s *eventStream) Next(ctx context.Context) (api.Event, error) {
	e, err := s.sub.Next(ctx)
	switch {
	case errors.Is(err, watch.ErrClosed):
		return api.Event{}, api.NewError(api.CodeNotReady, "this node is stopping; ask another")
	case err != nil:
		return api.Event{}, err
	}
	return shown(e), nil
}

// Try returns the next event if it is there. The HTTP handler uses it to write several events at once.
func (s *eventStream) Try() (api.Event, bool) {
	e, ok := s.sub.Try()
	return shown(e), ok
}

// Position implements api.EventStream.
func (s *eventStream) Position() uint64 { return s.sub.Position() }

// Close implements api.EventStream.
func (s *eventStream) Close() { s.sub.Close() }

// EventEncoder makes the JSON of events. local shows it the state, for what the record alone does not say: the params
// of an operation's tasks, the times of a lease, and the name of a creator.
func EventEncoder(local func(func(*task.Machine))) func(*watch.Change) []byte {
	return func(c *watch.Change) []byte {
		switch t := c.Task; c.Kind {
		case watch.Task:
			shown := view.State{}.Task(t)
			if t.Role != task.RoleNone || t.Lease != nil || t.Creator != 0 {
				local(func(m *task.Machine) { completeEvent(m, t, shown) })
			}
			return view.Compact(api.TaskEvent{Task: shown})
		case watch.Progress:
			return view.Compact(api.ProgressEvent{Namespace: t.Namespace, ID: t.ID, Attempt: t.Attempt, Progress: view.JSON(c.Progress)})
		case watch.Removed:
			return view.Compact(api.RemovedEvent{Namespace: t.Namespace, ID: t.ID, Rev: c.Rev})
		}
		return view.Compact(struct{}{})
	}
}

// completeEvent adds to a record what only the state can tell. An event is encoded once and told to any subscriber at
// any time. So the times of a lease may be in it, because a renewal only moves them on. The time that is left of the
// lease may not.
func completeEvent(m *task.Machine, t *task.Task, shown *api.Task) {
	if t.Role != task.RoleNone {
		shown.Params, shown.ParamsBase64 = view.Payload(view.Params(m, t))
	}
	shown.CreatedBy = view.Of(m).CreatedBy(t.Creator)
	if shown.Lease = view.Of(m).Lease(t); shown.Lease != nil {
		shown.Lease.LeaseMS = 0
	}
}
