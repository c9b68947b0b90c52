package task

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/task/queue"
	"github.com/taskrt/taskrt/task/upkeep"
)

// Retention returns what is kept of a behavior's final tasks (SPEC M2): how long successes and failures are kept (< 0: for ever), and how many of
// both together (0: no limit). The active policy decides. Where it says nothing the namespace decides, and where the namespace says nothing the
// default holds. A deleted behavior says nothing. Ages count from FinishedAt, and they are compared when a run of maintenance looks: a new version
// changes the retention of the tasks that it finds.
func (m *Machine) Retention(namespace, behavior string) (success, failure Millis, count int64) {
	if n := m.namespaces[namespace]; n != nil {
		success, failure = n.space.Retention.Success, n.space.Retention.Failure
	}
	if v := m.Version(namespace, behavior, ""); v != nil {
		success = cmp.Or(v.Policy.KeepSuccess, success)
		failure = cmp.Or(v.Policy.KeepFailure, failure)
		count = max(v.Policy.KeepCount, 0)
	}
	return cmp.Or(success, DefaultKeepSuccess), cmp.Or(failure, DefaultKeepFailure), count
}

func (c DropTasks) apply(m *Machine) Result {
	switch {
	case !m.maintenanceRun(c.Token):
		return halt()
	case len(c.Tasks) > MaxDrop:
		return tooMany("tasks")
	}
	var dropped int64
	by := map[string]int64{} // by namespace
	for i := range c.Tasks {
		r := m.find(c.Tasks[i].Key)
		if r == nil || m.task(r).Rev != c.Tasks[i].Rev || !m.task(r).Final() || m.task(r).Role != RoleNone {
			continue // it has changed since the run looked, or goes with its operation
		}
		m.drop(r)
		dropped++
		by[c.Tasks[i].Key.Namespace]++
	}
	m.tallyAll(c.Token, upkeep.OfTask, by)
	return Result{Count: dropped}
}

// tallyAll is tally for several namespaces, in the order of their names.
func (m *Machine) tallyAll(token uint64, kind string, by map[string]int64) {
	for _, namespace := range slices.Sorted(maps.Keys(by)) {
		m.runs.Tally(token, kind, namespace, by[namespace])
	}
}

func (c TrimBehavior) apply(m *Machine) Result {
	switch {
	case !m.maintenanceRun(c.Token):
		return halt()
	case c.Max < 0 || c.Max > MaxDrop:
		return tooMany("max")
	}
	b := m.behaviors[behaviorName{c.Namespace, c.Name}]
	if b == nil || b.behavior == nil {
		return Result{}
	}
	if !b.behavior.Purge {
		trimmed := m.trim(b)
		m.runs.Tally(c.Token, upkeep.OfVersion, c.Namespace, trimmed)
		return Result{Changed: trimmed > 0}
	}
	var dropped int64
	for _, k := range m.idle(b, c.Max) {
		if m.purgeTask(k) {
			dropped++
		}
	}
	dropped += m.purgeOperations(m.operationsWith(b), c.Max-dropped)
	m.runs.Tally(c.Token, upkeep.OfTask, c.Namespace, dropped)
	if b.behavior == nil { // it was the last task, and the record went with it
		m.runs.Tally(c.Token, upkeep.OfBehavior, c.Namespace, 1)
		return Result{Count: dropped, Changed: true}
	}
	trimmed := m.trim(b)
	m.runs.Tally(c.Token, upkeep.OfVersion, c.Namespace, trimmed)
	return Result{Count: dropped, Left: b.tasks + int64(len(m.operationsWith(b))), Changed: dropped > 0 || trimmed > 0}
}

// operationsWith returns the operations that may have tasks of b.
func (m *Machine) operationsWith(b *behaviorRow) []*operationRow {
	if len(b.held) == 0 {
		return nil
	}
	var rows []*operationRow
	for _, o := range m.fanout.spaces[b.namespace] {
		if x := o.operation; x.Behavior == b.name || x.Policy.Complete == b.name || x.Policy.Cleanup == b.name {
			rows = append(rows, o)
		}
	}
	return rows
}

// tooMany refuses a command that would delete more than one command may.
func tooMany(field string) Result {
	return invalid(field, fmt.Sprintf("a command of a run deletes at most %d", MaxDrop))
}

// trim drops the versions of b that are neither kept nor pinned (SPEC B2), and returns how many there were. Tasks that were pinned to them have gone.
func (m *Machine) trim(b *behaviorRow) int64 {
	keep := KeptVersions
	if b.behavior.Deleted {
		keep = 0
	}
	next := *b.behavior
	next.Versions = b.kept(slices.Clone(next.Versions), keep)
	trimmed := int64(len(b.behavior.Versions) - len(next.Versions))
	if trimmed == 0 {
		return 0
	}
	m.putBehavior(b, &next)
	m.dropModules()
	return trimmed
}

// purgeTask removes a task of a behavior that is purged (SPEC B8), and reports whether it removed anything. A task of
// an operation cannot go without the operation, so the operation is removed.
func (m *Machine) purgeTask(k Key) bool {
	r := m.find(k)
	if r == nil {
		return false // it went with the operation of a task before it
	}
	t := m.task(r)
	if t.Role != RoleNone {
		return m.purgeOperation(m.operations[t.operation()])
	}
	m.drop(r)
	return true
}

// idle returns up to limit tasks of b that do not run: final tasks, the oldest of each kind first, then waiting tasks as they are due.
func (m *Machine) idle(b *behaviorRow, limit int64) []Key {
	var keys []Key
	for _, l := range [...]*queue.Line{&b.Excess, &b.Success, &b.Failure, &b.Due} {
		for c := l.Cursor(&m.store.Rows); c.Row != nil && int64(len(keys)) < limit; c.Next() {
			keys = append(keys, m.task(c.Row).Key())
		}
	}
	for c := b.Future.Cursor(); c.Node() != nil && int64(len(keys)) < limit; c.Next() {
		keys = append(keys, m.task(c.Node().Item).Key())
	}
	return keys
}
