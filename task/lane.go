package task

// lane holds the tasks of one behavior and one pinned version that may be assigned, in T4 order: due, and not held up
// by the limit of their key. What blocks one of them (a pause, max_concurrent, a module that nobody has) blocks them
// all, so that planning skips a lane whole (SPEC L11).
type lane struct {
	behavior *behaviorRow
	version  string
	queue    line
	index    int // in Machine.lanes while not empty
}

func (m *Machine) enterLane(r *row) {
	t := m.task(r)
	b := m.of(r)
	l := b.lanes[t.Version]
	if l == nil {
		l = &lane{behavior: b, version: t.Version, queue: line{t4: true}}
		b.lanes[t.Version] = l
	}
	if l.queue.len() == 0 {
		l.index = len(m.lanes)
		m.lanes = append(m.lanes, l)
	}
	r.inLane = true
	l.queue.push(&m.store, r)
}

func (m *Machine) leaveLane(r *row) {
	l := m.of(r).lanes[m.task(r).Version]
	l.queue.remove(&m.store, r)
	r.inLane = false
	if l.queue.len() == 0 {
		m.forgetLane(l)
	}
}

// forgetLane forgets an empty lane: versions come and go.
func (m *Machine) forgetLane(l *lane) {
	last := len(m.lanes) - 1
	m.lanes[l.index] = m.lanes[last]
	m.lanes[l.index].index = l.index
	m.lanes[last] = nil
	m.lanes = m.lanes[:last]
	if l.version != "" {
		delete(l.behavior.lanes, l.version)
	}
}
