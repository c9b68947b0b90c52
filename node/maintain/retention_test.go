package maintain

import (
	"fmt"
	"slices"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// kept lists the tasks of a namespace, sorted.
func (w *world) kept(namespace string) []string {
	ids := []string{}
	ts, _ := w.m.Tasks(task.Filter{Namespace: namespace, Limit: 10_000})
	for _, t := range ts {
		ids = append(ids, t.ID)
	}
	slices.Sort(ids)
	return ids
}

func (w *world) wantKept(namespace string, want ...string) {
	w.t.Helper()
	slices.Sort(want)
	if got := w.kept(namespace); !slices.Equal(got, want) {
		w.t.Errorf("%s holds %q, want %q", namespace, got, want)
	}
}

// TestRetentionByAge: a final task goes when it is too old. Its behavior says how old that is, or else its namespace,
// or else the default. Tasks that wait or run never go, nor do tasks that are kept for ever (SPEC T9, M2).
func TestRetentionByAge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(task.PutNamespace{Name: "other", Create: true, Retention: &task.Retention{Success: 1000 * 60, Failure: -1}})
	for _, ns := range []string{"default", "other"} {
		w.behavior(ns, "plain", nil)
		w.behavior(ns, "short", func(p *task.Policy) { p.KeepSuccess, p.KeepFailure = 1000, 2000 })
		w.behavior(ns, "never", func(p *task.Policy) { p.KeepSuccess, p.KeepFailure = -1, -1 })
		for _, b := range []string{"plain", "short", "never"} {
			w.final(ns, b+"-good", b, true)
			w.final(ns, b+"-bad", b, false)
		}
		w.must(task.Submit{Namespace: ns, ID: "waits", Behavior: "short", NotBefore: task.MaxTime})
		w.submit(ns, "runs", "short", task.Payload{})
		w.run(ns, "runs")
	}
	always := []string{"never-good", "never-bad", "waits", "runs"}
	for _, step := range []struct {
		pass               task.Time
		inDefault, inOther []string
	}{
		{0, []string{"plain-good", "plain-bad", "short-good", "short-bad"}, []string{"plain-good", "plain-bad", "short-good", "short-bad"}},
		{999, []string{"plain-good", "plain-bad", "short-good", "short-bad"}, []string{"plain-good", "plain-bad", "short-good", "short-bad"}},
		{1, []string{"plain-good", "plain-bad", "short-bad"}, []string{"plain-good", "plain-bad", "short-bad"}},
		{2 * minute, []string{"plain-good", "plain-bad"}, []string{"plain-bad"}},
		{3 * day, []string{"plain-bad"}, []string{"plain-bad"}},
		{11 * day, nil, []string{"plain-bad"}},
		{1000 * day, nil, []string{"plain-bad"}},
	} {
		w.now += step.pass
		if out := w.maintain(quick(), false); !out.Record.Success || out.Again != 0 {
			t.Errorf("%+v", out)
		}
		w.wantKept("default", append(step.inDefault, always...)...)
		w.wantKept("other", append(step.inOther, always...)...)
	}
	w.wantKept(task.SystemNamespace, task.MaintenanceTask)
}

// TestRetentionByCount: the newest tasks of a behavior, and of a namespace, are kept. Tasks that ended in the same
// millisecond count in the order of their creation.
func TestRetentionByCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(task.PutNamespace{Name: "few", Create: true, Retention: &task.Retention{Count: 5}})
	for _, ns := range []string{"default", "few"} {
		w.behavior(ns, "plain", nil)
		w.behavior(ns, "three", func(p *task.Policy) { p.KeepCount = 3 })
		w.submit(ns, "waits", "three", task.Payload{})
		for i := range 6 {
			for _, b := range []string{"plain", "three"} {
				w.final(ns, fmt.Sprint(b, i), b, i%2 == 0)
			}
			if i%2 == 1 {
				w.now++
			}
		}
	}
	w.maintain(quick(), false)
	w.wantKept("default", "waits", "plain0", "plain1", "plain2", "plain3", "plain4", "plain5", "three3", "three4", "three5")
	w.wantKept("few", "waits", "plain4", "plain5", "three3", "three4", "three5")
}

// TestKeptForEver: no retention by count deletes a task that its behavior keeps for ever, not even the namespace's. A
// task that was one too many to be kept for ever goes by its age (SPEC T9).
func TestKeptForEver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, task.WithLimit(task.Limit{Finals: 3}))
	w.must(task.PutNamespace{Name: "few", Create: true, Quota: &task.Quota{MaxTasks: 100}, Retention: &task.Retention{Count: 1}})
	for _, ns := range []string{"default", "few"} {
		w.behavior(ns, "plain", nil)
		w.behavior(ns, "never", func(p *task.Policy) { p.KeepSuccess = -1 })
		for i := range 4 {
			w.final(ns, fmt.Sprint("never", i), "never", true)
			w.final(ns, fmt.Sprint("failed", i), "never", false)
		}
		w.final(ns, "plain", "plain", true)
	}
	w.maintain(quick(), false)
	w.wantKept("few", "never0", "never1", "never2", "never3", "plain")
	w.now += 3*day + 1
	w.maintain(quick(), false)
	w.wantKept("few", "never0", "never1", "never2", "never3") // the plain task goes by its age
	w.now += 1000 * day
	w.maintain(quick(), false)
	w.wantKept("few", "never0", "never1", "never2", "never3")
	w.wantKept("default", "never0", "never1", "never2")
}

// TestNewest compares newest with sorting everything.
func TestNewest(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 10, 3 * slack} {
		n := newest{limit: limit}
		var all []ending
		for i := range 10_000 {
			e := ending{task.Time(i * 7919 % 5000), uint64(i)}
			n.add(e)
			all = append(all, e)
			if len(n.ends) > 2*limit+slack {
				t.Fatalf("limit %d: %d remembered", limit, len(n.ends))
			}
		}
		n.trim()
		slices.SortFunc(all, func(a, b ending) int { return b.compare(a) })
		for i, e := range all {
			if n.beyond(e) != (i >= limit) {
				t.Fatalf("limit %d: number %d is beyond: %v", limit, i, n.beyond(e))
			}
		}
	}
}

// TestWhatChangesMeanwhileStays: a run does not delete a task that is rerun during the run, or is made and ended during
// it.
func TestWhatChangesMeanwhileStays(t *testing.T) {
	t.Parallel()
	calls := 0
	steps := 0
	for at := 0; at == 0 || calls >= at; at++ {
		w := newWorld(t)
		w.behavior("default", "brief", func(p *task.Policy) { p.KeepSuccess = 1 })
		w.final("default", "rerun", "brief", true)
		w.now += minute
		made := uint64(0)
		calls = 0
		w.meddle = func() {
			if calls++; calls != at+1 {
				return
			}
			if w.has("default", "rerun") {
				w.must(task.Submit{Namespace: "default", ID: "rerun", Behavior: "brief", IfExists: task.Rerun})
				steps++
			}
			w.must(task.Submit{Namespace: "default", ID: "made", Behavior: "brief", NotBefore: 1})
			made = w.m.Rev()
			x := w.must(task.Assign{Key: task.Key{Namespace: "default", ID: "made"}, Rev: w.m.Rev(), External: &task.Acceptor{Worker: "w", Lease: 3600_000}}).Task
			w.must(task.Finish{Key: x.Key(), Token: x.Lease.Token, Seq: 1, External: true})
			w.now += minute // it is at once older than its retention
		}
		r := New(quick(), w, w, w.begin(false))
		if _, err := r.Do(t.Context()); err != nil {
			t.Fatal(err)
		}
		if calls <= at {
			break
		}
		if !w.has("default", "made") && made > r.Rev {
			t.Errorf("call %d: a task that was made during the run is gone", at)
		}
		if x := w.m.Task(task.Key{Namespace: "default", ID: "rerun"}); x != nil && x.Final() {
			t.Errorf("call %d: %+v", at, x)
		}
		w.check()
	}
	if steps < 5 {
		t.Errorf("only %d steps before the deletion", steps)
	}
}
