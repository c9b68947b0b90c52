package sim

import (
	"bytes"
	"fmt"
	"maps"

	"github.com/taskrt/taskrt/internal/sim/naive"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// compareNextTick checks the two times at which a Tick would next do something.
func (r *Run) compareNextTick() error {
	wall, lease := r.replicas[0].m.NextTick()
	var wantWall task.Time
	var wantLease task.LeaseTime
	if len(r.model.Crowded()) > 0 {
		wantWall = r.model.Now
	}
	for _, o := range r.model.Operations {
		if r.model.Working(o) {
			wantWall = r.model.Now
		}
	}
	for _, x := range r.model.Access {
		if at := naive.TokenTime(x); at != 0 && (wantWall == 0 || at < wantWall) {
			wantWall = at
		}
	}
	if at := r.model.AuditTime(); at != 0 && (wantWall == 0 || at < wantWall) {
		wantWall = at
	}
	for _, t := range r.model.Tasks {
		if r.model.Doomed(t) {
			wantWall = r.model.Now
		}
		due := t.NotBefore
		if due <= r.model.Now { // due already: no Tick needed
			due = 0
		}
		for _, at := range []task.Time{due, r.model.Deadline(t)} {
			if at != 0 && (wantWall == 0 || at < wantWall) {
				wantWall = at
			}
		}
	}
	sooner := func(at task.LeaseTime) {
		if at != 0 && (wantLease == 0 || at < wantLease) {
			wantLease = at
		}
	}
	for _, s := range r.model.Sessions {
		sooner(s.Expires)
	}
	for _, t := range r.running() {
		if t.Lease.Session == 0 {
			sooner(r.model.LeaseEnd(t))
		}
		sooner(r.model.Overrun(t))
	}
	for _, x := range r.model.Holds {
		sooner(task.LeaseTime(x.Until))
	}
	sooner(r.model.KeyTimes())
	overdue := wall != 0 && wall <= r.model.Now && wantWall != 0 && wantWall <= r.model.Now
	if wall != wantWall && !overdue || lease != wantLease {
		return fmt.Errorf("next tick at %d and %d, want %d and %d", wall, lease, wantWall, wantLease)
	}
	if r.index%8 != 0 {
		return nil
	}
	for _, h := range []task.Header{{Now: wall}, {LeaseNow: lease}} {
		if err := r.tickChanges(h); err != nil {
			return err
		}
	}
	return nil
}

// tickChanges checks that a Tick at the time that NextTick names changes something. Otherwise a leader would propose it for ever.
func (r *Run) tickChanges(h task.Header) error {
	if h.Now == 0 && h.LeaseNow == 0 {
		return nil
	}
	var b bytes.Buffer
	if err := wire.WriteSnapshot(&b, r.replicas[0].m.Freeze()); err != nil {
		return err
	}
	m, err := wire.ReadSnapshot(&b, task.WithAudit(auditBounds))
	if err != nil {
		return err
	}
	h.Index, h.Term = r.index+1, r.model.Term()
	if rs, _ := m.Apply(h, []task.Proposal{{Command: task.Tick{}}}); !rs[0].Changed {
		return fmt.Errorf("a tick at %d and %d, as NextTick said, changes nothing", h.Now, h.LeaseNow)
	}
	return m.Check()
}

// heard is what the events of one entry tell.
type heard struct {
	last               map[task.Key]task.Event // of each record
	halted, cancelling map[uint64]bool         // tokens
	opened, ended      map[uint64]bool         // sessions
	spaces             map[string]uint64       // namespaces, with the rev that they have now
}

// hear reads the events of the entry that was applied last. Each change is told once, and knows its predecessor.
func (r *Run) hear(events []task.Event) (heard, error) {
	h := heard{map[task.Key]task.Event{}, map[uint64]bool{}, map[uint64]bool{}, map[uint64]bool{}, map[uint64]bool{}, map[string]uint64{}}
	revs := map[uint64]bool{}
	for _, e := range events {
		if e.Index != r.index {
			return h, fmt.Errorf("event of index %d, want %d", e.Index, r.index)
		}
		if e.Kind == task.TaskChanged || e.Kind == task.TaskRemoved {
			if revs[e.Rev] {
				return h, fmt.Errorf("rev %d is announced twice", e.Rev)
			}
			revs[e.Rev] = true
			k := e.Task.Key()
			was := r.history.tasks[k]
			if n, ok := h.last[k]; ok && n.Kind == task.TaskRemoved {
				was = nil
			} else if ok {
				was = n.Task
			}
			if e.Kind == task.TaskChanged && (e.Rev != e.Task.Rev || (was == nil) != (e.Prev == nil) || was != nil && was.Rev != e.Prev.Rev) {
				return h, fmt.Errorf("event of rev %d: record %+v after %+v, want it after %+v", e.Rev, e.Task, e.Prev, was)
			}
		}
		switch e.Kind {
		case task.TaskChanged, task.TaskAssigned, task.TaskRemoved:
			h.last[task.Key{Namespace: e.Task.Namespace, ID: e.Task.ID}] = e
		case task.TaskCancelling:
			h.cancelling[e.Lease.Token] = true
		case task.LeaseEnded:
			h.halted[e.Lease.Token] = true
		case task.SessionOpened:
			h.opened[e.Session.ID] = true
		case task.SessionEnded:
			h.ended[e.Session.ID] = true
		case task.NamespaceChanged:
			h.spaces[e.Space.Name] = e.Space.Rev
		}
		if e.Kind == task.TaskRemoved && e.Lease != nil {
			h.halted[e.Lease.Token] = true
		}
	}
	return h, nil
}

// compareEvents checks that every change was told: to waiters by the last event of each record, to workers by the
// tokens that must halt or cancel.
func (r *Run) compareEvents(events []task.Event) error {
	m := r.replicas[0].m
	h, err := r.hear(events)
	if err != nil {
		return err
	}
	for name, n := range r.model.Spaces {
		if r.history.spaces[name] != n.Rev && h.spaces[name] != n.Rev {
			return fmt.Errorf("no event for the change of the namespace %s", name)
		}
	}
	before := r.history.tasks
	for k, t := range r.model.Tasks {
		if old := before[k]; old == nil || old.Rev != t.Rev {
			e, ok := h.last[k]
			if !ok {
				return fmt.Errorf("no event for the change of %v", k)
			}
			if d := diff("", withoutRenewal(e.Task), withoutRenewal(m.Task(k))); d != "" {
				return fmt.Errorf("last event of %v is not its last state: %s", k, d)
			}
		}
		if old := before[k]; t.CancelCode != "" && (old == nil || old.CancelCode == "") && !h.cancelling[t.Lease.Token] {
			return fmt.Errorf("nobody tells the worker of %v to cancel", k)
		}
	}
	for k := range before {
		if r.model.Tasks[k] == nil && h.last[k].Kind != task.TaskRemoved {
			return fmt.Errorf("no event for the removal of %v", k)
		}
	}
	if !maps.Equal(h.halted, r.model.Halted) {
		return fmt.Errorf("tokens told to halt: %v, want %v", h.halted, r.model.Halted)
	}
	for id := range r.model.Sessions {
		if !r.history.sessions[id] && !h.opened[id] {
			return fmt.Errorf("no event for the new session %d", id)
		}
	}
	for id := range r.history.sessions {
		if _, live := r.model.Sessions[id]; !live && !h.ended[id] {
			return fmt.Errorf("no event for the end of session %d", id)
		}
	}
	return nil
}
