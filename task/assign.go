package task

// Assign gives a due task to a session (SPEC L1). Refused unless the task still has this rev and is due, and the
// session is alive and has a free slot. Plan makes them.
type Assign struct {
	Key     Key    `cbor:"1,keyasint"`
	Rev     uint64 `cbor:"2,keyasint"`
	Session uint64 `cbor:"3,keyasint"`

	External *Acceptor `cbor:"4,keyasint,omitempty"` // instead of Session: an external lease (SPEC section 8)
}

// Acceptor is who takes an external lease (SPEC J2).
type Acceptor struct {
	Worker       string `cbor:"1,keyasint"`
	Lease        Millis `cbor:"2,keyasint,omitempty"` // 0: the behavior's
	MaxNotBefore Time   `cbor:"3,keyasint,omitempty"` // tasks due up to then may be taken early; 0: only due ones
	Request      string `cbor:"4,keyasint,omitempty"` // the same request gets the same tasks
}

func (c Assign) apply(m *Machine) Result {
	s := m.sessions[c.Session]
	if s == nil {
		return refuse(SessionNotFound, "the session has ended")
	}
	if m.drained[s.session.Node] {
		return refuse(WorkerDrained, "the session's node is being drained")
	}
	r := m.store.get(c.Key)
	if r == nil || r.task.Rev != c.Rev || !m.eligible(r.task) {
		return refuse(NotEligible, "the task is gone, has changed or is not due")
	}
	t := r.task
	if int64(len(s.leases)) >= s.session.Slots {
		return refuse(NoFreeSlot, "the session runs as many tasks as it has slots")
	}
	v := m.version(r.behavior, t.Version)
	if v == nil {
		return refuse(ModuleMissing, "the behavior has no version to run")
	}
	session := *s.session
	session.Seq++
	m.putSession(s, &session)

	m.token++
	n := *t
	n.Version, n.Status = v.Version, Running // pinned from here on (SPEC B2)
	n.Result, n.Error, n.Progress, n.Ended = Payload{}, nil, Payload{}, nil
	n.NotBefore, n.StartedAt, n.FinishedAt = 0, max(m.now, 1), 0
	n.Attempt++
	n.Lease = &Lease{Token: m.token, Session: session.ID, Seq: session.Seq, Worker: session.Worker, Node: session.Node}
	m.put(r, &n)
	m.emit(Event{Kind: TaskAssigned, Task: &n, Lease: n.Lease, Session: s.session})
	return Result{Task: &n}
}

// eligible reports whether t may be started now: SPEC T3, and not when its deadline is over and only a Tick is missing
// that says so.
func (m *Machine) eligible(t *Task) bool {
	return t.Status != Running && t.NotBefore != 0 && t.NotBefore <= m.now && !m.deadlinePassed(t)
}
