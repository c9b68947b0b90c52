package query_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/taskrt/taskrt/node/query"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/match"
)

var worlds = flag.Int("worlds", 5, "random worlds of TestFindsWhatIsThere")

// TestFindsWhatIsThere asks random questions of random worlds (SPEC Q1), in pages, and compares with a look at every record.
func TestFindsWhatIsThere(t *testing.T) {
	for seed := range uint64(*worlds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, seed, 1<<(3+seed%5))
			for round := range 40 {
				for range w.rand.IntN(100) {
					w.step()
				}
				if round%8 == 3 {
					w.storm()
				}
				if round%10 == 4 {
					w.cut()
				}
				if err := w.index.CatchUp(t.Context()); err != nil {
					t.Fatal(err)
				}
				for range 10 {
					s := w.search()
					got, want := w.find(t, s), w.look(s)
					if !slices.Equal(got, want) {
						t.Fatalf("round %d: %+v:\n got %v\nwant %v", round, s, got, want)
					}
				}
			}
			w.recount(t)
		})
	}
}

// recount compares what the index counts with the records.
func (w *world) recount(t *testing.T) {
	type shared struct {
		behavior, version, code string
		state                   match.State
	}
	classes, placed, n := map[shared]bool{}, 0, 0
	w.local(func(m *task.Machine) {
		all, _ := m.Tasks(task.Filter{Limit: 1 << 30})
		for _, x := range all {
			c := shared{x.Behavior, x.Version, "", task.StateOf(x)}
			if x.Error != nil {
				c.code = x.Error.Code
			}
			classes[c] = true
			if x.Lease != nil || len(x.History) > 0 {
				placed++
			}
		}
		n = len(all)
	})
	if c, p := w.index.Shared(); w.index.Tasks() != n || c != len(classes) || p != placed {
		t.Errorf("%d tasks of %d classes and %d at workers in the index, %d of %d and %d in the machine", w.index.Tasks(), c, p, n, len(classes), placed)
	}
}

// search draws a question.
func (w *world) search() query.Search {
	r := w.rand
	maybe := func(of int) bool { return r.IntN(of) == 0 }
	within := func() match.Range {
		now := int(w.head.Now) - 1_700_000_000_000
		x := match.Range{From: 1_700_000_000_000 + int64(r.IntN(now+1))}
		if maybe(2) {
			x.To = x.From + int64(r.IntN(now+1))
		}
		return x
	}
	f := query.Filter{Namespace: task.DefaultNamespace}
	if maybe(2) {
		f.States = match.Of(match.State(r.IntN(6)), match.State(r.IntN(6)))
	}
	if maybe(3) {
		f.Behaviors = []string{[]string{"mail.*", "*", "*s*", "img.resize", "mail.sort", "nobody"}[r.IntN(6)]}
	}
	if maybe(5) {
		f.Codes = []string{fmt.Sprint("E", r.IntN(5)), "E0"}
	}
	if maybe(6) {
		f.Worker = fmt.Sprint("w", r.IntN(5))
	}
	if maybe(4) {
		f.Labels = []match.Label{{Name: "b", Value: fmt.Sprint(r.IntN(200))}}
	}
	if maybe(4) {
		f.Labels = append(f.Labels, match.Label{Name: "a", Value: fmt.Sprint(r.IntN(3))})
	}
	if maybe(8) {
		f.Parent = w.key().ID
	}
	if maybe(6) {
		f.IDPrefix = w.key().ID[:r.IntN(6)]
	}
	for _, x := range []*match.Range{&f.Created, &f.Started, &f.Finished} {
		if maybe(5) {
			*x = within()
		}
	}
	if maybe(6) {
		f.DueBefore = within().From
	}
	if maybe(8) {
		f.Sight = func(behavior string, _ uint64) bool { return behavior != "mail.sort" }
	}
	return query.Search{Filter: f, Desc: maybe(2), Limit: 1 + r.IntN(40)}
}

// find returns the IDs of all pages.
func (w *world) find(t *testing.T, s query.Search) []string {
	ids := []string{}
	for {
		n := 0
		if len(ids) > w.created {
			t.Fatalf("%+v: more tasks than there are", s)
		}
		page, err := w.index.Find(t.Context(), s, func(_ *task.Machine, ts []*task.Task) int {
			if w.rand.IntN(10) == 0 {
				ts = ts[:1+w.rand.IntN(len(ts))]
			}
			for _, x := range ts {
				ids = append(ids, x.ID)
			}
			n += len(ts)
			return len(ts)
		})
		if err != nil {
			t.Fatal(err)
		}
		if n > s.Limit {
			t.Fatalf("%d tasks on a page of %d", n, s.Limit)
		}
		if page.Next == (query.Place{}) {
			return ids
		}
		s.After = page.Next
	}
}

// look is find without an index: the order is written down here once more.
func (w *world) look(s query.Search) []string {
	var found []*task.Task
	w.local(func(m *task.Machine) {
		all, _ := m.Tasks(task.Filter{Limit: 1 << 30})
		for _, t := range all {
			if s.Filter.Matches(t) {
				found = append(found, t)
			}
		}
	})
	at := func(*task.Task) task.Time { return 0 }
	f := s.Filter
	switch none := (match.Range{}); {
	case f.Created != none || f.Started != none && f.Finished != none:
	case f.Started != none:
		at = func(t *task.Task) task.Time { return t.StartedAt }
	case f.Finished != none:
		at = func(t *task.Task) task.Time { return t.FinishedAt }
	}
	slices.SortFunc(found, func(a, b *task.Task) int {
		return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a.CreatedRev, b.CreatedRev))
	})
	if s.Desc {
		slices.Reverse(found)
	}
	ids := []string{}
	for _, t := range found {
		ids = append(ids, t.ID)
	}
	return ids
}

// TestMatches says for each field of a Filter what a record must be.
func TestMatches(t *testing.T) {
	x := &task.Task{
		Namespace: "n", ID: "order-17", Behavior: "mail.send", Status: task.Failure, Error: &task.Error{Code: "BOUNCED"}, Parent: "p",
		Labels: []task.Label{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}}, CreatedAt: 10, StartedAt: 20, FinishedAt: 30, NotBefore: 40,
		History: []task.Attempt{{Worker: "w0", Node: "n0"}, {Worker: "w1", Node: "n1"}}, Creator: 7,
	}
	labels := []match.Label{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}}
	of := func(f match.Filter) query.Filter { return query.Filter{Filter: f} }
	for name, c := range map[string]struct {
		yes, no query.Filter
	}{
		"namespace": {query.Filter{}, query.Filter{Namespace: "m"}},
		"states":    {of(match.Filter{States: match.Of(match.Created, match.Retrying)}), of(match.Filter{States: match.Of(match.Dead)})},
		"behaviors": {of(match.Filter{Behaviors: []string{"x", "mail.*"}}), of(match.Filter{Behaviors: []string{"mail", "*.sort"}})},
		"codes":     {of(match.Filter{Codes: []string{"x", "BOUNCED"}}), of(match.Filter{Codes: []string{"BOUNCE"}})},
		"worker":    {of(match.Filter{Worker: "w1"}), of(match.Filter{Worker: "w0"})},
		"node":      {of(match.Filter{Node: "n1"}), of(match.Filter{Node: "n0"})},
		"parent":    {of(match.Filter{Parent: "p"}), of(match.Filter{Parent: "q"})},
		"labels":    {of(match.Filter{Labels: labels}), of(match.Filter{Labels: append(labels[:2:2], match.Label{Name: "a", Value: "2"})})},
		"id prefix": {of(match.Filter{IDPrefix: "order-"}), of(match.Filter{IDPrefix: "order-171"})},
		"created":   {of(match.Filter{Created: match.Range{From: 10, To: 11}}), of(match.Filter{Created: match.Range{To: 10}})},
		"started":   {of(match.Filter{Started: match.Range{From: 20}}), of(match.Filter{Started: match.Range{From: 21}})},
		"finished":  {of(match.Filter{Finished: match.Range{To: 31}}), of(match.Filter{Finished: match.Range{From: 29, To: 30}})},
		"due":       {of(match.Filter{DueBefore: 40}), of(match.Filter{DueBefore: 39})},
		"sight": {
			query.Filter{Sight: func(b string, creator uint64) bool { return b == "mail.send" && creator == 7 }},
			query.Filter{Sight: func(string, uint64) bool { return false }},
		},
	} {
		c.yes.Namespace = "n"
		if c.no.Namespace == "" {
			c.no.Namespace = "n"
		}
		if !c.yes.Matches(x) || c.no.Matches(x) {
			t.Errorf("%s: %v %v", name, c.yes.Matches(x), c.no.Matches(x))
		}
	}
}

// TestAPageReadsSoManyRecords: a question whose answer only the records know is answered in parts, which say how much was read.
func TestAPageReadsSoManyRecords(t *testing.T) {
	w := newWorld(t, 1, 0)
	for range query.MaxExamined/1000 + 50 {
		cs := make([]task.Command, 1000)
		for i := range cs {
			cs[i] = w.submit()
		}
		w.apply(cs...)
	}
	if err := w.index.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := query.Search{Limit: 10, Filter: query.Filter{Namespace: task.DefaultNamespace, Sight: func(string, uint64) bool { return false }}}
	page, err := w.index.Find(t.Context(), s, func(*task.Machine, []*task.Task) int { t.Fatal("a task"); return 0 })
	if err != nil || page.Examined != query.MaxExamined || page.Next == (query.Place{}) {
		t.Fatalf("%+v, %v", page, err)
	}
	s.After = page.Next
	page, err = w.index.Find(t.Context(), s, func(*task.Machine, []*task.Task) int { t.Fatal("a task"); return 0 })
	if err != nil || page.Examined != w.index.Tasks()-query.MaxExamined || page.Next != (query.Place{}) {
		t.Errorf("then %+v, %v", page, err)
	}
}

// TestManyCodes: guests that give each task a code of its own do not make the table of classes grow without a bound, and their tasks are found.
func TestManyCodes(t *testing.T) {
	w := newWorld(t, 1, 0)
	const n = 60_000
	for from := 0; from < n; from += 1000 {
		w.fail(1000)
	}
	if err := w.index.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c, _ := w.index.Shared(); c > 51_000 {
		t.Errorf("%d classes", c)
	}
	for _, i := range []int{0, n / 2, n - 1} {
		s := query.Search{Limit: 10, Filter: query.Filter{Namespace: task.DefaultNamespace, Filter: match.Filter{Codes: []string{w.id(i)}}}}
		if got := w.find(t, s); len(got) != 1 || got[0] != w.id(i) {
			t.Errorf("%s: %q", w.id(i), got)
		}
	}
}

// TestTheEnd: who waits for an index whose node ends is told so.
func TestTheEnd(t *testing.T) {
	w := newWorld(t, 1, 0)
	x := query.New(query.Config{Subscribe: w.subscribe, Local: w.local})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	x.Run(ctx)
	if err := x.CatchUp(t.Context()); err == nil {
		t.Error("an index that follows nothing caught up")
	}
}
