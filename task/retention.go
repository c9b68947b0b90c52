package task

import (
	"cmp"
	"fmt"
	"slices"
)

// Retention returns what is kept of a behavior's final tasks: how long those that succeeded and failed, < 0 for ever, and
// how many of both together, 0 for no limit (SPEC M2). What the active policy does not say the namespace does, and what
// that does not say is the default. A behavior that was deleted says nothing. Ages count from FinishedAt, and are compared
// when a run of maintenance looks: a new version changes the retention of the tasks that it finds.
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
	for i := range c.Tasks {
		r := m.store.get(c.Tasks[i].Key)
		if r == nil || m.task(r).Rev != c.Tasks[i].Rev || !m.task(r).Final() || m.task(r).Role != RoleNone {
			continue // it changed since the run looked, or goes with its operation
		}
		m.drop(r)
		dropped++
	}
	return Result{Count: dropped}
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
		return Result{Changed: m.trim(b)}
	}
	var dropped int64
	for _, k := range m.idle(b, c.Max) {
		if m.purgeTask(k) {
			dropped++
		}
	}
	dropped += m.purgeOperations(m.operationsWith(b), c.Max-dropped)
	if b.behavior == nil { // it was the last task, and the record went with it
		return Result{Count: dropped, Changed: true}
	}
	trimmed := m.trim(b)
	return Result{Count: dropped, Left: b.tasks + int64(len(m.operationsWith(b))), Changed: dropped > 0 || trimmed}
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

// tooMany answers a run that asks for more than one command deletes.
func tooMany(field string) Result {
	return invalid(field, fmt.Sprintf("a command of a run deletes at most %d", MaxDrop))
}

// trim drops the versions of b that are neither among those that are kept nor pinned (SPEC B2), and says whether there
// were any. They are left behind when tasks that pinned them go.
func (m *Machine) trim(b *behaviorRow) bool {
	keep := KeptVersions
	if b.behavior.Deleted {
		keep = 0
	}
	next := *b.behavior
	next.Versions = b.kept(slices.Clone(next.Versions), keep)
	if len(next.Versions) == len(b.behavior.Versions) {
		return false
	}
	m.putBehavior(b, &next)
	m.dropModules()
	return true
}

// purgeTask removes a task of a behavior that is purged (SPEC B8), and reports whether that did anything. A task of an
// operation cannot go without it: the operation is removed.
func (m *Machine) purgeTask(k Key) bool {
	r := m.store.get(k)
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

// idle returns up to limit tasks of b that do not run: of the final ones the oldest, then what is due first.
func (m *Machine) idle(b *behaviorRow, limit int64) []Key {
	var keys []Key
	for _, queue := range [...]*line{&b.success, &b.failure, &b.due} {
		for c := queue.cursor(&m.store); c.row != nil && int64(len(keys)) < limit; c.next() {
			keys = append(keys, m.task(c.row).Key())
		}
	}
	for c := b.future.cursor(); c.node() != nil && int64(len(keys)) < limit; c.next() {
		keys = append(keys, m.task(c.node().item).Key())
	}
	return keys
}
