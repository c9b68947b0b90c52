package task

import "github.com/taskrt/taskrt/task/queue"

// sweep removes at most Limit.Sweep final tasks of namespaces that have too many: it is the hard bound of SPEC T9. Namespaces go by name, and tasks
// that finished first go first. Retention by age or by number is the business of maintenance, which names what it deletes.
func (m *Machine) sweep() {
	for budget := m.limits.Sweep; len(m.crowded) > 0 && budget > 0; budget-- {
		m.drop(m.oldestFinal(m.crowded[0].space.Name))
		m.tickChange = true
	}
}

// oldestFinal returns the namespace's final task that finished first, leaving out tasks that are kept for ever.
func (m *Machine) oldestFinal(namespace string) *row {
	var oldest *row
	var at queue.Spot
	var room [3]*queue.Line
	for _, b := range m.behaviorsIn(namespace) {
		for _, q := range b.sweepable(room[:0]) {
			if r := q.Head(&m.store.Rows); r != nil && (oldest == nil || q.Spot(&m.store.Rows, r).Less(at)) {
				oldest, at = r, q.Spot(&m.store.Rows, r)
			}
		}
	}
	return oldest
}

// sweepable adds the queues of final tasks that are not kept for ever.
func (b *behaviorRow) sweepable(queues []*queue.Line) []*queue.Line {
	queues = append(queues, &b.Excess)
	for _, s := range [...]Status{Success, Failure} {
		if !b.limits.keeps(s) {
			queues = append(queues, b.finalQueue(s))
		}
	}
	return queues
}

// sooner returns the earlier of two times. 0 means never.
func sooner[T Time | LeaseTime](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
