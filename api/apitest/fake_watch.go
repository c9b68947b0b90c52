package apitest

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/spaces"
	"github.com/taskrt/taskrt/task"
)

// WaitTasks implements api.Service.
func (f *Fake) WaitTasks(ctx context.Context, r api.WaitRequest) (*api.WaitReply, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	until, err := api.ParseUntil(r.Until)
	if err != nil {
		return nil, err
	}
	timeout := time.NewTimer(time.Duration(*r.Timeout))
	defer timeout.Stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	waits := make([]fakeWait, len(r.IDs))
	for i, id := range r.IDs {
		t, err := f.find(task.Key{Namespace: r.Namespace, ID: id})
		if err != nil {
			return nil, err
		}
		waits[i] = fakeWait{now: t, since: cmp.Or(r.Since, t.Rev)}
		waits[i].over = met(until, t, waits[i].since)
	}
	reply := &api.WaitReply{}
	for seen := len(f.events); !enough(r.Mode, waits) && !reply.TimedOut; {
		changed := f.changed
		f.mu.Unlock()
		var gone error
		select {
		case <-changed:
		case <-timeout.C:
			reply.TimedOut = true
		case <-ctx.Done():
			gone = ctx.Err()
		}
		f.mu.Lock()
		if gone != nil {
			return nil, gone
		}
		for ; seen < len(f.events); seen++ {
			for i := range waits {
				waits[i].see(until, &f.events[seen])
			}
		}
	}
	reply.TimedOut = reply.TimedOut && !enough(r.Mode, waits)
	for _, w := range waits {
		if w.removed {
			reply.Tasks = append(reply.Tasks, nil)
		} else {
			reply.Tasks = append(reply.Tasks, f.show(w.now))
		}
	}
	api.SetIndex(ctx, f.index)
	return reply, nil
}

type fakeWait struct {
	now           *task.Task
	since         uint64
	over, removed bool
}

func (w *fakeWait) see(until api.Until, e *task.Event) {
	switch {
	case w.removed, e.Task == nil, e.Task.Key() != w.now.Key():
	case e.Kind == task.TaskRemoved:
		w.over, w.removed = true, true
	case e.Kind == task.TaskChanged:
		w.now = e.Task
		w.over = w.over || met(until, w.now, w.since)
	}
}

func enough(mode string, waits []fakeWait) bool {
	over := func(w fakeWait) bool { return w.over }
	if mode == "any" {
		return slices.ContainsFunc(waits, over)
	}
	return !slices.ContainsFunc(waits, func(w fakeWait) bool { return !w.over })
}

// Events implements api.Service. It remembers everything that ever happened; whoever asks for rev 0, or one that has
// not been, is told the present state.
func (f *Fake) Events(_ context.Context, r api.EventsRequest) (api.EventStream, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.machine.NamespaceExists(r.Namespace) {
		return nil, spaces.Unknown(r.Namespace)
	}
	rev := f.machine.Rev()
	s := &fakeStream{f: f, r: r, after: r.After, closed: make(chan struct{})}
	if !r.HasAfter {
		s.after = rev
	} else if r.After == 0 || r.After > rev {
		s.after = 0
		s.reset(rev)
	}
	return s, nil
}

type fakeStream struct {
	f       *Fake
	r       api.EventsRequest
	next    int // of f.events
	after   uint64
	ready   []api.Event
	closed  chan struct{}
	isEnded bool
}

// reset makes ready the state at a rev. f.mu is held.
func (s *fakeStream) reset(rev uint64) {
	s.ready = []api.Event{{Kind: api.EventReset, Data: []byte("{}")}}
	tasks, _ := s.f.machine.Tasks(task.Filter{Namespace: s.r.Namespace, Limit: 1 << 30})
	for _, t := range tasks {
		if s.wants(t) {
			s.ready = append(s.ready, s.f.taskEvent(t, 0))
		}
	}
	s.ready[len(s.ready)-1].Rev = rev
	s.next = len(s.f.events)
}

func (s *fakeStream) wants(t *task.Task) bool {
	r := &s.r
	return t.Namespace == r.Namespace && (r.Behavior == "" || r.Behavior == t.Behavior) && (r.Parent == "" || r.Parent == t.Parent) &&
		(r.Status == "" || r.Status == t.Status.String()) && (len(r.IDs) == 0 || slices.Contains(r.IDs, t.ID))
}

func (f *Fake) taskEvent(t *task.Task, rev uint64) api.Event {
	return api.Event{Kind: api.EventTask, Rev: rev, Data: encode(api.TaskEvent{Task: f.show(t)})}
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // types of package api always marshal
	}
	return b
}

// Next implements api.EventStream.
func (s *fakeStream) Next(ctx context.Context) (api.Event, error) {
	for {
		s.f.mu.Lock()
		for len(s.ready) == 0 && s.next < len(s.f.events) {
			s.take(&s.f.events[s.next])
			s.next++
		}
		changed := s.f.changed
		s.f.mu.Unlock()
		if len(s.ready) > 0 {
			e := s.ready[0]
			s.ready = s.ready[1:]
			if e.Rev > 0 {
				s.after = e.Rev
			}
			return e, nil
		}
		select {
		case <-changed:
		case <-s.closed:
			return api.Event{}, api.NewError(api.CodeNotReady, "the stream was closed")
		case <-ctx.Done():
			return api.Event{}, ctx.Err()
		}
	}
}

func (s *fakeStream) take(e *task.Event) {
	if e.Task == nil || e.Rev <= s.after || !s.wants(e.Task) {
		return
	}
	switch e.Kind {
	case task.TaskChanged:
		s.ready = append(s.ready, s.f.taskEvent(e.Task, e.Rev))
	case task.TaskRemoved:
		s.ready = append(s.ready, api.Event{Kind: api.EventRemoved, Rev: e.Rev, Data: encode(api.RemovedEvent{
			Namespace: e.Task.Namespace, ID: e.Task.ID, Rev: e.Rev,
		})})
	}
}

// Position implements api.EventStream.
func (s *fakeStream) Position() uint64 { return s.after }

// Close implements api.EventStream.
func (s *fakeStream) Close() {
	if !s.isEnded {
		s.isEnded = true
		close(s.closed)
	}
}
