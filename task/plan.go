package task

import (
	"cmp"
	"math"
	"slices"

	"github.com/taskrt/taskrt/task/queue"
	"github.com/taskrt/taskrt/task/table"
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
	shares   *Shares       // nil: none
	left     int64         // assignments that may still be made
	sessions []freeSession // by ID
	rings    []*ring       // acceptors per behavior, who waits longest first
	ringOf   map[*behaviorRow]*ring
	budgets  map[*behaviorRow]*int64 // what max_concurrent leaves, of behaviors that have one
	groupOf  map[*namespaceRow]*planGroup
	groups   planGroups
	assigns  []Assign
}

type freeSession struct {
	id    uint64
	row   *sessionRow
	slots int64 // negative: so many are to wait there
	least int64 // how far down slots may go with short behaviors; not above 0
	free  *Free
}

// planLane is a lane that somebody free can run: sessions that are ready for its module, or acceptors.
type planLane struct {
	cursor queue.Cursor
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
// has free slots, and takes ahead (SPEC L1): due tasks, of each namespace in T4 order, and between namespaces by their weights
// (SPEC N2); then those that acceptors take before their time (SPEC J2). It changes nothing; Apply checks each of them again, and
// accepts them all if nothing else comes between.
//
// Tasks are looked at lane by lane: a lane that nobody free is ready for, or whose behavior may not start another task,
// is skipped whole, and what a limit per key holds up is in no lane. So the cost grows with the number of lanes, workers
// and assignments, and not with the number of waiting tasks, blocked or not (SPEC L11). A session that has more slots
// free goes first, which spreads work over the cluster; then the lower ID. Nothing is taken ahead of a task that comes
// first in order and waits for a slot of the same session. Acceptors take turns, see ring.
func (m *Machine) Plan(free []Free, max int) []Assign {
	p := planner{m: m}
	return p.plan(free, max)
}

func (p *planner) plan(free []Free, max int) []Assign {
	total := p.addSessions(free)
	for _, slots := range p.addAcceptors(free) {
		total = min(total, math.MaxInt64-slots) + slots // workers say how many slots they have: two may say all
	}
	if p.left = min(total, int64(max)); p.left <= 0 {
		return nil
	}
	p.bound()
	for _, l := range p.m.board.Lanes {
		p.addLane(l)
	}
	p.rank()
	for p.left > 0 && p.groups.Len() > 0 {
		g := p.groups.Head().Item
		p.step(g, g.lanes.Head().Item)
		p.settle()
	}
	p.early()
	return p.assigns
}

// step looks at the first task of all lanes of a group, which is l's, and moves on.
func (p *planner) step(g *planGroup, l *planLane) {
	if l.budget != nil && *l.budget <= 0 {
		g.lanes.Pop()
		return
	}
	if t := p.m.task(l.cursor.Row); p.m.eligible(t, p.m.now) {
		a := Assign{Key: t.Key(), Rev: t.Rev}
		if !p.choose(l, &a) {
			g.lanes.Pop()
			return
		}
		p.assign(a, g, l.budget)
	}
	if l.cursor.Next(); l.cursor.Row == nil {
		g.lanes.Pop()
		return
	}
	at, head := l.cursor.Spot(), g.lanes.Head()
	head.Key, head.Tie = at.Key, at.Tie
	g.lanes.Sink()
}

func (p *planner) assign(a Assign, g *planGroup, budget *int64) {
	p.assigns = append(p.assigns, a)
	p.left--
	g.left--
	if a.External == nil {
		g.held++
	}
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
			p.sessions = append(p.sessions, freeSession{f.Session, s, slots, slots - all, f})
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
func (p *planner) addLane(l *queue.Lane) {
	b := p.m.behaviorOf(l)
	if !b.mayStart() {
		return
	}
	v := p.m.version(b, l.Version)
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
			if f := p.sessions[i].free; f.takes(v) && p.m.takes(l.Suspects, p.sessions[i].row.session) {
				pl.ready = append(pl.ready, candidate{i, f.Short != nil && f.Short(v.Module, v.Policy.Index)})
			}
		}
		if len(pl.ready) == 0 {
			return
		}
	}
	pl.budget = p.budget(b)
	pl.cursor = l.Queue.Cursor(&p.m.store.rows)
	at := pl.cursor.Spot()
	p.group(b).lanes.Push(at.Key, at.Tie, table.Untold{}, pl)
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

// NextTick returns, per clock, when a Tick would next do something; 0: never. A time that has passed means now: a Tick
// is overdue or has left something over. A Tick at these times always changes something, so that a leader that
// proposes it then never spins.
func (m *Machine) NextTick() (wall Time, lease LeaseTime) {
	if r, at := m.board.Next(); r != nil {
		wall = Time(at)
	}
	if n := m.deadlines.Head(); n != nil {
		wall = sooner(wall, Time(n.Key))
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
	for _, h := range [...]*heap[*row]{&m.losses, &m.overruns} {
		if n := h.Head(); n != nil {
			lease = sooner(lease, max(LeaseTime(n.Key), 1))
		}
	}
	return wall, lease
}
