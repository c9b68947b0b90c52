package task

import (
	"cmp"
	"slices"
)

type behaviorName struct{ namespace, name string }

// behaviorRow is what the machine holds for one behavior name: its record, and what is derived for its tasks. It stays
// when the record is gone, for as long as tasks wait for a behavior of that name (SPEC I5).
type behaviorRow struct {
	behaviorName
	behavior *Behavior
	lanes    map[string]*lane // by pinned version, "" for tasks that will take the active one
	success  heap[*row]       // final tasks by (finished_at, created): what retention sweeps (SPEC T9)
	failure  heap[*row]
	pins     map[string]int64 // tasks per pinned version (SPEC B2)
}

// lane holds the eligible tasks of one behavior and one pinned version in T4 order. They are blocked or runnable
// together, so that planning skips a lane whole.
type lane struct {
	behavior *behaviorRow
	version  string
	queue    heap[*row]
	index    int // in Machine.lanes while not empty
}

// row returns the row of a behavior name, made on first use.
func (m *Machine) behaviorRow(namespace, name string) *behaviorRow {
	k := behaviorName{namespace, name}
	b := m.behaviors[k]
	if b == nil {
		b = &behaviorRow{behaviorName: k, lanes: map[string]*lane{}, pins: map[string]int64{}}
		m.behaviors[k] = b
		i, _ := slices.BinarySearchFunc(m.byName, k, func(b *behaviorRow, k behaviorName) int {
			return cmp.Or(cmp.Compare(b.namespace, k.namespace), cmp.Compare(b.name, k.name))
		})
		m.byName = slices.Insert(m.byName, i, b)
	}
	return b
}

// order is the T4 order of due tasks: each priority step is worth one minute of waiting.
func order(t *Task) int64 { return int64(t.NotBefore) - int64(t.Priority)*60_000 }

// finalQueue returns the queue of final tasks with the status.
func (b *behaviorRow) finalQueue(s Status) *heap[*row] {
	if s == Success {
		return &b.success
	}
	return &b.failure
}

// enqueue enters the record of r into everything derived.
func (m *Machine) enqueue(r *row) {
	t := r.task
	switch {
	case t.Status == Running:
		m.sessions[t.Lease.Session].take(r)
	case t.NotBefore == 0:
		r.queue = r.behavior.finalQueue(t.Status)
		r.queue.push(int64(t.FinishedAt), t.CreatedRev, &r.pos, r)
		m.finals[t.Namespace]++
	case t.NotBefore > m.now:
		r.queue = &m.future
		r.queue.push(int64(t.NotBefore), t.CreatedRev, &r.pos, r)
	default:
		m.enterLane(r)
	}
	if awaitsDeadline(t) {
		m.deadlines.push(int64(t.Deadline), t.CreatedRev, &r.deadline, r)
	}
	if t.Version != "" {
		r.behavior.pins[t.Version]++
	}
	*m.counts.of(t)++
}

// dequeue takes the record of r out of everything derived.
func (m *Machine) dequeue(r *row) {
	t := r.task
	if t.Status == Running {
		m.sessions[t.Lease.Session].release(r)
	} else {
		r.queue.remove(&r.pos)
		if t.NotBefore == 0 {
			m.finals[t.Namespace]--
		}
	}
	if r.lane != nil && r.lane.queue.len() == 0 {
		m.leaveLanes(r.lane)
	}
	r.queue, r.lane = nil, nil
	if r.deadline != 0 {
		m.deadlines.remove(&r.deadline)
	}
	if t.Version != "" {
		if r.behavior.pins[t.Version]--; r.behavior.pins[t.Version] == 0 {
			delete(r.behavior.pins, t.Version)
		}
	}
	*m.counts.of(t)--
}

// awaitsDeadline reports whether a Tick must look at t when its deadline comes (SPEC R1).
func awaitsDeadline(t *Task) bool { return t.Deadline != 0 && !t.Final() && t.CancelCode == "" }

// enterLane puts an eligible task into its lane.
func (m *Machine) enterLane(r *row) {
	t := r.task
	l := r.behavior.lanes[t.Version]
	if l == nil {
		l = &lane{behavior: r.behavior, version: t.Version}
		r.behavior.lanes[t.Version] = l
	}
	if l.queue.len() == 0 {
		l.index = len(m.lanes)
		m.lanes = append(m.lanes, l)
	}
	r.queue, r.lane = &l.queue, l
	l.queue.push(order(t), t.CreatedRev, &r.pos, r)
}

// leaveLanes forgets an empty lane: versions come and go.
func (m *Machine) leaveLanes(l *lane) {
	last := len(m.lanes) - 1
	m.lanes[l.index] = m.lanes[last]
	m.lanes[l.index].index = l.index
	m.lanes[last] = nil
	m.lanes = m.lanes[:last]
	if l.version != "" {
		delete(l.behavior.lanes, l.version)
	}
}

// of returns the total that t counts in.
func (c *Counts) of(t *Task) *int64 {
	switch {
	case t.Status == Created:
		return &c.Created
	case t.Status == Running:
		return &c.Running
	case t.NotBefore != 0:
		return &c.Retrying
	case t.Status == Success:
		return &c.Success
	default:
		return &c.Failure
	}
}
