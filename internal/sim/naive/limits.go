package naive

import "github.com/taskrt/taskrt/task"

// order is T4: the task with the smaller number runs first.
func order(t *task.Task) int64 { return int64(max(t.NotBefore, t.DueSince)) - int64(t.Priority)*60_000 }

// Before reports whether a runs before b (T4). Neither of them runs now.
func Before(a, b *task.Task) bool {
	return order(a) < order(b) || order(a) == order(b) && a.CreatedRev < b.CreatedRev
}

// holds reports whether a waiting task keeps its key: with key_order strict, a task that has started its cycle does.
func (m *Model) holds(t *task.Task) bool {
	v := m.Version(t, "")
	return v != nil && v.Policy.KeyStrict && t.Status != task.Running && !final(t) && t.Version != ""
}

// Busy says how many tasks of t's behavior run, and how many of them have its key.
func (m *Model) Busy(t *task.Task) (all, key int64) {
	for _, o := range m.Tasks {
		if o.Status == task.Running && o.Namespace == t.Namespace && o.Behavior == t.Behavior {
			if all++; o.ConcurrencyKey == t.ConcurrencyKey {
				key++
			}
		}
	}
	return all, key
}

// SpaceFull reports whether as many tasks of the namespace run as its max_running allows (N2).
func (m *Model) SpaceFull(ns string) bool {
	limit, n := m.Spaces[ns].MaxRunning, int64(0)
	for _, o := range m.Tasks {
		if o.Status == task.Running && o.Namespace == ns {
			n++
		}
	}
	return limit > 0 && n >= limit
}

// Blocked reports whether a limit keeps the waiting task t from being assigned now (L11); perhaps: see KeyBlocked.
func (m *Model) Blocked(t *task.Task) (blocked, perhaps bool) {
	all, _ := m.Busy(t)
	if v := m.Version(t, ""); v != nil && v.Policy.MaxConcurrent > 0 && all >= v.Policy.MaxConcurrent {
		return true, false
	}
	return m.KeyBlocked(t)
}

// KeyBlocked reports whether t's key has no slot left for t. Each running task has a slot. With key_order strict, so has each task
// that has started its cycle, due or not. The rest go in the order of T4. perhaps says that the machine may say either,
// because t wants to run before its time, or a task before it is past its deadline and only a Tick is missing.
func (m *Model) KeyBlocked(t *task.Task) (blocked, perhaps bool) {
	v := m.Version(t, "")
	if v == nil || v.Policy.MaxPerKey == 0 || t.ConcurrencyKey == "" {
		return false, false
	}
	_, taken := m.Busy(t)
	rivals := int64(0)
	for _, o := range m.Tasks {
		if o.Status == task.Running || final(o) || o.Namespace != t.Namespace || o.Behavior != t.Behavior ||
			o.ConcurrencyKey != t.ConcurrencyKey || o.ID == t.ID {
			continue
		}
		switch due := o.NotBefore <= m.Now; {
		case m.holds(o) && !m.holds(t): // its slot is not free
			taken++
		case m.holds(o) != m.holds(t) || !due:
		case t.NotBefore > m.Now || o.Deadline != 0 && o.Deadline <= m.Now:
			rivals++
		case Before(o, t):
			taken++
		}
	}
	return taken >= v.Policy.MaxPerKey, taken < v.Policy.MaxPerKey && taken+rivals >= v.Policy.MaxPerKey
}
