package task

import "slices"

// Retention (SPEC T9): final tasks go when they are older than the active policy of their behavior keeps them, and the
// oldest go when a namespace has too many. Ages are compared when sweeping, not when a task ends: a new version of a
// behavior changes the retention of the tasks that it finds.

// keptUntil returns when the oldest final task with the status may go; 0: not by age.
func (b *behaviorRow) keptUntil(s Status) Time {
	n := b.finalQueue(s).head()
	if n == nil || b.behavior == nil {
		return 0
	}
	v, ok := b.behavior.Find("")
	if !ok {
		return 0
	}
	keep := v.Policy.KeepSuccess
	if s == Failure {
		keep = v.Policy.KeepFailure
	}
	if keep <= 0 { // for ever
		return 0
	}
	return max(later(Time(n.key), keep), 1)
}

// sweep removes at most limits.Sweep tasks: final ones that are kept long enough, behaviors by name, successes before
// failures, the oldest first; then what is to be purged; then final ones that are too many.
func (m *Machine) sweep() {
	budget := m.limits.Sweep
	for _, b := range m.byName {
		for _, s := range [...]Status{Success, Failure} {
			for at := b.keptUntil(s); at != 0 && at <= m.now && budget > 0; at = b.keptUntil(s) {
				m.drop(b.finalQueue(s).head().item)
				m.tickChange = true
				budget--
			}
		}
	}
	budget = m.purge(budget)
	for _, namespace := range [...]string{SystemNamespace, DefaultNamespace} {
		for ; m.finals[namespace] > m.limits.Finals && budget > 0; budget-- {
			m.drop(m.oldestFinal(namespace))
			m.tickChange = true
		}
	}
}

// purge removes up to budget tasks of behaviors that were deleted with their tasks (SPEC B8), and the versions that only
// those needed. It returns what is left of the budget. Running tasks go when they have ended.
func (m *Machine) purge(budget int64) int64 {
	for _, b := range m.byName {
		r := b.purgeable()
		if r == nil || budget <= 0 {
			continue
		}
		for ; r != nil && budget > 0; budget-- {
			m.drop(r)
			r = b.purgeable()
		}
		if m.tickChange = true; b.behavior == nil {
			continue // it was the last task, and the record went with it
		}
		next := *b.behavior
		if next.Versions = b.kept(slices.Clone(next.Versions), 0); len(next.Versions) < len(b.behavior.Versions) {
			m.putBehavior(b, &next)
			m.dropModules()
		}
	}
	return budget
}

// purgeable returns a task of b that is to be removed, or nil: of the final ones the oldest, then what is due first.
func (b *behaviorRow) purgeable() *row {
	if b.behavior == nil || !b.behavior.Purge {
		return nil
	}
	for _, queue := range [...]*heap[*row]{&b.success, &b.failure, &b.due, &b.future} {
		if n := queue.head(); n != nil {
			return n.item
		}
	}
	return nil
}

// oldestFinal returns the final task of the namespace that finished first.
func (m *Machine) oldestFinal(namespace string) *row {
	var oldest *heapNode[*row]
	for _, b := range m.byName {
		if b.namespace != namespace {
			continue
		}
		for _, s := range [...]Status{Success, Failure} {
			if n := b.finalQueue(s).head(); n != nil && (oldest == nil || n.less(oldest)) {
				oldest = n
			}
		}
	}
	return oldest.item
}

// nextSweep returns when a Tick would next remove something; 0: never.
func (m *Machine) nextSweep() Time {
	var next Time
	for _, b := range m.byName {
		next = sooner(next, b.keptUntil(Success))
		next = sooner(next, b.keptUntil(Failure))
		if b.purgeable() != nil {
			next = sooner(next, max(m.now, 1))
		}
	}
	for _, n := range m.finals { // order-free: the sooner of times commutes
		if n > m.limits.Finals {
			next = sooner(next, max(m.now, 1))
		}
	}
	return next
}

// sooner returns the earlier of two times of which 0 means never.
func sooner[T Time | LeaseTime](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
