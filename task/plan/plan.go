// Package plan gives waiting tasks to free workers (SPEC L1, T4). Within a namespace, tasks go in the order of T4. Between namespaces, slots go
// by weight (N2). The session with the most free slots gets the next task, and acceptors take turns (J2). The package reads the lanes of
// package queue and changes nothing. Package task says what the tasks of a lane need, and which workers have it.
//
// A plan goes lane by lane. It leaves a whole lane out if no free worker is ready for the lane, or if the lane's behavior may not start
// another task. So the cost grows with the number of lanes, workers and assignments. It does not grow with the number of waiting tasks, blocked
// or not (SPEC L11). Like package task it is pure: equal lanes, workers and shares make equal plans.
package plan

import (
	"cmp"
	"math"
	"slices"

	"github.com/taskrt/taskrt/task/queue"
	"github.com/taskrt/taskrt/task/table"
)

// Session is a session that has room.
type Session struct {
	Worker int // the caller's name for it
	ID     uint64
	Slots  int64 // free slots; negative: so many tasks are to wait there
	Least  int64 // how far down Slots may go with short behaviors; not above 0
	Each   int64 // by how much Least rises with each slot that another behavior takes
}

// Candidate is a session that is ready for a lane.
type Candidate struct {
	Session int // index into Plan.Sessions
	Short   bool
}

// Plan is a plan under way. The caller adds sessions and seats, then calls Begin, adds lanes, and calls Run.
type Plan struct {
	Sessions []Session // by ID after Begin
	Left     int64     // tasks that may still be given out

	shares  *Shares // nil: none
	at      int64
	rings   []*Ring
	ringOf  map[uint32]*Ring  // by behavior
	budgets map[uint32]*int64 // how many tasks max_concurrent still allows, for behaviors that have one
	groupOf map[Space]*Group
	groups  groups
}

// lane is a lane that a free worker can run: sessions that are ready for its module, or acceptors.
type lane struct {
	cursor queue.Cursor
	ready  []Candidate
	ring   *Ring  // instead of ready, for an external version
	budget *int64 // nil: no max_concurrent
}

// New begins a plan at an instant of the lease clock. shares makes up for slots that earlier plans could not share evenly; nil: it makes up for nothing.
func New(shares *Shares, at int64) Plan { return Plan{shares: shares, at: at} }

// Begin says how many tasks are to be given out at most, and reports whether there can be any.
func (p *Plan) Begin(most int64) bool {
	slices.SortStableFunc(p.Sessions, func(a, b Session) int { return cmp.Compare(a.ID, b.ID) })
	p.Sessions = slices.CompactFunc(p.Sessions, func(a, b Session) bool { return a.ID == b.ID })
	total := int64(0)
	more := func(slots int64) {
		total = min(total, math.MaxInt64-slots) + slots // no overflow: each of two workers may claim any number of slots
	}
	for i := range p.Sessions {
		more(p.Sessions[i].Slots - p.Sessions[i].Least)
	}
	for _, r := range p.rings {
		slices.SortFunc(r.seats, func(a, b Seat) int { return cmp.Compare(a.Order, b.Order) })
		for i := range r.seats {
			more(r.seats[i].Slots)
		}
	}
	slices.SortFunc(p.rings, func(a, b *Ring) int { return cmp.Compare(a.seats[0].Order, b.seats[0].Order) })
	p.Left = min(total, most)
	return p.Left > 0
}

// AddLane takes up a lane for sessions.
func (p *Plan) AddLane(l *queue.Lane, rows *queue.Rows, g *Group, budget *int64, ready []Candidate) {
	p.add(g, &lane{cursor: l.Queue.Cursor(rows), ready: ready, budget: budget})
}

// AddExternal takes up a lane for acceptors.
func (p *Plan) AddExternal(l *queue.Lane, rows *queue.Rows, g *Group, budget *int64, r *Ring) {
	p.add(g, &lane{cursor: l.Queue.Cursor(rows), ring: r, budget: budget})
}

func (p *Plan) add(g *Group, l *lane) {
	at := l.cursor.Spot()
	g.lanes.Push(at.Key, at.Tie, table.Untold{}, l)
}

// Budget returns how many tasks of a behavior may still start, shared by its lanes; nil for no limit.
func (p *Plan) Budget(behavior uint32, limit, running int64) *int64 {
	if limit <= 0 {
		return nil
	}
	left := p.budgets[behavior]
	if left == nil {
		if p.budgets == nil {
			p.budgets = map[uint32]*int64{}
		}
		left = new(int64)
		*left = limit - running
		p.budgets[behavior] = left
	}
	return left
}

// Run gives out what is in the lanes. A session takes nothing ahead of a task that comes first in order and waits for one of its slots. mayStart says
// what a lane does not tell of a task: whether its deadline lets it start. give is told which worker gets the task, by the Worker of a Session or Seat.
func (p *Plan) Run(mayStart func(*queue.Row) bool, give func(r *queue.Row, worker int)) {
	p.rank()
	for p.Left > 0 && p.groups.Len() > 0 {
		g := p.groups.Head().Item
		p.step(g, g.lanes.Head().Item, mayStart, give)
		p.settle()
	}
}

// step looks at the first task of a group's lanes, which is the first of l, and moves on.
func (p *Plan) step(g *Group, l *lane, mayStart func(*queue.Row) bool, give func(r *queue.Row, worker int)) {
	if spent(l.budget) {
		g.lanes.Pop()
		return
	}
	if r := l.cursor.Row; mayStart(r) {
		worker, session := p.choose(l)
		if worker < 0 {
			g.lanes.Pop()
			return
		}
		give(r, worker)
		p.Take(g, l.budget, session)
	}
	if l.cursor.Next(); l.cursor.Row == nil {
		g.lanes.Pop()
		return
	}
	at, head := l.cursor.Spot(), g.lanes.Head()
	head.Key, head.Tie = at.Key, at.Tie
	g.lanes.Sink()
}

// spent reports whether a budget is used up.
func spent(budget *int64) bool { return budget != nil && *budget <= 0 }

// Take notes that a task of a group was given out. It holds a slot if it went to a session.
func (p *Plan) Take(g *Group, budget *int64, session bool) {
	p.Left--
	g.Left--
	if session {
		g.held++
	}
	if budget != nil {
		*budget--
	}
}

// choose returns the worker that gets the lane's next task, or -1, and whether it is a session.
func (p *Plan) choose(l *lane) (worker int, session bool) {
	if l.ring != nil {
		return l.ring.Next(), false
	}
	var best *Session
	short := false
	for _, c := range l.ready {
		s := &p.Sessions[c.Session]
		if (s.Slots > 0 || c.Short && s.Slots > s.Least) && (best == nil || s.Slots > best.Slots) {
			best, short = s, c.Short
		}
	}
	if best == nil {
		for _, c := range l.ready {
			s := &p.Sessions[c.Session]
			s.Least = s.Slots
		}
		return -1, true
	}
	best.Slots--
	if !short {
		best.Least = min(0, best.Least+best.Each)
	}
	return best.Worker, true
}
