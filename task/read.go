package task

import (
	"slices"

	"github.com/taskrt/taskrt/task/table"
)

// Filter selects tasks for listing. Zero fields select everything.
type Filter struct {
	Namespace string
	Limit     int    // > 0
	After     uint64 // only tasks with a later CreatedRev; the previous page gave it
	Rows      int    // look at no more tasks, matching or not; 0: at all. The page may then have fewer than Limit, or none
}

// Counts are totals over all namespaces.
type Counts struct {
	Created, Running, Success, Failure int64 // the last two count final tasks
	Retrying, Repeating                int64 // FAILURE and SUCCESS that are due again
	Sessions, Behaviors, Modules       int64
	Records                            int64 // of the TaskStore API
}

// Index returns the log index of the last entry applied.
func (m *Machine) Index() uint64 { return m.index }

// Rev returns the last number that a change or removal of a record took (SPEC section 3).
func (m *Machine) Rev() uint64 { return m.rev }

// Now returns the wall clock of the log (SPEC C3).
func (m *Machine) Now() Time { return m.now }

// LeaseNow returns the lease clock of the log (SPEC C3).
func (m *Machine) LeaseNow() LeaseTime { return m.leaseNow }

// Digest returns the running digest (SPEC C4).
func (m *Machine) Digest() Digest { return Digest{Index: m.index, Sum: m.digestSum()} }

// Task returns a record, or nil.
func (m *Machine) Task(k Key) *Task {
	if r := m.find(k); r != nil {
		return m.task(r)
	}
	return nil
}

// NumberedTask returns the record with a CreatedRev, or nil.
func NumberedTask(m *Machine, created uint64) *Task {
	if r := m.store.At(created); r != nil {
		return m.task(r)
	}
	return nil
}

// LastToken returns the highest token that a lease has had.
func LastToken(m *Machine) uint64 { return m.token }

// Tasks returns a page of the tasks that f selects, in order of creation. next is the After of the next page, or 0 at
// the end. Tasks that are created or removed between two pages neither repeat nor hide others.
func (m *Machine) Tasks(f Filter) (tasks []*Task, next uint64) {
	looked, last := 0, uint64(0)
	for r := range m.store.From(f.After) {
		if looked == f.Rows && looked > 0 {
			return tasks, last
		}
		looked, last = looked+1, m.store.Created(r)
		if f.Namespace != "" && f.Namespace != m.of(r).namespace {
			continue
		}
		if len(tasks) >= max(f.Limit, 1) {
			return tasks, tasks[len(tasks)-1].CreatedRev
		}
		tasks = append(tasks, m.task(r))
	}
	return tasks, 0
}

// NamespaceExists reports whether tasks can live in the namespace.
func (m *Machine) NamespaceExists(ns string) bool { return m.namespaces[ns].exists() }

// Behavior returns a behavior with Pinned filled in, or nil if there is none or it was deleted.
func (m *Machine) Behavior(ns, name string) *Behavior {
	if b := m.behaviors[behaviorName{ns, name}]; b != nil {
		return b.view()
	}
	return nil
}

// view returns the record with the derived fields of its versions.
func (b *behaviorRow) view() *Behavior {
	if b.live() == nil {
		return nil
	}
	return b.pinned()
}

// pinned is view for a behavior that may be deleted.
func (b *behaviorRow) pinned() *Behavior {
	view := *b.behavior
	view.Versions = slices.Clone(view.Versions)
	for i := range view.Versions {
		view.Versions[i].Pinned = b.pins[view.Versions[i].Version]
	}
	return &view
}

// Behaviors returns the behaviors of a namespace by name, with Pinned filled in.
func (m *Machine) Behaviors(ns string) []*Behavior {
	var found []*Behavior
	for _, b := range m.behaviorsIn(ns) {
		if b.live() != nil {
			found = append(found, b.view())
		}
	}
	return found
}

// Version returns version v of a behavior, or the active version for "". It returns nil if there is none. It copies nothing; Pinned is 0.
func (m *Machine) Version(ns, name, v string) *Version {
	return m.version(m.behaviors[behaviorName{ns, name}], v)
}

// Module returns a module by digest, or nil.
func (m *Machine) Module(digest string) *Module { return m.modules[digest] }

// Modules returns all modules by digest.
func (m *Machine) Modules() []*Module {
	return table.Values(m.modules, func(x *Module) string { return x.Digest })
}

// Session returns a live session with Running filled in, or nil.
func (m *Machine) Session(id uint64) *Session {
	if s := m.sessions[id]; s != nil {
		return s.view()
	}
	return nil
}

func (s *sessionRow) view() *Session {
	view := *s.session
	view.Running = int64(len(s.leases))
	return &view
}

// Sessions returns all live sessions by ID, with Running filled in.
func (m *Machine) Sessions() []*Session { return table.Each(m.sessionsByID(), (*sessionRow).view) }

// Leases returns the running tasks of a session in the order in which they were assigned.
func (m *Machine) Leases(session uint64) []*Task {
	s := m.sessions[session]
	if s == nil {
		return nil
	}
	return table.Each(s.leases, func(h held) *Task { return m.task(h.row) })
}

// Counts returns totals, in O(1).
func (m *Machine) Counts() Counts { return m.counts }
