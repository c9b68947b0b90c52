package task

import (
	"fmt"
	"slices"

	"github.com/taskrt/taskrt/task/upkeep"
)

// A purge goes on in batches beside everything else (SPEC N1, M2). Ticks cancel running tasks, remove operations and remove their tasks. A run of
// maintenance removes the rest. A batch costs by its size and by how many behaviors the namespace has, whatever other namespaces hold.

// apply removes tasks first, because behaviors and versions are kept for them. Running tasks are left for the next batch.
func (c PurgeNamespace) apply(m *Machine) Result {
	switch {
	case !m.maintenanceRun(c.Token):
		return halt()
	case c.Max < 0 || c.Max > MaxDrop:
		return tooMany("max")
	case !m.NamespaceExists(c.Namespace):
		return noNamespace()
	case !m.purging(c.Namespace):
		return notPurging(c.Namespace)
	}
	gone := int64(0)
	for _, b := range m.behaviorsIn(c.Namespace) {
		for _, r := range m.idle(b, c.Max-gone) {
			if m.purgeTask(r) {
				gone++
			}
		}
	}
	gone += m.purgeOperations(m.fanout.spaces[c.Namespace], c.Max-gone)
	gone += m.purgeRecords(c.Namespace, c.Max-gone)
	gone += m.purgeBehaviors(c.Namespace, c.Max-gone)
	m.runs.Tally(c.Token, upkeep.OfPurged, c.Namespace, gone)
	return Result{Count: gone, Left: m.left(c.Namespace)}
}

func notPurging(namespace string) Result {
	return invalid("namespace", "the namespace "+namespace+" is not being purged")
}

// purgeOperations removes up to limit operations without running tasks, and returns how many. Their tasks go in this entry and in Ticks.
func (m *Machine) purgeOperations(rows []*operationRow, limit int64) (gone int64) {
	for _, o := range slices.Clone(rows) {
		if gone >= limit {
			break
		}
		if m.purgeOperation(o) {
			gone++
		}
	}
	return gone
}

// purgeOperation removes an operation, and reports whether it removed anything. Its running tasks end first, by a cancel with its grace.
func (m *Machine) purgeOperation(o *operationRow) bool {
	if o.operation.Removing || o.running > 0 {
		return false
	}
	m.removeOperation(o)
	m.workOn(o, m.steps)
	return true
}

// purgeRecords deletes records of the TaskStore API, the oldest first.
func (m *Machine) purgeRecords(namespace string, limit int64) (gone int64) {
	set := m.records[namespace]
	for ; set != nil && gone < limit; gone++ {
		r, ok := set.First()
		if !ok {
			break
		}
		m.dropRecord(namespace, r.ID)
	}
	return gone
}

// purgeBehaviors forgets behaviors that no task and no operation needs.
func (m *Machine) purgeBehaviors(namespace string, limit int64) (gone int64) {
	for _, b := range m.behaviorsIn(namespace) {
		if gone >= limit {
			break
		}
		if b.needed() {
			continue
		}
		if !b.behavior.Deleted {
			m.putBehavior(b, &Behavior{External: b.behavior.External, Deleted: true})
		}
		m.forgetBehavior(b)
		gone++
	}
	if gone > 0 {
		m.dropModules()
	}
	return gone
}

// left returns how many records of the namespace there are. It does not count the instances of operations, which go at the end.
func (m *Machine) left(namespace string) int64 {
	u := m.namespaces[namespace].usage
	return u.Tasks + u.Operations + u.Records + int64(len(m.behaviorsIn(namespace)))
}

// apply forgets all that the state holds by the namespace's name, together with the last trace of the namespace.
func (c EndPurge) apply(m *Machine) Result {
	if !m.maintenanceRun(c.Token) {
		return halt()
	}
	n := m.namespaces[c.Namespace]
	switch {
	case n == nil:
		return noNamespace()
	case n.space.Status == NamespaceIsPurged:
		return c.forget(m, n)
	case n.space.Status != NamespaceIsPurging:
		return notPurging(c.Namespace)
	}
	if left := m.left(c.Namespace); left > 0 {
		return Result{Code: NamespaceNotEmpty, Message: fmt.Sprintf("%d records of the namespace %s are left", left, c.Namespace), Left: left}
	}
	for _, x := range m.instances.Cut(instanceName{namespace: c.Namespace}, instanceName{namespace: c.Namespace + "\x00"}) {
		m.sum -= hashInstance(x)
	}
	delete(m.records, c.Namespace)
	next := *n.space
	next.Status, next.ChangedAt, next.Bucket, next.BucketAt = NamespaceIsPurged, m.now, 0, 0
	m.putSpace(n, &next)
	return Result{Space: &next, Changed: true}
}

// forget forgets a namespace that has been PURGED for long enough.
func (c *EndPurge) forget(m *Machine, n *namespaceRow) Result {
	if c.Forget <= 0 || later(n.space.ChangedAt, c.Forget) > m.now {
		return Result{Space: n.space}
	}
	m.sum -= hashNamespace(n.space)
	delete(m.namespaces, c.Namespace)
	return Result{Changed: true}
}
