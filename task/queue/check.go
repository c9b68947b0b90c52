package queue

import (
	"cmp"
	"slices"

	"github.com/taskrt/taskrt/task/table"
)

// Recount compares what is derived with what a walk over the tasks finds: Row for every task, Queues for every behavior, and then Done.
type Recount struct {
	b      *Board
	expect func(ok bool, format string, args ...any)
	queued map[*Heap]int
	lined  map[*Line]int
	found  map[*Queues]*found

	lanes    int // that hold a task
	suspects int // lanes of suspects that hold a task
	ahead    int // behaviors with later tasks
}

// found is what the walk finds for one behavior.
type found struct {
	retrying int64
	keys     map[string][]member
}

// member is a row that counts in a key.
type member struct {
	row           *Row
	created       uint64
	running, held bool
}

// Recount returns a Recount that has met no task. It reports mistakes to expect.
func (b *Board) Recount(expect func(ok bool, format string, args ...any)) *Recount {
	return &Recount{b: b, expect: expect, queued: map[*Heap]int{}, lined: map[*Line]int{}, found: map[*Queues]*found{}}
}

// At verifies that a heap holds r at pos, with this key and tie.
func (c *Recount) At(h *Heap, pos table.Pos, r *Row, key int64, tie uint64, format string, args ...any) {
	n := h.At(pos)
	c.expect(n != nil && n.Item == r && n.Key == key && n.Tie == tie, format, args...)
	c.queued[h]++
}

// Heap verifies the order of a heap, and that it holds only rows that were met.
func (c *Recount) Heap(name string, h *Heap) {
	c.expect(h.Len() == c.queued[h], "%s: %d queued, recounted %d", name, h.Len(), c.queued[h])
	err := h.Check()
	c.expect(err == nil, "%s: %v", name, err)
}

// In verifies that a line holds r.
func (c *Recount) In(l *Line, r *Row, format string, args ...any) {
	c.lined[l]++
	pos, at := *l.pos(r), l.Spot(c.b.rows, r)
	if pos > 0 {
		n := l.rest.At(pos)
		c.expect(n != nil && n.Item == r && n.Key == at.Key && n.Tie == at.Tie, format, args...)
		return
	}
	n := l.number(pos)
	ok := pos != 0 && n >= l.front && n < l.end && l.chunks[(n-l.base)/chunkRows] != nil
	c.expect(ok && l.at(n) == r.ID, format, args...)
}

// Line verifies the order of a line, and that it holds only rows that were met.
func (c *Recount) Line(name string, l *Line) {
	c.expect(l.Len() == c.lined[l], "%s: %d queued, recounted %d", name, l.Len(), c.lined[l])
	err := l.rest.Check()
	c.expect(err == nil, "%s: %v", name, err)
	n, last := 0, Spot{}
	for r := range l.run(c.b.rows) {
		at := l.Spot(c.b.rows, r)
		c.expect(n == 0 || last.Less(at), "%s: order of the run at %d", name, n)
		n, last = n+1, at
	}
	c.expect(n == l.alive && (n == 0 || l.at(l.front) != 0 && !l.last.Less(last)), "%s: %d in the run, recounted %d", name, l.alive, n)
	for i, x := range l.chunks {
		if x == nil {
			continue
		}
		taken := 0
		for _, h := range x.rows {
			if h != 0 {
				taken++
			}
		}
		c.expect(taken == x.n, "%s: chunk %d of the run", name, i)
	}
}

func (c *Recount) of(q *Queues) *found {
	n := c.found[q]
	if n == nil {
		n = &found{keys: map[string][]member{}}
		c.found[q] = n
	}
	return n
}

// Row verifies the place of a task that belongs into the queue of the kind want, at the time at. It must be in no other queue. If it is due, it must
// also be in a lane or behind its key. The user verifies its place among running and final tasks.
func (c *Recount) Row(q *Queues, r *Row, x *Task, want Kind, at int64, id string) {
	c.expect(r.Kind == want, "%s: wrong queue", id)
	c.expect(want == Runs || r.At == at, "%s: the time that its queue goes by", id)
	c.expect((r.InLane || r.Place != 0) == (want == Due), "%s: in a lane, but not due", id)
	switch want {
	case Due:
		c.In(&q.Due, r, "%s: position among the due tasks", id)
		c.due(q, r, x, id)
	case Future:
		c.At(&q.Future, r.Pos, r, at, x.Created, "%s: position or order among the later tasks", id)
		if x.Failed {
			c.of(q).retrying++
		}
	}
	key := c.b.rows.Look(r).Key
	if held := q.Limits.holds(x); q.Limits.counts(x) && (x.Running || want == Due || held) {
		c.expect(key != nil && q.Keys[x.Key] == key, "L11: %s: key", id)
		keys := c.of(q).keys
		keys[x.Key] = append(keys[x.Key], member{r, x.Created, x.Running, held})
	} else {
		c.expect(key == nil, "L11: %s: a key without a limit", id)
	}
}

// due verifies where a due task waits: in the lane of its version, or behind its key.
func (c *Recount) due(q *Queues, r *Row, x *Task, id string) {
	if x.Bound {
		c.expect(!r.InLane, "O3: %s: anybody may take it", id)
		return
	}
	e, keyed := c.b.rows.Look(r), q.Limits.counts(x)
	if !r.InLane {
		if !keyed || e.Key == nil {
			c.expect(false, "%s: no lane", id)
			return
		}
		c.At(&e.Key.team(q.Limits.holds(x)).Waiting, r.Place, r, r.Order(), x.Created, "L11: %s: place behind its key", id)
		return
	}
	l := q.Lanes[x.Lane]
	if l == nil {
		c.expect(false, "%s: its lane is not there", id)
		return
	}
	c.In(&l.Queue, r, "%s: place in its lane", id)
	if keyed && e.Key != nil {
		c.At(&e.Key.team(q.Limits.holds(x)).Promoted, e.Side, r, -r.Order(), ^x.Created, "L11: %s: place among the promoted", id)
	}
}

// Queues verifies what the tasks of a behavior add up to, under these limits.
func (c *Recount) Queues(name string, q *Queues, limits Limits) {
	n := c.of(q)
	c.expect(q.Limits == limits, "L11: %s: limits %+v, should be %+v", name, q.Limits, limits)
	c.expect(q.Retrying == n.retrying, "%s: %d retrying tasks, recounted %d", name, q.Retrying, n.retrying)
	c.Heap(name, &q.Future)
	for _, l := range [...]*Line{&q.Due, &q.Success, &q.Failure, &q.Excess} {
		c.Line(name, l)
	}
	head := q.Future.Head()
	c.expect((q.ahead != 0) == (head != nil), "%s: next task", name)
	if q.ahead != 0 && head != nil {
		n := c.b.futures.At(q.ahead)
		c.expect(n != nil && n.Item == q && n.Key == head.Key && n.Tie == head.Tie, "%s: time of the next task", name)
		c.ahead++
	}
	for v, l := range q.Lanes { // order-free: any violation will do
		c.expect(l.LaneName == v && l.Behavior == q.Number && l.Queue.t4, "%s: lane %v", name, v)
		c.Line("lane", &l.Queue)
		if l.Queue.Len() > 0 {
			c.lanes++
			if l.Suspects {
				c.suspects++
			}
			c.expect(l.index < len(c.b.Lanes) && c.b.Lanes[l.index] == l, "%s: lane %v is not listed", name, v)
		}
	}
	c.expect(len(q.Keys) == len(n.keys), "L11: %s: %d keys, recounted %d", name, len(q.Keys), len(n.keys))
	for key, k := range q.Keys { // order-free: any violation will do
		c.key(name, q, k, n.keys[key])
	}
}

// key verifies that exactly those due tasks of a key are in lanes for which the key has slots. Of the tasks that hold a slot, these are the first in
// T4 order, as many as running tasks leave slots. Of the others, they are the first, as many as there are slots that no task holds.
func (c *Recount) key(name string, q *Queues, k *Key, members []member) {
	slices.SortFunc(members, func(x, y member) int {
		return cmp.Or(cmp.Compare(x.row.Order(), y.row.Order()), cmp.Compare(x.created, y.created))
	})
	running, held := int64(0), int64(0)
	for _, m := range members {
		if m.running {
			running++
		} else if m.held {
			held++
		}
	}
	c.expect(k.Running == running && k.Held == held, "L11: %s: key %q: %d running, %d held", name, k.name, running, held)
	free := max(q.Limits.PerKey-running, 0)
	left := map[bool]int64{true: free, false: max(free-held, 0)}
	for _, m := range members {
		if m.row.Kind != Due {
			continue
		}
		c.expect(m.row.InLane == (left[m.held] > 0), "L11: %s: key %q: row %d is wrongly in a lane, or not", name, k.name, m.row.ID)
		left[m.held]--
	}
	for _, t := range [...]*Team{&k.Holders, &k.Others} {
		c.Heap("waiting behind "+k.name, &t.Waiting)
		c.Heap("promoted of "+k.name, &t.Promoted)
	}
}

// Done verifies what all behaviors add up to.
func (c *Recount) Done() {
	c.expect(c.lanes == len(c.b.Lanes) && c.suspects == c.b.suspects,
		"%d lanes listed, %d of suspects; %d and %d hold tasks", len(c.b.Lanes), c.b.suspects, c.lanes, c.suspects)
	c.expect(c.b.futures.Len() == c.ahead, "%d behaviors with later tasks, recounted %d", c.b.futures.Len(), c.ahead)
	err := c.b.futures.Check()
	c.expect(err == nil, "futures: %v", err)
}
