package task

import (
	"github.com/taskrt/taskrt/task/plan"
	"github.com/taskrt/taskrt/task/queue"
)

// Free is a worker that can take tasks now: a connected session with credits, or an acceptor that waits (SPEC J2).
type Free struct {
	Session uint64
	Slots   int                                // free slots
	Ready   func(module string, v string) bool // nil: everything; module is a Module.Digest

	// Ahead is how many more tasks of short behaviors the worker takes, to run them when a slot is free, if no other
	// worker has a free slot now. Each is how much Ahead falls for each slot that another behavior takes.
	Ahead, Each int
	Short       func(module string, index int32) bool // nil: none; index is a Policy.Index

	// The rest is set for an acceptor, which has no Session and no Ready. It wants up to Slots tasks of one external behavior.
	External            *Acceptor
	Namespace, Behavior string
	Order               uint64 // unique; an acceptor that waits longer has a lower one
}

// Takes reports whether the worker has the module of a version.
func (f *Free) Takes(v *Version) bool { return f.Ready == nil || f.Ready(v.Module, v.Version) }

// Room returns how many tasks a session's worker takes beside those that it runs already, and how many tasks of short behaviors.
func (f *Free) Room(s *Session, running int64) (slots, all int64) {
	room := s.Slots - running
	return min(int64(f.Slots), room), min(int64(f.Slots)+int64(f.Ahead), room)
}

// Plan returns up to max assignments for the leader to propose, at most one for each task, and never more for a worker than it has free slots and
// takes ahead (SPEC L1). Due tasks come first: within a namespace in T4 order, and between namespaces by their weights (SPEC N2). Then come tasks
// that acceptors take early (SPEC J2). Plan changes nothing. Apply checks each assignment again, and accepts all of them if nothing else comes
// between. Package plan says what Plan costs.
func (m *Machine) Plan(free []Free, max int) []Assign { return m.plan(nil, free, max) }

// Shares is what a leader remembers to share the workers' slots between namespaces by their weights (SPEC N2). The zero
// Shares is ready. One goroutine uses it.
type Shares struct{ kept plan.Shares }

// Plan is Machine.Plan. It also makes up for slots that former plans could not share evenly.
func (s *Shares) Plan(m *Machine, free []Free, max int) []Assign { return m.plan(&s.kept, free, max) }

// planner is one call of Plan.
type planner struct {
	plan.Plan
	m       *Machine
	free    []Free
	met     *Task // the record of the last row that was asked about
	metRow  *row
	assigns []Assign
}

func (m *Machine) plan(shares *plan.Shares, free []Free, most int) []Assign {
	p := planner{Plan: plan.New(shares, int64(m.leaseNow)), m: m, free: free}
	for i := range free {
		p.addSession(i, &free[i])
	}
	p.addAcceptors()
	if !p.Begin(int64(most)) {
		return nil
	}
	p.bound()
	for _, l := range m.board.Lanes {
		p.addLane(l)
	}
	p.Run(p.mayStart, p.give)
	for _, r := range p.Rings() {
		if p.Left > 0 {
			p.early(r)
		}
	}
	return p.assigns
}

// mayStart reports whether a task in a lane may start now. It looks only at what the lane does not tell.
func (p *planner) mayStart(r *row) bool { return p.m.eligible(p.task(r), p.m.now) }

// give plans an assignment.
func (p *planner) give(r *row, worker int) {
	t, f := p.task(r), &p.free[worker]
	p.assigns = append(p.assigns, Assign{Key: t.Key(), Rev: t.Rev, Session: f.Session, External: f.External})
}

// task returns the record of r. It remembers the last record, because each look makes a record anew.
func (p *planner) task(r *row) *Task {
	if p.metRow != r {
		p.met, p.metRow = p.m.task(r), r
	}
	return p.met
}

// addSession takes up a free session that the machine knows.
func (p *planner) addSession(i int, f *Free) {
	s := p.m.sessions[f.Session]
	if f.External != nil || s == nil || p.m.Drained(s.session.Node) {
		return
	}
	if slots, all := f.Room(s.session, int64(len(s.leases))); all > 0 {
		p.Sessions = append(p.Sessions, plan.Session{Worker: i, ID: f.Session, Slots: slots, Least: slots - all, Each: int64(f.Each)})
	}
}

// addAcceptors takes up the acceptors whose behavior may start a task and has a waiting one. Other acceptors cost one look.
func (p *planner) addAcceptors() {
	var name behaviorName
	var b *behaviorRow // the behavior of that name; acceptors of one behavior often stand together
	for i := range p.free {
		f := &p.free[i]
		if f.External == nil || f.Slots <= 0 {
			continue
		}
		if n := (behaviorName{f.Namespace, f.Behavior}); n != name {
			name, b = n, p.m.behaviors[n]
		}
		if b == nil || !b.mayStart() || b.Due.Len()+b.Future.Len() == 0 {
			continue
		}
		p.AddSeat(b.Number, plan.Seat{Worker: i, Slots: int64(f.Slots), Order: f.Order, Until: int64(f.External.MaxNotBefore)})
	}
}

// budget returns how many tasks of b may still start, or nil if there is no limit.
func (p *planner) budget(b *behaviorRow) *int64 {
	return p.Budget(b.Number, b.limits.concurrent, b.running)
}

// addLane takes up a lane if its behavior may start tasks, its version is known and a free worker can run it.
func (p *planner) addLane(l *queue.Lane) {
	b := p.m.behaviorOf(l)
	if !b.mayStart() {
		return
	}
	v := p.m.version(b, l.Version)
	if v == nil {
		return
	}
	rows := &p.m.store.Rows
	if v.Module == "" {
		if ring := p.Ring(b.Number); ring != nil {
			p.AddExternal(l, rows, p.Group(b.space), p.budget(b), ring)
		}
		return
	}
	var ready []plan.Candidate
	for i := range p.Sessions {
		s := &p.Sessions[i]
		if f := &p.free[s.Worker]; f.Takes(v) && p.m.takes(l.Suspects, p.m.sessions[s.ID].session) {
			ready = append(ready, plan.Candidate{Session: i, Short: f.Short != nil && f.Short(v.Module, v.Policy.Index)})
		}
	}
	if len(ready) > 0 {
		p.AddLane(l, rows, p.Group(b.space), p.budget(b), ready)
	}
}

// bound gives free sessions the cleanups that only they may run. Cleanups come before everything else: there are few, and nobody else can take them.
func (p *planner) bound() {
	for i := range p.Sessions {
		s := &p.Sessions[i]
		for c := p.m.sessions[s.ID].due.Cursor(); c.Node() != nil && s.Slots > 0 && p.Left > 0; c.Next() {
			r := c.Node().Item
			b, t := p.m.of(r), p.task(r)
			if !b.mayStart() || !p.m.eligible(t, p.m.now) {
				continue
			}
			v, budget := p.m.version(b, t.Version), p.budget(b)
			g := p.Group(b.space)
			if g.Left <= 0 || v == nil || v.Module == "" || !p.free[s.Worker].Takes(v) || budget != nil && *budget <= 0 {
				continue
			}
			s.Slots--
			p.give(r, s.Worker)
			p.Take(g, budget, true)
		}
	}
}

// early gives acceptors tasks before their time.
func (p *planner) early(r *plan.Ring) {
	b := p.m.numbered[r.Behavior]
	p.Early(r, &b.Queues, p.Group(b.space), p.budget(b), func(r *row) (queue.Task, bool) {
		t := p.task(r)
		v := p.m.version(b, t.Version)
		return *facts(t), v != nil && v.Module == "" && p.m.eligible(t, t.NotBefore)
	}, p.give)
}

// NextTick returns, for each clock, when a Tick would next do something. 0: never. A time that has passed means now: a Tick is overdue, or has left
// something over. A Tick at these times always changes something, so a leader that proposes it then never spins.
func (m *Machine) NextTick() (wall Time, lease LeaseTime) {
	if r, at := m.board.Next(); r != nil {
		wall = Time(at)
	}
	if n := m.deadlines.Head(); n != nil {
		wall = sooner(wall, Time(n.Key))
	}
	for _, at := range [...]int64{m.access.Next(), m.audit.Next()} {
		if at != 0 {
			wall = sooner(wall, Time(at))
		}
	}
	if m.fanout.busy.Len() > 0 || m.doomed.Len() > 0 || len(m.crowded) > 0 {
		wall = sooner(wall, max(m.now, 1))
	}
	if n := m.expiries.Head(); n != nil {
		lease = max(LeaseTime(n.Key), 1)
	}
	if at, ok := m.answers.NextExpiry(); ok {
		lease = sooner(lease, max(LeaseTime(at), 1))
	}
	if at := m.blobs.Holds.Next(); at != 0 {
		lease = sooner(lease, LeaseTime(at))
	}
	for _, h := range [...]*heap[*row]{&m.losses, &m.overruns} {
		if n := h.Head(); n != nil {
			lease = sooner(lease, max(LeaseTime(n.Key), 1))
		}
	}
	return wall, lease
}
