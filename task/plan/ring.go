package plan

import "github.com/taskrt/taskrt/task/queue"

// Ring holds the acceptors of one behavior in a plan. The acceptor that waits longest gets the next task, and goes to the end if it wants more. So if
// there are too few tasks, every acceptor gets one before any gets two.
type Ring struct {
	Behavior uint32 // Queues.Number
	seats    []Seat
}

// Seat is an acceptor's place in a ring.
type Seat struct {
	Worker int    // what the caller knows it by
	Slots  int64  // how many tasks it wants, at least one
	Order  uint64 // an acceptor that waits longer has a lower one; unique
	Until  int64  // it takes tasks early that are due by then
}

// Rings returns the rings. The ring of the acceptor that waits longest comes first.
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

// Next returns the worker that gets the next task, or -1.
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

// waits reports whether an acceptor in the ring takes a task that is due at that time. Acceptors that do not take it leave, because they take no
// later tasks either.
func (r *Ring) waits(at int64) bool {
	for len(r.seats) > 0 && r.seats[0].Until < at {
		r.seats = r.seats[1:]
	}
	return len(r.seats) > 0
}

// earlyLooks bounds how many tasks that cannot be taken early a plan looks at per behavior, so that its cost does not grow with them. Tasks behind
// these are found when these are taken or due.
const earlyLooks = 256

// Early gives the acceptors of a ring tasks before their time, by not_before, when all due tasks have been given out (SPEC J2). start says whether a
// task may start at its time, and how package queue knows it. give is told which worker gets it.
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

// earlyKey names slots that early tasks share.
type earlyKey struct {
	key   string
	holds bool
}
