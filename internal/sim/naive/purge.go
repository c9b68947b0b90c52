package naive

import (
	"cmp"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// idle returns up to n tasks of the behavior that do not run: first successes and failures, the oldest first, then waiting tasks in
// order of their due times. An operation's final tasks are not the behavior's concern.
func (m *Model) idle(k task.Key, n int64) []*task.Task {
	ts := m.ordered(func(t *task.Task) bool {
		return t.Namespace == k.Namespace && t.Behavior == k.ID && t.Lease == nil && (t.Role == task.RoleNone || !final(t))
	})
	rank := func(t *task.Task) (class int, at task.Time) {
		if !final(t) {
			return 2, max(t.NotBefore, t.DueSince) // T4
		}
		if t.Excess {
			return -1, t.FinishedAt
		}
		return map[task.Status]int{task.Success: 0, task.Failure: 1}[t.Status], t.FinishedAt
	}
	slices.SortFunc(ts, func(a, b *task.Task) int {
		classA, atA := rank(a)
		classB, atB := rank(b)
		return cmp.Or(cmp.Compare(classA, classB), cmp.Compare(atA, atB), cmp.Compare(m.born[name(a)], m.born[name(b)]))
	})
	return ts[:min(n, int64(len(ts)))]
}

// purgeTask removes a task that does not run. With a task of an operation, the whole operation goes, once nothing of it runs.
func (m *Model) purgeTask(k task.Key) bool {
	t := m.Tasks[k]
	if t == nil {
		return false // it went with an operation
	} else if t.Role != task.RoleNone {
		return m.purgeOp(task.Key{Namespace: t.Namespace, ID: t.Parent})
	}
	m.remove(k)
	return true
}

func (m *Model) purgeOp(k task.Key) bool {
	o := m.Operations[k]
	if o.Removing || len(m.parts(o, func(t *task.Task) bool { return t.Lease != nil })) > 0 {
		return false
	}
	m.removeOp(k)
	return true
}

// purgeOps removes up to n operations that pass, the oldest first.
func (m *Model) purgeOps(n int64, pass func(o *task.Operation) bool) (gone int64) {
	ks := slices.SortedFunc(maps.Keys(m.Operations), func(a, b task.Key) int { return cmp.Compare(m.bornOps[a], m.bornOps[b]) })
	for _, k := range ks {
		if o := m.Operations[k]; gone < n && o != nil && pass(o) && m.purgeOp(k) {
			gone++
		}
	}
	return gone
}

// trimBehavior drops versions that nothing needs. If the behavior is being purged, it drops tasks, too (M2, B8).
func (m *Model) trimBehavior(c task.TrimBehavior) (r task.Result) {
	k := task.Key{Namespace: c.Namespace, ID: c.Name}
	if !m.runs(c.Token) {
		return task.Result{Code: task.Halt}
	} else if c.Max < 0 || c.Max > 1000 {
		return task.Result{Code: task.InvalidCommand}
	} else if m.Behaviors[k] == nil {
		return task.Result{}
	}
	if m.Behaviors[k].Purge {
		for _, t := range m.idle(k, c.Max) {
			if m.purgeTask(name(t)) {
				r.Count++
			}
		}
		r.Count += m.purgeOps(c.Max-r.Count, func(o *task.Operation) bool { return has(o, k) })
		m.deleted(c.Token, "task", c.Namespace, int(r.Count))
		if m.Behaviors[k] == nil { // its last task is gone
			m.deleted(c.Token, "behavior", c.Namespace, 1)
			r.Changed = true
			return r
		}
		r.Left = m.left(k)
	}
	b, pinned, keep := *m.Behaviors[k], m.pinned(k), 5
	if b.Deleted {
		keep = 0
	}
	surplus := len(b.Versions) - keep
	b.Versions = slices.DeleteFunc(slices.Clone(b.Versions), func(v task.Version) bool { surplus--; return surplus >= 0 && !pinned[v.Version] })
	m.deleted(c.Token, "version", c.Namespace, len(m.Behaviors[k].Versions)-len(b.Versions))
	if r.Changed = r.Count > 0; len(b.Versions) < len(m.Behaviors[k].Versions) {
		b.Rev, r.Changed = 0, true
		m.Behaviors[k] = &b
		m.dropModules()
	}
	return r
}

// left counts the tasks and operations of a behavior.
func (m *Model) left(k task.Key) (n int64) {
	for _, t := range m.Tasks {
		if t.Namespace == k.Namespace && t.Behavior == k.ID {
			n++
		}
	}
	for _, o := range m.Operations {
		if has(o, k) {
			n++
		}
	}
	return n
}

// purge removes up to Max records of a namespace in PURGING. Running tasks are being cancelled and go later (N1, M2).
func (m *Model) purge(c task.PurgeNamespace) task.Result {
	switch {
	case !m.runs(c.Token):
		return task.Result{Code: task.Halt}
	case c.Max < 0 || c.Max > 1000:
		return task.Result{Code: task.InvalidCommand}
	case m.known(c.Namespace) != task.OK:
		return task.Result{Code: task.NamespaceNotFound}
	case !m.Purging(c.Namespace):
		return task.Result{Code: task.InvalidCommand}
	}
	gone := int64(0)
	for _, k := range m.behaviorsIn(c.Namespace) {
		for _, t := range m.idle(k, c.Max-gone) {
			if m.purgeTask(name(t)) {
				gone++
			}
		}
	}
	gone += m.purgeOps(c.Max-gone, func(o *task.Operation) bool { return o.Namespace == c.Namespace })
	for _, id := range slices.Sorted(maps.Keys(m.Records)) {
		if gone < c.Max && m.Records[id].Namespace == c.Namespace {
			delete(m.Records, id)
			gone++
		}
	}
	for _, k := range m.behaviorsIn(c.Namespace) {
		if gone < c.Max && m.left(k) == 0 {
			delete(m.Behaviors, k)
			gone++
		}
	}
	m.dropModules()
	m.deleted(c.Token, "purged", c.Namespace, int(gone))
	return task.Result{Count: gone, Left: m.leftIn(c.Namespace)}
}

// behaviorsIn returns the behaviors of the namespace by name, also names that only tasks have.
func (m *Model) behaviorsIn(ns string) []task.Key {
	names := map[task.Key]bool{}
	for k := range m.Behaviors {
		names[k] = k.Namespace == ns
	}
	for _, t := range m.Tasks {
		names[task.Key{Namespace: t.Namespace, ID: t.Behavior}] = t.Namespace == ns
	}
	maps.DeleteFunc(names, func(_ task.Key, in bool) bool { return !in })
	return slices.SortedFunc(maps.Keys(names), func(a, b task.Key) int { return cmp.Compare(a.ID, b.ID) })
}

// leftIn counts all records of a namespace.
func (m *Model) leftIn(ns string) int64 {
	u := m.Usage(ns)
	return u.Tasks + u.Operations + u.Records + int64(len(m.behaviorsIn(ns)))
}

// endPurge makes a namespace PURGED that holds nothing any longer. It forgets a namespace that has been PURGED for long
// enough.
func (m *Model) endPurge(c task.EndPurge, got task.Result) task.Result {
	old := m.Spaces[c.Namespace]
	switch {
	case !m.runs(c.Token):
		return task.Result{Code: task.Halt}
	case old == nil:
		return task.Result{Code: task.NamespaceNotFound}
	case old.Status == task.NamespaceIsPurged && c.Forget > 0 && old.ChangedAt+task.Time(c.Forget) <= m.Now:
		delete(m.Spaces, c.Namespace)
		return task.Result{Changed: true}
	case old.Status == task.NamespaceIsPurged:
		return m.spaceAnswer(task.OK, c.Namespace, got)
	case old.Status != task.NamespaceIsPurging:
		return task.Result{Code: task.InvalidCommand}
	case m.leftIn(c.Namespace) > 0:
		return task.Result{Code: task.NamespaceNotEmpty, Left: m.leftIn(c.Namespace)}
	}
	n := *old
	n.Status, n.ChangedAt, n.Bucket, n.BucketAt, n.Rev = task.NamespaceIsPurged, m.Now, 0, 0, 0
	m.Spaces[c.Namespace] = &n
	maps.DeleteFunc(m.Instances, func(i instance, _ int64) bool { return i.namespace == c.Namespace })
	r := m.spaceAnswer(task.OK, c.Namespace, got)
	r.Changed = true
	return r
}

// Keep returns how long final tasks of a behavior are kept, and how many. Where its policy says nothing, the namespace decides; where
// that says nothing either, 3 and 14 days (T9, M2).
func (m *Model) Keep(k task.Key) (success, failure task.Millis, count int64) {
	p := task.Policy{}
	if v := m.Version(&task.Task{Namespace: k.Namespace, Behavior: k.ID}, ""); v != nil {
		p = v.Policy
	}
	const day = 24 * 3_600_000
	r := m.Spaces[k.Namespace].Retention
	return cmp.Or(p.KeepSuccess, r.Success, 3*day), cmp.Or(p.KeepFailure, r.Failure, 14*day), p.KeepCount
}
