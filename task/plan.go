package task

import (
	"cmp"
	"math"
	"slices"
)

// Free is a worker that can take tasks now: a connected session with credits, or an acceptor that waits (SPEC J2).
type Free struct {
	Session uint64
	Slots   int                                // free slots, > 0
	Ready   func(module string, v string) bool // nil: everything; module is a Module.Digest

	// The rest is set for an acceptor, and Session and Ready are not: it wants up to Slots tasks of one external behavior.
	External            *Acceptor
	Namespace, Behavior string
	Order               uint64 // who waits longer has the lower one; unique
}

// planner is one call of Plan.
type planner struct {
	m        *Machine
	sessions []freeSession // by ID
	lanes    []*planLane   // a binary min-heap by current task
}

type freeSession struct {
	id    uint64
	slots int64
	ready func(module, v string) bool
}

// planLane is a lane that somebody free can run.
type planLane struct {
	cursor heapCursor[*row]
	ready  []int // indexes into planner.sessions
}

// Plan returns up to max assignments for the leader to propose, in T4 order, at most one per task and never more per
// session than it has free slots (SPEC L1, T4). It changes nothing; Apply checks each of them again.
//
// Tasks are looked at lane by lane: a lane that no free session is ready for is skipped whole, so the cost grows with
// the number of lanes, sessions and assignments, and not with the number of waiting tasks, blocked or not (SPEC L11).
// A session that has more slots free goes first, which spreads work over the cluster; then the lower ID.
func (m *Machine) Plan(free []Free, max int) []Assign {
	p := planner{m: m}
	total := p.addSessions(free)
	if total = min(total, int64(max)); total <= 0 {
		return nil
	}
	for _, l := range m.lanes {
		p.addLane(l)
	}
	var plan []Assign
	for int64(len(plan)) < total && len(p.lanes) > 0 {
		l := p.lanes[0]
		t := l.cursor.node().item.task
		if m.eligible(t) {
			s := p.choose(l)
			if s == nil {
				p.dropLane()
				continue
			}
			s.slots--
			plan = append(plan, Assign{Key: t.Key(), Rev: t.Rev, Session: s.id})
		}
		if l.cursor.next(); l.cursor.node() == nil {
			p.dropLane()
		} else {
			p.down(0)
		}
	}
	return plan
}

// addSessions takes up the free sessions that the machine knows and returns how many slots they have.
func (p *planner) addSessions(free []Free) (total int64) {
	for _, f := range free {
		s := p.m.sessions[f.Session]
		if s == nil || p.m.drained[s.session.Node] {
			continue
		}
		if slots := min(int64(f.Slots), s.session.Slots-int64(len(s.leases))); slots > 0 {
			p.sessions = append(p.sessions, freeSession{f.Session, slots, f.Ready})
		}
	}
	slices.SortStableFunc(p.sessions, func(a, b freeSession) int { return cmp.Compare(a.id, b.id) })
	p.sessions = slices.CompactFunc(p.sessions, func(a, b freeSession) bool { return a.id == b.id })
	for i := range p.sessions {
		slots := p.sessions[i].slots
		total = min(total, math.MaxInt64-slots) + slots // workers say how many slots they have: two may say all
	}
	return total
}

// addLane takes up a lane if its version is known and a free session is ready for it.
func (p *planner) addLane(l *lane) {
	v := p.m.version(l.behavior, l.version)
	if v == nil {
		return
	}
	pl := &planLane{}
	for i := range p.sessions {
		if ready := p.sessions[i].ready; ready == nil || ready(v.Module, v.Version) {
			pl.ready = append(pl.ready, i)
		}
	}
	if len(pl.ready) == 0 {
		return
	}
	pl.cursor = l.queue.cursor()
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

// choose returns the session that the lane's next task goes to, or nil.
func (p *planner) choose(l *planLane) *freeSession {
	var best *freeSession
	for _, i := range l.ready {
		if s := &p.sessions[i]; s.slots > 0 && (best == nil || s.slots > best.slots) {
			best = s
		}
	}
	return best
}

func (p *planner) less(a, b int) bool {
	return p.lanes[a].cursor.node().less(p.lanes[b].cursor.node())
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
	if n := m.future.head(); n != nil {
		wall = Time(n.key)
	}
	if n := m.deadlines.head(); n != nil {
		wall = sooner(wall, Time(n.key))
	}
	wall = sooner(wall, m.nextSweep())
	if n := m.expiries.head(); n != nil {
		lease = max(LeaseTime(n.key), 1)
	}
	if n := m.keyExpiries.head(); n != nil {
		lease = sooner(lease, max(LeaseTime(n.key), 1))
	}
	return wall, lease
}
