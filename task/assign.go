package task

import (
	"cmp"

	"github.com/taskrt/taskrt/task/hurdle"
	"github.com/taskrt/taskrt/task/queue"
)

// Assign gives a due task to a session, or to an external worker (SPEC L1). It is refused unless the task still has this rev and is due, and the
// session is alive and has a free slot. Plan makes Assigns. The leader also adds Assigns that are Fresh to submits, before there is anything to plan.
//
//fields:wire value
type Assign struct {
	Key     Key    `cbor:"1,keyasint"`
	Rev     uint64 `cbor:"2,keyasint"`
	Session uint64 `cbor:"3,keyasint"`

	External *Acceptor `cbor:"4,keyasint,omitempty"` // instead of Session: an external lease (SPEC section 8)

	// Fresh stands instead of Rev. The task must have been written by a command of this same entry, and no assignable task may come before it
	// (SPEC T1, T4).
	Fresh bool `cbor:"5,keyasint,omitempty"`
}

// Acceptor is the worker that takes an external lease (SPEC J2).
//
//fields:wire pointer
type Acceptor struct {
	Worker       string `cbor:"1,keyasint" field:"shared"`
	Lease        Millis `cbor:"2,keyasint,omitempty"`                // 0: the behavior's
	MaxNotBefore Time   `cbor:"3,keyasint,omitempty"`                // tasks that are due by then may be taken early; 0: only due tasks
	Request      string `cbor:"4,keyasint,omitempty" field:"shared"` // the same request gets the same tasks
}

func (c Assign) apply(m *Machine) Result {
	if c.External != nil {
		return c.external(m)
	}
	s := m.sessions[c.Session]
	if s == nil {
		return refuse(SessionNotFound, "the session has ended")
	}
	if m.Drained(s.session.Node) {
		return refuse(WorkerDrained, "the session's node is being drained")
	}
	r := c.waiting(m, m.now)
	if r == nil {
		return notEligible()
	}
	if m.task(r).Bound != 0 && m.task(r).Bound != c.Session {
		return refuse(NotEligible, "only the session that it is bound to may run the task")
	}
	if !m.fits(m.task(r), s.session) {
		return refuse(NotEligible, "a suspect runs alone, and nothing else where suspects run")
	}
	if int64(len(s.leases)) >= s.session.Slots {
		return refuse(NoFreeSlot, "the session runs as many tasks as it has slots")
	}
	v, refusal := m.permit(r)
	if v == nil {
		return refusal
	}
	if v.Module == "" {
		return refuse(ModuleMissing, "the behavior is external: no module runs it")
	}
	session := *s.session
	session.Seq++
	m.putSession(s, &session)
	n := m.give(r, v, Lease{Session: session.ID, Seq: session.Seq, Worker: session.Worker, Node: session.Node})
	m.emit(Event{Kind: TaskAssigned, Task: n, Lease: n.Lease, Session: s.session})
	return Result{Task: n}
}

// external gives the task an external lease.
func (c *Assign) external(m *Machine) Result {
	a := c.External
	switch {
	case a.Worker == "":
		return invalid("worker", "a worker needs a name")
	case a.Lease != 0 && !validLease(a.Lease):
		return invalid("lease", "a lease lasts 1s to 1h")
	}
	r := c.waiting(m, max(m.now, a.MaxNotBefore))
	if r == nil {
		return notEligible()
	}
	v, refusal := m.permit(r)
	if v == nil {
		return refusal
	}
	if v.Module != "" {
		return refuse(NotExternal, "a module runs the behavior")
	}
	ttl := cmp.Or(a.Lease, v.Policy.Lease, defaultLease)
	n := m.give(r, v, Lease{Worker: a.Worker, TTL: ttl, Expires: later(m.leaseNow, ttl), Request: a.Request})
	m.emit(Event{Kind: TaskAssigned, Task: n, Lease: n.Lease})
	return Result{Task: n}
}

// waiting returns the task's row if it is the task that c means and its time comes by until. Otherwise it returns nil.
func (c *Assign) waiting(m *Machine, until Time) *row {
	r := m.find(c.Key)
	switch {
	case r == nil || !m.eligible(m.task(r), until):
		return nil
	case c.Fresh && (m.task(r).Rev <= m.entryRev || !m.foremost(r)):
		return nil
	case !c.Fresh && m.task(r).Rev != c.Rev:
		return nil
	}
	return r
}

// foremost reports whether r comes first of its namespace (SPEC T4). It compares r only with due tasks that nothing blocks and that the same workers
// take. The leader shares between namespaces (SPEC N2). A call looks once at each lane.
func (m *Machine) foremost(r *row) bool {
	if !r.InLane {
		return false
	}
	b, rows := m.of(r), &m.store.Rows
	l := b.Lanes[laneOf(m.task(r))]
	if l.Queue.Head(rows) != r {
		return false
	}
	own := l.Queue.Spot(rows, r)
	for _, o := range m.board.Lanes {
		x := m.behaviorOf(o)
		if o != l && x.space == b.space && x.limits.open && !x.full() && o.Queue.Spot(rows, o.Queue.Head(rows)).Less(own) && m.rivals(o, l) {
			return false
		}
	}
	return true
}

// rivals reports whether two lanes of a namespace are for the same workers.
func (m *Machine) rivals(a, b *queue.Lane) bool {
	if a.Suspects != b.Suspects {
		return false
	}
	external := m.external(b)
	return m.external(a) == external && (!external || a.Behavior == b.Behavior) // an accept names one behavior
}

// external reports whether programs over HTTP take the tasks of a lane.
func (m *Machine) external(l *queue.Lane) bool {
	v := m.version(m.behaviorOf(l), l.Version)
	return v != nil && v.Module == ""
}

// behaviorOf returns the row of the behavior of a lane.
func (m *Machine) behaviorOf(l *queue.Lane) *behaviorRow { return m.numbered[l.Behavior] }

func notEligible() Result {
	return refuse(NotEligible, "the task is gone, has changed, is not due, or others come first")
}

// permit returns the version that a waiting task would run now. If its behavior may not start it, permit returns nil and the refusal.
func (m *Machine) permit(r *row) (*Version, Result) {
	v := m.version(m.of(r), m.task(r).Version)
	for h := range hurdle.Kinds {
		if no := stops(m, h, r, v); no.Code != OK {
			return nil, no
		}
	}
	return v, Result{}
}

// give makes r a running task under the lease l, and fills in l's token and start.
func (m *Machine) give(r *row, v *Version, l Lease) *Task {
	m.token++
	l.Token, l.Given = m.token, m.leaseNow
	var leased struct { // one allocation
		task  Task
		lease Lease
	}
	leased.task, leased.lease = *m.task(r), l
	n := &leased.task
	if n.Version == "" { // a cycle begins: failures before it no longer count (SPEC T8)
		n.Failures = 0
	}
	n.Version, n.Status = v.Version, Running // pinned from here on (SPEC B2)
	n.Result, n.Error, n.Progress, n.Ended = Payload{}, nil, Payload{}, nil
	n.NotBefore, n.StartedAt, n.FinishedAt = 0, max(m.now, 1), 0
	n.Attempt++
	n.Lease = &leased.lease
	m.put(r, n)
	return n
}

// eligible reports whether t may start if its time comes by until (SPEC T3). A task whose deadline has passed may not, even before a Tick ends it.
func (m *Machine) eligible(t *Task, until Time) bool {
	return t.Status != Running && t.NotBefore != 0 && t.NotBefore <= until && !m.deadlinePassed(t)
}
