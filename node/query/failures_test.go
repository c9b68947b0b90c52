package query_test

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/node/query"
	"github.com/taskrt/taskrt/task"
)

// TestFailuresAreWhatIsThere compares the groups that are kept up to date with a count over all records, in random worlds (SPEC Q2).
func TestFailuresAreWhatIsThere(t *testing.T) {
	for seed := range uint64(*worlds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, seed, 1<<(3+seed%5))
			for round := range 60 {
				for range w.rand.IntN(60) {
					w.step()
				}
				if round%8 == 3 {
					w.storm()
				}
				if round%10 == 4 {
					w.cut()
				}
				if w.rand.IntN(3) == 0 {
					continue // what was lost by now is lost together with more
				}
				if err := w.index.CatchUp(t.Context()); err != nil {
					t.Fatal(err)
				}
				f, limit := w.failureFilter()
				groups, others := w.index.Failures(f, limit)
				want, wantOthers := w.count(&f, limit)
				if !reflect.DeepEqual(groups, want) || others != wantOthers {
					t.Fatalf("round %d, %+v:\n got %+v, others %+v\nwant %+v, others %+v", round, f, groups, others, want, wantOthers)
				}
			}
		})
	}
}

func (w *world) failureFilter() (f query.FailureFilter, limit int) {
	f.Namespace = task.DefaultNamespace
	r := w.rand
	if r.IntN(3) == 0 {
		f.Behaviors = []string{[]string{"mail.*", "img.resize", "nobody"}[r.IntN(3)], "mail.send"}
	}
	if r.IntN(4) == 0 {
		f.Codes = []string{fmt.Sprint("E", r.IntN(5)), "CANCELLED"}
	}
	if r.IntN(5) == 0 {
		f.Sight = func(behavior string) bool { return behavior != "mail.sort" }
	}
	return f, 1 + r.IntN(20)
}

// count is Failures without an index.
func (w *world) count(f *query.FailureFilter, limit int) (groups []query.FailureGroup, others query.Failures) {
	by := map[[3]string]*query.FailureGroup{}
	w.local(func(m *task.Machine) {
		all, _ := m.Tasks(task.Filter{Limit: 1 << 30})
		for _, x := range all {
			like := func(p string) bool {
				return p == x.Behavior || strings.HasSuffix(p, "*") && strings.HasPrefix(x.Behavior, strings.TrimSuffix(p, "*"))
			}
			if x.Status != task.Failure || len(f.Behaviors) > 0 && !slices.ContainsFunc(f.Behaviors, like) ||
				len(f.Codes) > 0 && !slices.Contains(f.Codes, x.Error.Code) || f.Sight != nil && !f.Sight(x.Behavior) {
				continue
			}
			key := [3]string{x.Behavior, x.Version, x.Error.Code}
			if by[key] == nil {
				by[key] = &query.FailureGroup{Behavior: x.Behavior, Version: x.Version, Code: x.Error.Code}
			}
			by[key].Failures = counted(by[key].Failures, x)
		}
	})
	for _, g := range by {
		groups = append(groups, *g)
	}
	slices.SortFunc(groups, func(a, b query.FailureGroup) int {
		return cmp.Or(
			cmp.Compare(b.Retrying+b.Dead, a.Retrying+a.Dead), cmp.Compare(b.Last.Time, a.Last.Time), cmp.Compare(b.Last.Rev, a.Last.Rev),
			cmp.Compare(a.Behavior, b.Behavior), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Code, b.Code),
		)
	})
	for i, g := range groups {
		if i < limit {
			continue
		}
		if others == (query.Failures{}) || before(g.First, others.First) {
			others.First = g.First
		}
		if before(others.Last, g.Last) {
			others.Last = g.Last
		}
		others.Dead, others.Retrying = others.Dead+g.Dead, others.Retrying+g.Retrying
	}
	return groups[:min(limit, len(groups))], others
}

func counted(c query.Failures, x *task.Task) query.Failures {
	at := query.Place{Time: int64(x.FinishedAt), Rev: x.CreatedRev}
	if c == (query.Failures{}) || before(at, c.First) {
		c.First = at
	}
	if before(c.Last, at) {
		c.Last = at
	}
	if x.NotBefore == 0 {
		c.Dead++
	} else {
		c.Retrying++
	}
	return c
}

func before(a, b query.Place) bool { return a.Time < b.Time || a.Time == b.Time && a.Rev < b.Rev }

// TestManyFailures: failures for whose code there is no class any more are counted among the others.
func TestManyFailures(t *testing.T) {
	w := newWorld(t, 1, 0)
	const n = 51_000
	for from := 0; from < n; from += 1000 {
		w.fail(1000)
	}
	if err := w.index.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	groups, others := w.index.Failures(query.FailureFilter{Namespace: task.DefaultNamespace}, 10_000)
	if len(groups) != 10_000 || others.Dead+others.Retrying != n-10_000 {
		t.Errorf("%d groups, others %+v", len(groups), others)
	}
	for _, g := range groups {
		if g.Code == query.OtherCode {
			t.Errorf("a group without a code: %+v", g)
		}
	}
	if groups, others = w.index.Failures(query.FailureFilter{Namespace: task.DefaultNamespace}, 60_000); len(groups) < 49_000 || others.Dead+others.Retrying != n-len(groups) {
		t.Errorf("%d groups, others %+v", len(groups), others)
	}
}

// fail lets tasks fail, each with a code of its own.
func (w *world) fail(n int) {
	var submits, assigns, finishes []task.Command
	for range n {
		c := w.submit()
		c.Delay = 0
		submits = append(submits, c)
	}
	for _, r := range w.apply(submits...) {
		assigns = append(assigns, task.Assign{Key: r.Task.Key(), Rev: r.Task.Rev, External: &task.Acceptor{Worker: "w", Lease: 1 << 20}})
	}
	for _, r := range w.apply(assigns...) {
		finishes = append(finishes, task.Finish{Key: r.Task.Key(), Token: r.Task.Lease.Token, External: true, Error: &task.Error{Code: r.Task.ID}})
	}
	w.apply(finishes...)
}
