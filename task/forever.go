package task

// A namespace's quota of tasks bounds how many tasks its behaviors keep for ever. Without a quota Limit.Finals does. Further final tasks are kept for
// the default times (SPEC T9). When a task becomes final, Excess in its record says whether it is such a further task. For all other final tasks the
// active policy says whether they are kept for ever.

// keeps reports whether final tasks with the status are kept for ever.
func (a *allowance) keeps(s Status) bool {
	return s == Success && a.keepSuccess || s == Failure && a.keepFailure
}

// keeps reports whether a final task of b that belongs to no operation is kept for ever.
func (b *behaviorRow) keeps(t *Task) bool { return !t.Excess && b.limits.keeps(t.Status) }

// setExcess sets t.Excess. t replaces prev, which is nil if t is new.
func (m *Machine) setExcess(b *behaviorRow, prev, t *Task) {
	switch {
	case !t.Final() || t.Role != RoleNone:
		t.Excess = false
	case prev == nil || !prev.Final():
		n := b.space
		t.Excess = b.limits.keeps(t.Status) && n.space.Quota.MaxTasks == 0 && n.usage.Forever >= m.limits.Finals
	}
}

// keptOtherwise counts final tasks of b again if next changes whether they are kept for ever.
func (m *Machine) keptOtherwise(b *behaviorRow, next *allowance) {
	for _, s := range [...]Status{Success, Failure} {
		if was, is := b.limits.keeps(s), next.keeps(s); was != is {
			n := int64(b.finalQueue(s).Len())
			m.countFinals(b.space, was, -n)
			m.countFinals(b.space, is, n)
		}
	}
}

// Keeps reports which final tasks of a behavior are kept for ever, whatever its namespace says of numbers (SPEC T9).
func (m *Machine) Keeps(namespace, behavior string) (success, failure bool) {
	b := m.behaviors[behaviorName{namespace, behavior}]
	if b == nil {
		return false, false
	}
	return b.limits.keepSuccess, b.limits.keepFailure
}
