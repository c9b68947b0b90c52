package plan

import "github.com/taskrt/taskrt/task/queue"

// Ring holds the acceptors of one behavior in a plan. The one that waits longest gets the next task and goes to the end, as long as it
// wants more: when tasks are fewer than wanted, everybody gets one before somebody gets two.
type Ring struct {
	Behavior uint32 // Queues.Number
	seats    []Seat
}

// Seat is that of an acceptor.
type Seat struct {
	Worker int    // what the caller knows it by
	Slots  int64  // how many tasks it wants, at least one
	Order  uint64 // who waits longer has the lower one; unique
	Until  int64  // tasks due up to then it takes early
}

// Rings returns the rings, the one first in which somebody waits longest.
func (p *Plan) Rings() []*Ring { return p.rings }

// Ring returns the ring of a behavior, or nil.
func (p *Plan) Ring(behavior uint32) *Ring { return p.ringOf[behavior] }

// AddSeat adds an acceptor to the ring of a behavior.
func (p *Plan) AddSeat(behavior uint32, s Seat) {
	r := p.ringOf[behavior]
	if r == nil {
		if p.ringOf == nil {
			p.ringOf = map[uint32]*Ring{}
		}
		r = &Ring{Behavior: behavior}
		p.ringOf[behavior] = r
		p.rings = append(p.rings, r)
	}
	r.seats = append(r.seats, s)
}

// Next returns who gets the next task, or -1.
func (r *Ring) Next() int {
	if len(r.seats) == 0 {
		return -1
	}
	s := r.seats[0]
	r.seats = r.seats[1:]
	if s.Slots--; s.Slots > 0 {
		r.seats = append(r.seats, s)
	}
	return s.Worker
}

// waits reports whether somebody in the ring takes tasks that are due at that time; those who do not, leave: later ones are not for them
// either.
func (r *Ring) waits(at int64) bool {
	for len(r.seats) > 0 && r.seats[0].Until < at {
		r.seats = r.seats[1:]
	}
	return len(r.seats) > 0
}

// earlyLooks bounds how many tasks that cannot be taken early a plan looks at per behavior, so that its cost does not grow with them.
// What lies behind them is found when they are taken or due.
const earlyLooks = 256

// Early gives the acceptors of a ring what they take before its time (SPEC J2), by not_before, when everything due has been given.
// start says whether a task may start at its time, and as what package queue knows it; give is told who gets it.
func (p *Plan) Early(r *Ring, q *queue.Queues, g *Group, budget *int64, start func(*queue.Row) (queue.Task, bool), give func(r *queue.Row, worker int)) {
	taken := map[earlyKey]int64{}
	looks := 0
	for c := q.Future.Cursor(); c.Node() != nil && looks < earlyLooks && p.Left > 0 && g.Left > 0; c.Next() {
		row := c.Node().Item
		if !r.waits(row.At) || spent(budget) {
			return
		}
		x, ok := start(row)
		k := earlyKey{x.Key, q.Holds(&x)}
		if !ok || q.Spare(&x) <= taken[k] {
			looks++
			continue
		}
		if q.Counts(&x) {
			taken[k]++
		}
		give(row, r.Next())
		p.Take(g, budget, false)
	}
}

// earlyKey names slots that tasks taken early have in common.
type earlyKey struct {
	key   string
	holds bool
}
