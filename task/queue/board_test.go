package queue

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/taskrt/taskrt/task/table"
)

// world is a Board with the tasks that it is told of.
type world struct {
	tasks map[table.Handle]*Task
	rows  Rows
	board Board
	of    []*Queues
	bound Heap // those that are bound and due
}

func (w *world) Waiting(r *Row) Task { return *w.tasks[r.ID] }

func newWorld(behaviors int) *world {
	w := &world{tasks: map[table.Handle]*Task{}}
	w.rows = NewRows(func(h table.Handle) uint64 { return w.tasks[h].Created })
	w.board = NewBoard(&w.rows, w)
	for i := range behaviors {
		q := NewQueues()
		q.Number = uint32(i)
		w.of = append(w.of, &q)
	}
	return w
}

// enter lets r wait, or run, as x says: from a time on that has passed by now, or will.
func (w *world) enter(r *Row, kind Kind, at int64) {
	q, x := w.of[r.Behavior], w.tasks[r.ID]
	x.Running = kind == Runs
	switch kind {
	case Runs:
		r.Kind = Runs
	case Future:
		w.board.EnterFuture(q, r, x, at)
	case Due:
		w.board.EnterDue(q, r, x, at)
		if x.Bound {
			w.bound.Push(r.Order(), x.Created, &r.Place, r)
		}
	case Final:
		w.board.EnterFinal(&q.Success, r, x, at)
	}
	w.board.EnterKey(q, r, x)
	w.board.Settle(q, w.rows.Look(r).Key)
}

// leave undoes enter.
func (w *world) leave(r *Row) {
	q, x := w.of[r.Behavior], w.tasks[r.ID]
	key := w.rows.Look(r).Key
	w.board.LeaveKey(q, r, x)
	switch r.Kind {
	case Future:
		w.board.LeaveFuture(q, r, x)
	case Due:
		w.board.LeaveDue(q, r, x)
		if x.Bound {
			w.bound.Remove(&r.Place)
		}
	case Final:
		q.Success.Remove(&w.rows, r)
	}
	r.Kind = Nowhere
	if e := w.rows.Has(r); e != nil {
		e.Key = nil
	}
	w.board.Settle(q, key)
	w.rows.Tidy(r)
}

// add makes a row of a task.
func (w *world) add(behavior uint32, x Task) *Row {
	r := w.rows.Add()
	r.Behavior = behavior
	w.tasks[r.ID] = &x
	return r
}

// check recounts everything and returns what is wrong.
func (w *world) check() (wrong []string) {
	c := w.board.Recount(func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	})
	for h, x := range w.tasks {
		r := w.rows.Row(h)
		c.Row(w.of[r.Behavior], r, x, r.Kind, r.At, fmt.Sprint("row ", h))
		if x.Bound && r.Kind == Due {
			c.At(&w.bound, r.Place, r, r.Order(), x.Created, "row %d among the bound ones", h)
		}
		if r.Kind == Final {
			c.In(&w.of[r.Behavior].Success, r, "row %d among the final ones", h)
		}
	}
	for i, q := range w.of {
		c.Queues(fmt.Sprint("behavior ", i), q, q.Limits)
	}
	c.Heap("bound", &w.bound)
	c.Done()
	return wrong
}

// free returns by plain means the rows of a behavior that a worker may take, in order.
func (w *world) free(q *Queues) []*Row {
	var due []*Row
	running, held := map[string]int64{}, map[string]int64{}
	for h, x := range w.tasks {
		r := w.rows.Row(h)
		if w.of[r.Behavior] != q {
			continue
		}
		switch {
		case x.Running:
			running[x.Key]++
		case x.Begun && (r.Kind == Due || r.Kind == Future):
			held[x.Key]++
		}
		if r.Kind == Due && !x.Bound {
			due = append(due, r)
		}
	}
	slices.SortFunc(due, func(a, b *Row) int {
		return cmp.Or(cmp.Compare(a.Order(), b.Order()), cmp.Compare(w.tasks[a.ID].Created, w.tasks[b.ID].Created))
	})
	type slot struct {
		key   string
		holds bool
	}
	used := map[slot]int64{}
	return slices.DeleteFunc(due, func(r *Row) bool {
		x := w.tasks[r.ID]
		if q.Limits.PerKey == 0 || x.Key == "" {
			return false
		}
		s := slot{x.Key, q.Limits.Strict && x.Begun}
		free := max(q.Limits.PerKey-running[x.Key], 0)
		if !s.holds && q.Limits.Strict {
			free = max(free-held[x.Key], 0)
		}
		used[s]++
		return used[s] > free
	})
}

// TestBoard compares a board with plain lists: what a worker may take, and in which order, after every step.
func TestBoard(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	w := newWorld(3)
	var all []*Row
	now := int64(0)
	for n := range 2_500 {
		now += random.Int64N(1_000)
		for r, at := w.board.Next(); r != nil && at <= now; r, at = w.board.Next() {
			w.leave(r)
			w.enter(r, Due, at)
		}
		switch i := random.IntN(10); {
		case i == 0 && n%7 == 0: // other limits
			q, next := w.of[random.IntN(3)], Limits{PerKey: random.Int64N(4)}
			next.Strict = next.PerKey > 0 && random.IntN(2) == 0
			w.board.SetLimits(q, next, func(yield func(*Row) bool) {
				for _, r := range all {
					if w.of[r.Behavior] == q && r.Kind == Runs && !yield(r) {
						return
					}
				}
			})
		case i < 5 && len(all) < 200:
			r := w.add(uint32(random.IntN(3)), Task{
				Created: uint64(n + 1), Lane: LaneName{Version: []string{"", "v", "w"}[random.IntN(3)], Suspects: random.IntN(9) == 0},
				Key: []string{"", "a", "b"}[random.IntN(3)], Bound: random.IntN(20) == 0, Failed: random.IntN(3) == 0,
			})
			if r.Priority = int8(random.IntN(3)); w.tasks[r.ID].Bound {
				w.tasks[r.ID].Key = ""
			}
			all = append(all, r)
			w.enter(r, Due, now)
		case len(all) > 0:
			at := random.IntN(len(all))
			r := all[at]
			w.leave(r)
			x := w.tasks[r.ID]
			switch random.IntN(6) {
			case 0:
				delete(w.tasks, r.ID)
				w.rows.Remove(r)
				all = slices.Delete(all, at, at+1)
			case 1:
				x.Begun = false
				w.enter(r, Final, now)
			case 2, 3:
				x.Begun = false
				w.enter(r, Runs, 0)
			case 4:
				x.Begun = x.Lane.Version != ""
				w.enter(r, Future, now+1+random.Int64N(5_000))
			default:
				x.Begun = x.Lane.Version != ""
				w.enter(r, Due, now-random.Int64N(50_000))
			}
		}
		if wrong := w.check(); wrong != nil {
			t.Fatalf("step %d: %v", n, wrong)
		}
		for _, q := range w.of {
			var got []*Row
			for _, l := range w.board.Lanes {
				if l.Behavior == q.Number {
					for r := range l.Queue.All(&w.rows) {
						got = append(got, r)
					}
					if l.Queue.Head(&w.rows) == nil {
						t.Fatalf("step %d: an empty lane", n)
					}
				}
			}
			want := w.free(q)
			if len(got) != len(want) || slices.ContainsFunc(want, func(r *Row) bool { return !slices.Contains(got, r) || !r.InLane }) {
				t.Fatalf("step %d: %d rows may be taken, want %d", n, len(got), len(want))
			}
		}
	}
	for _, r := range all {
		w.leave(r)
		delete(w.tasks, r.ID)
		w.rows.Remove(r)
	}
	if wrong := w.check(); wrong != nil || len(w.board.Lanes) > 0 || w.board.Suspects() {
		t.Errorf("%v, %d lanes are left", wrong, len(w.board.Lanes))
	}
	if err := w.rows.Check(map[table.Handle]bool{}, func(int) bool { return true }); err != nil {
		t.Error(err)
	}
}

// TestRecountSees damages what is derived, one thing at a time.
func TestRecountSees(t *testing.T) {
	fixture := func() (*world, map[string]*Row) {
		w, rows := newWorld(1), map[string]*Row{}
		w.of[0].Limits = Limits{PerKey: 1, Strict: true}
		for i, x := range []struct {
			name string
			kind Kind
			Task
		}{
			{"lane", Due, Task{}}, {"lane too", Due, Task{}}, {"suspect", Due, Task{Lane: LaneName{Suspects: true}}},
			{"later", Future, Task{Failed: true}}, {"latest", Future, Task{}}, {"runs", Runs, Task{Key: "a"}}, {"behind", Due, Task{Key: "a"}},
			{"promoted", Due, Task{Key: "b"}}, {"holds", Future, Task{Key: "c", Begun: true}}, {"waits", Due, Task{Key: "c"}}, {"final", Final, Task{}},
			{"bound", Due, Task{Bound: true}},
		} {
			x.Created = uint64(i + 1)
			r := w.add(0, x.Task)
			rows[x.name] = r
			w.enter(r, x.kind, int64(100+i))
		}
		return w, rows
	}
	w, _ := fixture()
	if wrong := w.check(); wrong != nil {
		t.Fatal(wrong)
	}
	for name, damage := range map[string]func(w *world, rows map[string]*Row, q *Queues){
		"time":     func(_ *world, rows map[string]*Row, _ *Queues) { rows["lane too"].At -= 1_000 },
		"priority": func(_ *world, rows map[string]*Row, _ *Queues) { rows["lane too"].Priority++ },
		"kind":     func(_ *world, rows map[string]*Row, _ *Queues) { rows["lane"].Kind = Future },
		"not in its lane": func(w *world, rows map[string]*Row, q *Queues) {
			q.Lanes[LaneName{}].Queue.Remove(&w.rows, rows["lane"])
		},
		"lane not listed":   func(w *world, _ map[string]*Row, _ *Queues) { w.board.Lanes = w.board.Lanes[:1] },
		"suspects":          func(w *world, _ map[string]*Row, _ *Queues) { w.board.suspects++ },
		"retrying":          func(_ *world, _ map[string]*Row, q *Queues) { q.Retrying++ },
		"next":              func(w *world, _ map[string]*Row, _ *Queues) { w.board.futures.Head().Key++ },
		"next lost":         func(w *world, _ map[string]*Row, q *Queues) { w.board.futures.Remove(&q.ahead) },
		"order of future":   func(_ *world, _ map[string]*Row, q *Queues) { q.Future.Head().Key += 1000 },
		"running of a key":  func(_ *world, _ map[string]*Row, q *Queues) { q.Keys["a"].Running++ },
		"held of a key":     func(_ *world, _ map[string]*Row, q *Queues) { q.Keys["c"].Held-- },
		"key of nobody":     func(_ *world, _ map[string]*Row, q *Queues) { q.Key("x") },
		"key forgotten":     func(_ *world, _ map[string]*Row, q *Queues) { delete(q.Keys, "a") },
		"row without a key": func(w *world, rows map[string]*Row, _ *Queues) { w.rows.Extra(rows["runs"]).Key = nil },
		"too many promoted": func(w *world, _ map[string]*Row, q *Queues) { w.board.Promote(q, &q.Keys["a"].Others) },
		"held is free":      func(w *world, _ map[string]*Row, q *Queues) { w.board.Promote(q, &q.Keys["c"].Others) },
		"too few promoted":  func(w *world, _ map[string]*Row, q *Queues) { w.board.Demote(q, &q.Keys["b"].Others) },
		"limits":            func(_ *world, _ map[string]*Row, q *Queues) { q.Limits.PerKey = 0 },
		"final lost":        func(w *world, rows map[string]*Row, q *Queues) { q.Success.Remove(&w.rows, rows["final"]) },
		"bound in a lane":   func(w *world, rows map[string]*Row, _ *Queues) { rows["bound"].InLane = true },
		"end of the run":    func(_ *world, _ map[string]*Row, q *Queues) { q.Lanes[LaneName{}].Queue.last.Key = -1 << 40 },
		"front of a run":    func(_ *world, _ map[string]*Row, q *Queues) { q.Lanes[LaneName{}].Queue.front++ },
		"taken in a run":    func(_ *world, _ map[string]*Row, q *Queues) { q.Lanes[LaneName{}].Queue.chunks[0].n++ },
	} {
		w, rows := fixture()
		damage(w, rows, w.of[0])
		if w.check() == nil {
			t.Errorf("%s: not seen", name)
		}
	}
}

// TestRowsCheck: a row of no task, and an extra of no row.
func TestRowsCheck(t *testing.T) {
	rows := NewRows(nil)
	r := rows.Add()
	met, none := map[table.Handle]bool{r.ID: true}, func(int) bool { return true }
	if err := rows.Check(met, none); err != nil {
		t.Fatal(err)
	}
	rows.Extra(r).Part = 1
	if rows.Tidy(r); rows.Look(r).Part != 1 || rows.Check(met, none) != nil {
		t.Error("an extra in which something is left was given up")
	}
	r.more = 0
	if rows.Check(met, none) == nil {
		t.Error("an extra of no row is not seen")
	}
	if rows.Check(map[table.Handle]bool{}, none) == nil {
		t.Error("a row of no task is not seen")
	}
}

// TestPagesFillWhatTheyGet: what there are many of is as long as the memory that Go's allocator gives for it.
func TestPagesFillWhatTheyGet(t *testing.T) {
	if row, run := reflect.TypeOf(Row{}).Size(), reflect.TypeOf(chunk{}).Size(); row != 32 || run > 576 || run < 576-8 {
		t.Errorf("a row has %d bytes, a chunk of a line %d", row, run)
	}
}
