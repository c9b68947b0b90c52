package task

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

// sweep removes at most limits.Sweep final tasks: behaviors by name, successes before failures, the oldest first.
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
	for _, namespace := range [...]string{SystemNamespace, DefaultNamespace} {
		for ; m.finals[namespace] > m.limits.Finals && budget > 0; budget-- {
			m.drop(m.oldestFinal(namespace))
			m.tickChange = true
		}
	}
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
