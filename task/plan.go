package task

import (
	"cmp"
	"math"
	"slices"
)

// Free is a worker that can take tasks now: a connected session with credits, or an acceptor that waits (SPEC J2).
type Free struct {
	Session uint64
	Slots   int                                // free slots
	Ready   func(module string, v string) bool // nil: everything; module is a Module.Digest

	// Ahead is how many tasks of short behaviors it takes besides, to run them when a slot is free, where nobody has one
	// free now. Each is by how many that falls with each slot that another behavior takes.
	Ahead, Each int
	Short       func(module string, index int32) bool // nil: none; index is a Policy.Index

	// The rest is set for an acceptor, and Session and Ready are not: it wants up to Slots tasks of one external behavior.
	External            *Acceptor
	Namespace, Behavior string
	Order               uint64 // who waits longer has the lower one; unique
}

// takes reports whether it has the module of a version.
func (f *Free) takes(v *Version) bool { return f.Ready == nil || f.Ready(v.Module, v.Version) }

// planner is one call of Plan.
type planner struct {
	m        *Machine
	left     int64         // assignments that may still be made
	sessions []freeSession // by ID
	rings    []*ring       // acceptors per behavior, who waits longest first
	ringOf   map[*behaviorRow]*ring
	budgets  map[*behaviorRow]*int64 // what max_concurrent leaves, of behaviors that have one
	lanes    []*planLane             // a binary min-heap by current task
	plan     []Assign
}

type freeSession struct {
	id    uint64
	slots int64 // negative: so many are to wait there
	least int64 // how far down slots may go with short behaviors; not above 0
	free  *Free
}

// planLane is a lane that somebody free can run: sessions that are ready for its module, or acceptors.
type planLane struct {
	cursor lineCursor
	ready  []candidate
	ring   *ring  // instead, for an external version
	budget *int64 // nil: no max_concurrent
}

// candidate is a session that is ready for a lane.
type candidate struct {
	session int // index into planner.sessions
	short   bool
}

// Plan returns up to max assignments for the leader to propose, at most one per task and never more per worker than it
// has free slots, and takes ahead (SPEC L1): due tasks in T4 order, then those that acceptors take before their time
// (SPEC J2). It changes nothing; Apply checks each of them again, and accepts them all if nothing else comes between.
//
// Tasks are looked at lane by lane: a lane that nobody free is ready for, or whose behavior may not start another task,
// is skipped whole, and what a limit per key holds up is in no lane. So the cost grows with the number of lanes, workers
// and assignments, and not with the number of waiting tasks, blocked or not (SPEC L11). A session that has more slots
// free goes first, which spreads work over the cluster; then the lower ID. Nothing is taken ahead of a task that comes
// first in order and waits for a slot of the same session. Acceptors take turns, see ring.
func (m *Machine) Plan(free []Free, max int) []Assign {
	p := planner{m: m}
	total := p.addSessions(free)
	for _, slots := range p.addAcceptors(free) {
		total = min(total, math.MaxInt64-slots) + slots // workers say how many slots they have: two may say all
	}
	if p.left = min(total, int64(max)); p.left <= 0 {
		return nil
	}
	p.bound()
	for _, l := range m.lanes {
		p.addLane(l)
	}
	for p.left > 0 && len(p.lanes) > 0 {
		p.step(p.lanes[0])
	}
	p.early()
	return p.plan
}

// step looks at the first task of all lanes, which is l's, and moves on.
func (p *planner) step(l *planLane) {
	if l.budget != nil && *l.budget <= 0 {
		p.dropLane()
		return
	}
	if t := p.m.task(l.cursor.row); p.m.eligible(t, p.m.now) {
		a := Assign{Key: t.Key(), Rev: t.Rev}
		if !p.choose(l, &a) {
			p.dropLane()
			return
		}
		p.assign(a, l.budget)
	}
	if l.cursor.next(); l.cursor.row == nil {
		p.dropLane()
	} else {
		p.down(0)
	}
}

func (p *planner) assign(a Assign, budget *int64) {
	p.plan = append(p.plan, a)
	p.left--
	if budget != nil {
		*budget--
	}
}

// addSessions takes up the free sessions that the machine knows and returns how many slots they have.
func (p *planner) addSessions(free []Free) (total int64) {
	for i := range free {
		f := &free[i]
		s := p.m.sessions[f.Session]
		if f.External != nil || s == nil || p.m.drained[s.session.Node] {
			continue
		}
		room := s.session.Slots - int64(len(s.leases))
		slots := min(int64(f.Slots), room)
		if all := min(int64(f.Slots)+int64(f.Ahead), room); all > 0 {
			p.sessions = append(p.sessions, freeSession{f.Session, slots, slots - all, f})
		}
	}
	slices.SortStableFunc(p.sessions, func(a, b freeSession) int { return cmp.Compare(a.id, b.id) })
	p.sessions = slices.CompactFunc(p.sessions, func(a, b freeSession) bool { return a.id == b.id })
	for i := range p.sessions {
		slots := p.sessions[i].slots - p.sessions[i].least
		total = min(total, math.MaxInt64-slots) + slots
	}
	return total
}

// addLane takes up a lane if its behavior may start tasks, its version is known and somebody free can run it.
func (p *planner) addLane(l *lane) {
	b := l.behavior
	if !b.limits.open || b.full() {
		return
	}
	v := p.m.version(b, l.version)
	if v == nil {
		return
	}
	pl := &planLane{}
	if v.Module == "" {
		if pl.ring = p.ringOf[b]; pl.ring == nil {
			return
		}
	} else {
		for i := range p.sessions {
			if f := p.sessions[i].free; f.takes(v) {
				pl.ready = append(pl.ready, candidate{i, f.Short != nil && f.Short(v.Module, v.Policy.Index)})
			}
		}
		if len(pl.ready) == 0 {
			return
		}
	}
	pl.budget = p.budget(b)
	pl.cursor = l.queue.cursor(&p.m.store)
	p.lanes = append(p.lanes, pl)
	for i := len(p.lanes) - 1; i > 0; { // sift up
		parent := (i - 1) / 2
		if !p.less(i, parent) {
			break
		}
		p.lanes[i], p.lanes[parent] = p.lanes[parent], p.lanes[i]
		i = parent
	}
}

// budget returns how many tasks of b may still start, shared by its lanes; nil for no limit.
func (p *planner) budget(b *behaviorRow) *int64 {
	if b.limits.concurrent <= 0 {
		return nil
	}
	left := p.budgets[b]
	if left == nil {
		if p.budgets == nil {
			p.budgets = map[*behaviorRow]*int64{}
		}
		left = new(int64)
		*left = b.limits.concurrent - b.running
		p.budgets[b] = left
	}
	return left
}

// choose fills in who the lane's next task goes to and reports whether there is somebody.
func (p *planner) choose(l *planLane, a *Assign) bool {
	if l.ring != nil {
		a.External = l.ring.next()
		return a.External != nil
	}
	var best *freeSession
	short := false
	for _, c := range l.ready {
		s := &p.sessions[c.session]
		if (s.slots > 0 || c.short && s.slots > s.least) && (best == nil || s.slots > best.slots) {
			best, short = s, c.short
		}
	}
	if best == nil {
		for _, c := range l.ready {
			s := &p.sessions[c.session]
			s.least = s.slots
		}
		return false
	}
	best.slots--
	if !short {
		best.least = min(0, best.least+int64(best.free.Each))
	}
	a.Session = best.id
	return true
}

func (p *planner) less(a, b int) bool {
	return p.lanes[a].cursor.spot.less(p.lanes[b].cursor.spot)
}

// dropLane takes the first lane out.
func (p *planner) dropLane() {
	last := len(p.lanes) - 1
	p.lanes[0] = p.lanes[last]
	p.lanes = p.lanes[:last]
	if last > 0 {
		p.down(0)
	}
}

func (p *planner) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(p.lanes) {
			return
		}
		if child+1 < len(p.lanes) && p.less(child+1, child) {
			child++
		}
		if !p.less(child, i) {
			return
		}
		p.lanes[i], p.lanes[child] = p.lanes[child], p.lanes[i]
		i = child
	}
}

// NextTick returns, per clock, when a Tick would next do something; 0: never. A time that has passed means now: a Tick
// is overdue or has left something over. A Tick at these times always changes something, so that a leader that
// proposes it then never spins.
func (m *Machine) NextTick() (wall Time, lease LeaseTime) {
	if n := m.futures.head(); n != nil {
		wall = Time(n.key)
	}
	if n := m.deadlines.head(); n != nil {
		wall = sooner(wall, Time(n.key))
	}
	if m.fanout.busy.len() > 0 || m.doomed.len() > 0 || len(m.crowded) > 0 {
		wall = sooner(wall, max(m.now, 1))
	}
	if n := m.expiries.head(); n != nil {
		lease = max(LeaseTime(n.key), 1)
	}
	if n := m.keyExpiries.head(); n != nil {
		lease = sooner(lease, max(LeaseTime(n.key), 1))
	}
	for _, h := range [...]*heap[*row]{&m.losses, &m.overruns} {
		if n := h.head(); n != nil {
			lease = sooner(lease, max(LeaseTime(n.key), 1))
		}
	}
	return wall, lease
}
