package task

import (
	"cmp"
	"maps"
	"slices"
)

// Reads about workers, leases and queues that no record shows.

// BehaviorStats are the tasks of a behavior that are not final (SPEC J7). Every such task counts in exactly one.
type BehaviorStats struct {
	Due      int64 // waiting, not_before has come; also what a limit, a pause or a missing module blocks
	Delayed  int64 // waiting, not_before lies ahead, and not a retry
	Retrying int64 // FAILURE whose retry lies ahead
	Running  int64
	Oldest   Time // the earliest not_before of those that are due; 0: none is
}

// BehaviorStats counts the tasks of a behavior. All is 0 for a name that is not known.
func (m *Machine) BehaviorStats(namespace, name string) BehaviorStats {
	var s BehaviorStats
	for t := range m.store.from(0) {
		switch {
		case t.Namespace != namespace || t.Behavior != name || t.Final():
		case t.Status == Running:
			s.Running++
		case t.NotBefore <= m.now:
			s.Due++
			s.Oldest = sooner(s.Oldest, t.NotBefore)
		case t.Status == Failure:
			s.Retrying++
		default:
			s.Delayed++
		}
	}
	return s
}

// LeaseEnd returns the instant of the lease clock at which an external lease ends if nothing renews it: at or after it,
// by a Tick only (SPEC L4). 0 for a task that has none.
func (m *Machine) LeaseEnd(t *Task) LeaseTime {
	if t.Lease == nil || !t.Lease.External() {
		return 0
	}
	if t.Lease.GraceEnd != 0 {
		return min(t.Lease.Expires, t.Lease.GraceEnd)
	}
	return t.Lease.Expires
}

// LeasesOf returns the running tasks that an accept request was given, in the order in which they were assigned: what a
// repeated request_id is answered (SPEC J2). None for the empty request.
func (m *Machine) LeasesOf(namespace, behavior, worker, request string) []*Task {
	var found []*Task
	for t := range m.store.from(0) {
		if l := t.Lease; request != "" && l != nil && l.External() && l.Worker == worker && l.Request == request &&
			t.Namespace == namespace && t.Behavior == behavior {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, func(a, b *Task) int { return cmp.Compare(a.Lease.Token, b.Lease.Token) })
	return found
}

// ExternalWorkers returns how many external leases each worker that holds one has, by the name that it gave.
func (m *Machine) ExternalWorkers() map[string]int64 {
	workers := map[string]int64{}
	for t := range m.store.from(0) {
		if t.Lease != nil && t.Lease.External() {
			workers[t.Lease.Worker]++
		}
	}
	return workers
}

// Drained reports whether the workers of a node get no new tasks (SPEC L10).
func (m *Machine) Drained(node string) bool { return m.drained[node] }

// DrainedNodes returns the nodes for which Drained is true, by ID.
func (m *Machine) DrainedNodes() []string { return slices.Sorted(maps.Keys(m.drained)) }
