package task

// What a behavior keeps for ever is bounded by its namespace's quota of tasks, and where there is none by Limit.Finals: final tasks
// beyond that are kept for the default times (SPEC T9). Whether a task is one of these is decided once, when it becomes final, and
// is part of its record; whether the others are kept for ever is what the active policy says now.

// keeps reports whether final tasks with the status are kept for ever.
func (a *allowance) keeps(s Status) bool {
	return s == Success && a.keepSuccess || s == Failure && a.keepFailure
}

// keeps reports whether a final task of b that is of no operation is kept for ever.
func (b *behaviorRow) keeps(t *Task) bool { return !t.Excess && b.limits.keeps(t.Status) }

// setExcess decides about t, which takes the place of prev: nil if it is new.
func (m *Machine) setExcess(b *behaviorRow, prev, t *Task) {
	switch {
	case !t.Final() || t.Role != RoleNone:
		t.Excess = false
	case prev == nil || !prev.Final():
		n := b.space
		t.Excess = b.limits.keeps(t.Status) && n.space.Quota.MaxTasks == 0 && n.usage.Forever >= m.limits.Finals
	}
}

// keptOtherwise counts the final tasks of b anew whose keeping next changes.
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
