package task

// lane holds the tasks of one behavior and one pinned version that may be assigned, in T4 order: due, and not held up
// by the limit of their key; suspects, which only some sessions may run, are in one of their own (SPEC L5). What blocks one of them (a pause, max_concurrent, a module that nobody has) blocks them
// all, so that planning skips a lane whole (SPEC L11).
type lane struct {
	behavior *behaviorRow
	laneName
	queue line
	index int // in Machine.lanes while not empty
}

// laneName tells the lanes of a behavior apart.
type laneName struct {
	version  string // pinned; "" for tasks that will take the active one
	suspects bool
}

func laneOf(t *Task) laneName { return laneName{t.Version, t.Suspect} }

func (m *Machine) enterLane(r *row) {
	b, name := m.of(r), laneOf(m.task(r))
	l := b.lanes[name]
	if l == nil {
		l = &lane{behavior: b, laneName: name, queue: line{t4: true}}
		b.lanes[name] = l
	}
	if l.queue.len() == 0 {
		l.index = len(m.lanes)
		m.lanes = append(m.lanes, l)
		if l.suspects {
			m.suspectLanes++
		}
	}
	r.inLane = true
	l.queue.push(m.store, r)
}

func (m *Machine) leaveLane(r *row) {
	l := m.of(r).lanes[laneOf(m.task(r))]
	l.queue.remove(m.store, r)
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
	if l.suspects {
		m.suspectLanes--
	}
	if l.laneName != (laneName{}) {
		delete(l.behavior.lanes, l.laneName)
	}
}
