package task

import (
	"maps"

	"github.com/taskrt/taskrt/task/roster"
)

// BehaviorStats counts the tasks of a behavior that are not final (SPEC J7). Every such task counts in exactly one field.
type BehaviorStats struct {
	Due      int64 // waiting, not_before has come; also what a limit, a pause or a missing module blocks
	Delayed  int64 // waiting, not_before lies ahead, and not a retry
	Retrying int64 // FAILURE whose retry lies ahead
	Running  int64
	Oldest   Time // since when the longest waiting task is due (SPEC T4); 0: none is due
}

// BehaviorStats counts the tasks of a behavior, in O(1). All counts are 0 for an unknown name.
func (m *Machine) BehaviorStats(namespace, name string) BehaviorStats {
	b := m.behaviors[behaviorName{namespace, name}]
	if b == nil {
		return BehaviorStats{}
	}
	s := BehaviorStats{
		Due: int64(b.Due.Len()), Delayed: int64(b.Future.Len()) - b.Retrying, Retrying: b.Retrying, Running: b.running,
	}
	if r := b.Due.Head(&m.store.Rows); r != nil {
		s.Oldest = Time(r.At)
	}
	return s
}

// Queues calls yield with the stats of every behavior that has a record or tasks, by namespace and name. Each call costs O(1).
func (m *Machine) Queues(yield func(namespace, name string, s BehaviorStats) bool) {
	for _, b := range m.byName {
		if !yield(b.namespace, b.name, m.BehaviorStats(b.namespace, b.name)) {
			return
		}
	}
}

// ExternalWorkers returns how many external leases each worker that holds one has, by the name that it gave.
func (m *Machine) ExternalWorkers() map[string]int64 { return maps.Clone(m.acceptors) }

// Drained reports whether the workers of a node get no new tasks (SPEC L10).
func (m *Machine) Drained(node string) bool { return m.roster.Drained(node) }

// DrainedNodes returns the nodes for which Drained is true, by ID.
func (m *Machine) DrainedNodes() []string { return m.roster.DrainedNodes() }

// Roster returns what is decided about nodes (SPEC C2).
func (m *Machine) Roster() roster.View { return m.roster.View() }
