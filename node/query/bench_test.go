package query_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/taskrt/taskrt/node/query"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/match"
)

// benchTasks is how many tasks the benchmarks have: TASKS=10000000 for more of them.
func benchTasks() int {
	if n, err := strconv.Atoi(os.Getenv("TASKS")); err == nil {
		return n
	}
	return 1_000_000
}

// fill makes a world of n tasks of 20 behaviors. Of a thousand 2 failed and 900 succeeded; 2 labels each, one of them nearly its own.
func fill(b *testing.B, n int) *world {
	w := newWorld(b, 1, 0)
	for i := range 20 {
		p := task.DefaultPolicy()
		p.KeepSuccess, p.KeepFailure = -1, -1
		p.Retry = task.Retry{MaxAttempts: 1, InitialInterval: 1, MultiplierThousandth: 1000, MaxInterval: 1000}
		w.apply(task.PutBehavior{Namespace: task.DefaultNamespace, Name: fmt.Sprintf("b.n%02d", i), Version: "v", Policy: p})
	}
	unlimited := func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.end()
	}
	unlimited() // the index is made anew at the end
	for from := 0; from < n; from += 1000 {
		var submits, assigns, finishes []task.Command
		for i := range 1000 {
			x := from + i
			submits = append(submits, task.Submit{
				Namespace: task.DefaultNamespace, ID: fmt.Sprintf("0190a0b0-%04x-7000-8000-%012d", x%65536, x), Behavior: fmt.Sprintf("b.n%02d", x%20), Priority: 4,
				Labels: []task.Label{{Name: "customer", Value: strconv.Itoa(x % (n/10 + 1))}, {Name: "tier", Value: strconv.Itoa(x % 3)}},
			})
		}
		for i, r := range w.apply(submits...) {
			if i < 902 {
				assigns = append(assigns, task.Assign{Key: r.Task.Key(), Rev: r.Task.Rev, External: &task.Acceptor{Worker: fmt.Sprint("w", i%50), Lease: 1 << 20}})
			}
		}
		for i, r := range w.apply(assigns...) {
			f := task.Finish{Key: r.Task.Key(), Token: r.Task.Lease.Token, External: true}
			if i < 2 {
				f.Error = &task.Error{Code: []string{"BOUNCED", "REFUSED"}[i]}
			}
			finishes = append(finishes, f)
		}
		w.apply(finishes...)
	}
	return w
}

// BenchmarkQuery says how long each filter takes for a page of 100, what the index takes of memory, and how long it takes to make.
func BenchmarkQuery(b *testing.B) {
	n := benchTasks()
	w := fill(b, n)
	heap := func() float64 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return float64(s.HeapAlloc)
	}
	w.cut()
	if err := w.index.CatchUp(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Run("made", func(b *testing.B) {
		for b.Loop() {
			w.cut()
			if err := w.index.CatchUp(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*w.index.Tasks()), "ns/task")
	})
	with := heap()
	w.index.Forget()
	b.Logf("%.1f bytes a task, two labels included", (with-heap())/float64(n))
	w.cut()
	if err := w.index.CatchUp(b.Context()); err != nil {
		b.Fatal(err)
	}
	at := int64(w.head.Now)
	for _, c := range []struct {
		name string
		f    match.Filter
		desc bool
	}{
		{"all", match.Filter{}, true},
		{"dead", match.Filter{States: match.Of(match.Dead)}, true},
		{"running", match.Filter{States: match.Of(match.Running)}, true},
		{"behavior", match.Filter{Behaviors: []string{"b.n07"}}, true},
		{"dead of a behavior", match.Filter{States: match.Of(match.Dead), Behaviors: []string{"b.n00"}}, true},
		{"dead of none", match.Filter{States: match.Of(match.Dead), Behaviors: []string{"b.n07"}}, true},
		{"code", match.Filter{Codes: []string{"BOUNCED"}}, false},
		{"customer", match.Filter{Labels: []match.Label{{Name: "customer", Value: "77"}}}, true},
		{"customer of a tier", match.Filter{Labels: []match.Label{{Name: "tier", Value: "1"}, {Name: "customer", Value: "77"}}}, true},
		{"tier", match.Filter{Labels: []match.Label{{Name: "tier", Value: "1"}}}, true},
		{"worker", match.Filter{Worker: "w7"}, true},
		{"nobody's worker", match.Filter{Worker: "nobody"}, true},
		{"id prefix", match.Filter{IDPrefix: "0190a0b0-00ff"}, true},
		{"finished", match.Filter{Finished: match.Range{From: at - 500_000}}, true},
		{"finished long ago", match.Filter{Finished: match.Range{To: at - int64(n/1000)*2}}, true},
		{"started", match.Filter{Started: match.Range{From: 1}}, false},
		{"due", match.Filter{DueBefore: at}, true},
	} {
		f := query.Filter{Namespace: task.DefaultNamespace, Filter: c.f}
		b.Run(c.name, func(b *testing.B) {
			var took []time.Duration
			found, examined := 0, 0
			for b.Loop() {
				begun := time.Now()
				found = 0
				p, err := w.index.Find(b.Context(), query.Search{Filter: f, Desc: c.desc, Limit: 100}, func(_ *task.Machine, ts []*task.Task) int {
					found += len(ts)
					return len(ts)
				})
				if err != nil {
					b.Fatal(err)
				}
				examined = p.Examined
				took = append(took, time.Since(begun))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(found), "found")
			b.ReportMetric(float64(examined), "examined")
		})
	}
}

// BenchmarkFollow says what the index costs for each task that is created, assigned and finished, beside what the machine does.
func BenchmarkFollow(b *testing.B) {
	w := fill(b, 100_000)
	if err := w.index.CatchUp(b.Context()); err != nil {
		b.Fatal(err)
	}
	var entries [][]task.Event
	w.mu.Lock()
	for i := range 50 {
		var submits, assigns, finishes []task.Proposal
		apply := func(ps []task.Proposal) []task.Result {
			w.head.Index++
			w.head.Now++
			results, events := w.m.Apply(w.head, ps)
			entries = append(entries, events)
			return results
		}
		for j := range 200 {
			submits = append(submits, task.Proposal{Command: task.Submit{
				Namespace: task.DefaultNamespace, ID: fmt.Sprintf("0190a0b0-1111-7000-8000-%06d%06d", i, j), Behavior: "b.n07", Priority: 4,
			}})
		}
		for j, r := range apply(submits) {
			assigns = append(assigns, task.Proposal{Command: task.Assign{Key: r.Task.Key(), Rev: r.Task.Rev, External: &task.Acceptor{Worker: fmt.Sprint("w", j%8), Lease: 1 << 20}}})
		}
		for _, r := range apply(assigns) {
			finishes = append(finishes, task.Proposal{Command: task.Finish{Key: r.Task.Key(), Token: r.Task.Lease.Token, External: true}})
		}
		apply(finishes)
	}
	w.mu.Unlock()
	for b.Loop() {
		b.StopTimer()
		x := query.New(query.Config{})
		b.StartTimer()
		for _, evs := range entries {
			x.Apply(evs)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*50*200), "ns/task")
}

// BenchmarkFailures says how long it takes to group failures: as they are kept, and when the last one has just gone (SPEC Q2).
func BenchmarkFailures(b *testing.B) {
	w := fill(b, benchTasks())
	if err := w.index.CatchUp(b.Context()); err != nil {
		b.Fatal(err)
	}
	f := query.FailureFilter{Namespace: task.DefaultNamespace}
	for _, lost := range []bool{false, true} {
		b.Run(fmt.Sprintf("lost=%v", lost), func(b *testing.B) {
			for b.Loop() {
				if lost {
					b.StopTimer()
					groups, _ := w.index.Failures(f, 1)
					var t *task.Task
					w.local(func(m *task.Machine) { t = task.NumberedTask(m, groups[0].Last.Rev) })
					w.apply(task.Remove{Key: t.Key()})
					if err := w.index.CatchUp(b.Context()); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
				w.index.Failures(f, 100)
			}
		})
	}
}
