package plan

import (
	"math"
	"slices"
	"testing"

	"github.com/taskrt/taskrt/task/queue"
	"github.com/taskrt/taskrt/task/table"
)

// world is what waits. Tasks were created in the order of their rows.
type world struct {
	rows  queue.Rows
	board queue.Board
	not   map[*queue.Row]bool // rows that may not start
	of    []*queue.Queues
	in    []*space // the namespace of each behavior
	given []pick
}

// pick is a row with whom it was given to.
type pick struct {
	row    *queue.Row
	worker int
}

func newWorld(in ...*space) *world {
	w := &world{not: map[*queue.Row]bool{}, in: in}
	w.rows = queue.NewRows(func(h table.Handle) uint64 { return uint64(h) })
	w.board = queue.NewBoard(&w.rows, w)
	for i := range in {
		q := queue.NewQueues()
		q.Number = uint32(i)
		w.of = append(w.of, &q)
	}
	return w
}

func (w *world) Waiting(r *queue.Row) queue.Task { return queue.Task{Created: uint64(r.ID)} }

func (w *world) give(r *queue.Row, worker int) { w.given = append(w.given, pick{r, worker}) }

func (w *world) mayStart(r *queue.Row) bool { return !w.not[r] }

// due lets a task of a behavior wait since an instant.
func (w *world) due(behavior int, since int64) *queue.Row {
	r, q := w.rows.Add(), w.of[behavior]
	r.Behavior = q.Number
	x := w.Waiting(r)
	w.board.EnterDue(q, r, &x, since)
	return r
}

// later lets a task of a behavior wait for an instant.
func (w *world) later(behavior int, at int64) *queue.Row {
	r, q := w.rows.Add(), w.of[behavior]
	r.Behavior = q.Number
	x := w.Waiting(r)
	w.board.EnterFuture(q, r, &x, at)
	return r
}

// space is a namespace.
type space struct{ name, weight, slots, held, left int64 }

func (s *space) Share(int64) Share {
	return Share{Name: string(rune('a' + s.name)), Weight: s.weight, Slots: s.slots, Held: s.held, Left: s.left}
}

func newSpace(name, weight int64) *space {
	return &space{name: name, weight: weight, left: math.MaxInt64}
}

// plan lets sessions take what waits; limit, if positive, is every behavior's.
func (w *world) plan(shares *Shares, most, limit int64, sessions ...Session) []pick {
	w.given = nil
	p := New(shares, 0)
	p.Sessions = sessions
	if !p.Begin(most) {
		return nil
	}
	var all []Candidate
	for i := range p.Sessions {
		all = append(all, Candidate{Session: i})
	}
	for _, l := range w.board.Lanes {
		p.AddLane(l, &w.rows, p.Group(w.in[l.Behavior]), p.Budget(l.Behavior, limit, 0), all)
	}
	p.Run(w.mayStart, w.give)
	return w.given
}

func want(t *testing.T, got []pick, want ...pick) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestOrder: what waits longest goes first, to whom has most slots free, as far as limits, budgets and slots go.
func TestOrder(t *testing.T) {
	one := newSpace(0, 0)
	w := newWorld(one, one)
	b, a, c := w.due(0, 20), w.due(1, 10), w.due(0, 30)
	s, r := Session{Worker: 7, ID: 1, Slots: 1}, Session{Worker: 8, ID: 2, Slots: 2}
	want(t, w.plan(nil, 9, 0, s, r), pick{a, 8}, pick{b, 7}, pick{c, 8})
	want(t, w.plan(nil, 9, 0, r, s, s), pick{a, 8}, pick{b, 7}, pick{c, 8}) // a session counts once, and by its ID
	want(t, w.plan(nil, 2, 0, r, s), pick{a, 8}, pick{b, 7})
	want(t, w.plan(nil, 9, 1, r, s), pick{a, 8}, pick{b, 7})
	want(t, w.plan(nil, 9, 0, s), pick{a, 7})
	want(t, w.plan(nil, 9, 0))
	w.not[a] = true
	want(t, w.plan(nil, 9, 0, s), pick{b, 7})
	one.left = 1
	want(t, w.plan(nil, 9, 0, r), pick{b, 8})
}

// TestAhead: a session takes short tasks beyond its slots, unless a task before them waits for one.
func TestAhead(t *testing.T) {
	one := newSpace(0, 0)
	for _, short := range []bool{true, false} {
		w := newWorld(one, one)
		a, b := w.due(0, 10), w.due(1, 20)
		w.given = nil
		p := New(nil, 0)
		p.Sessions = []Session{{Slots: 0, Least: -2, Each: 1}}
		p.Begin(9)
		for _, l := range w.board.Lanes {
			p.AddLane(l, &w.rows, p.Group(one), nil, []Candidate{{Short: short || l.Behavior == 1}})
		}
		if p.Run(w.mayStart, w.give); short {
			want(t, w.given, pick{a, 0}, pick{b, 0})
		} else {
			want(t, w.given)
		}
	}
}

// TestWeights: over many plans namespaces get slots by their weights, and who did not wait has nothing saved up.
func TestWeights(t *testing.T) {
	a, b, c := newSpace(0, 10), newSpace(1, 30), newSpace(2, 10)
	w := newWorld(a, b, c)
	for range 2000 {
		w.due(0, 1)
		w.due(1, 2)
	}
	var s Shares
	got := map[uint32]int{}
	round := func(n int) {
		for range n {
			for _, given := range w.plan(&s, 1, 0, Session{Slots: 1}) { // it runs for 100 ms
				x := w.Waiting(given.row)
				w.board.LeaveDue(w.of[given.row.Behavior], given.row, &x)
				w.in[given.row.Behavior].held += 100
				got[given.row.Behavior]++
			}
		}
	}
	round(400)
	if ratio := float64(got[1]) / float64(got[0]); ratio < 2.8 || ratio > 3.2 {
		t.Errorf("%v: one to %.2f, want one to three", got, ratio)
	}
	for range 2000 {
		w.due(2, 3)
	}
	clear(got)
	round(200)
	if got[2] < 35 || got[2] > 45 {
		t.Errorf("%v: who comes late gets its share from then on, and no more", got)
	}
}

// TestTurns: acceptors take turns, who waits longest first.
func TestTurns(t *testing.T) {
	one := newSpace(0, 0)
	w := newWorld(one)
	var rows []*queue.Row
	for i := range int64(5) {
		rows = append(rows, w.due(0, i))
	}
	w.given = nil
	p := New(nil, 0)
	p.AddSeat(0, Seat{Worker: 1, Slots: 3, Order: 9})
	p.AddSeat(0, Seat{Worker: 2, Slots: 1, Order: 5})
	p.Begin(9)
	p.AddExternal(w.board.Lanes[0], &w.rows, p.Group(one), nil, p.Ring(0))
	p.Run(w.mayStart, w.give)
	want(t, w.given, pick{rows[0], 2}, pick{rows[1], 1}, pick{rows[2], 1}, pick{rows[3], 1})
	if p.Ring(1) != nil || len(p.Rings()) != 1 || p.Rings()[0].Next() != -1 {
		t.Error("somebody is left in a ring")
	}
}

// TestEarly: what is not due yet goes to those who take it so early, in the order of its time.
func TestEarly(t *testing.T) {
	one := newSpace(0, 0)
	w := newWorld(one)
	a, b, c := w.later(0, 100), w.later(0, 200), w.later(0, 300)
	early := func(may func(*queue.Row) bool) []pick {
		w.given = nil
		p := New(nil, 0)
		p.AddSeat(0, Seat{Worker: 1, Slots: 2, Order: 1, Until: 100})
		p.AddSeat(0, Seat{Worker: 2, Slots: 2, Order: 2, Until: 250})
		p.Begin(9)
		for _, r := range p.Rings() {
			p.Early(r, w.of[r.Behavior], p.Group(one), nil, func(r *queue.Row) (queue.Task, bool) { return w.Waiting(r), may(r) }, w.give)
		}
		return w.given
	}
	want(t, early(func(*queue.Row) bool { return true }), pick{a, 1}, pick{b, 2})
	want(t, early(func(r *queue.Row) bool { return r != a && r != c }), pick{b, 2})
	for range earlyLooks {
		w.later(0, 50)
	}
	want(t, early(func(r *queue.Row) bool { return r == a }))
}
