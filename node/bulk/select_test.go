package bulk_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/taskrt/taskrt/node/bulk"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/jobs"
	"github.com/taskrt/taskrt/task/match"
)

// crowd is a state with tasks of two namespaces and three behaviors, of which every tenth is in the namespace "few".
func crowd(t testing.TB, tasks int) *task.Frozen {
	t.Helper()
	m := task.NewMachine()
	head := task.Header{Term: 1, Now: 1_700_000_000_000, LeaseNow: 1}
	apply := func(ps ...task.Proposal) {
		head.Index++
		rs, _ := m.Apply(head, ps)
		for _, r := range rs {
			if r.Code != task.OK {
				t.Fatal(r.Code, r.Message)
			}
		}
	}
	apply(task.Proposal{Command: task.PutNamespace{Name: "few", Create: true}})
	random := rand.New(rand.NewPCG(1, 2))
	for _, ns := range []string{task.DefaultNamespace, "few"} {
		for _, name := range []string{"mail.send", "mail.sort", "img.resize"} {
			apply(task.Proposal{Command: task.PutBehavior{Namespace: ns, Name: name, Version: "v", Policy: task.DefaultPolicy()}})
		}
	}
	var batch []task.Proposal
	for i := range tasks {
		c := task.Submit{Namespace: task.DefaultNamespace, ID: fmt.Sprintf("task-%07d", i), Behavior: []string{"mail.send", "mail.sort", "img.resize"}[random.IntN(3)]}
		if i%10 == 0 {
			c.Namespace = "few"
		}
		if batch = append(batch, task.Proposal{Command: c}); len(batch) == 1000 || i == tasks-1 {
			apply(batch...)
			batch = batch[:0]
		}
	}
	for i := range min(tasks/7, 200) { // some run
		id := fmt.Sprintf("task-%07d", i*7)
		k := task.Key{Namespace: task.DefaultNamespace, ID: id}
		if i%10 == 0 {
			k.Namespace = "few"
		}
		if x := m.Task(k); x != nil {
			apply(task.Proposal{Command: task.Assign{Key: k, Rev: x.Rev, External: &task.Acceptor{Worker: "w"}}})
		}
	}
	return m.Freeze()
}

func job(t testing.TB, namespace string, spec match.Spec) *task.Job {
	t.Helper()
	b, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	return jobs.Planned(jobs.Job{Namespace: namespace, Spec: b})
}

// TestSelectIsAWalk: a job is about exactly the tasks that a walk over all records finds, in the same order, whatever is passed over (SPEC Q3).
func TestSelectIsAWalk(t *testing.T) {
	f := crowd(t, 5000)
	for _, ns := range []string{task.DefaultNamespace, "few", "none"} {
		for _, spec := range []match.Spec{{}, {Behaviors: []string{"mail.*"}}, {Behaviors: []string{"img.resize"}}, {Statuses: []string{"RUNNING"}}} {
			x := job(t, ns, spec)
			var got, want []uint64
			if err := bulk.Select(t.Context(), f, x, nil, func(n uint64) error { got = append(got, n); return nil }); err != nil {
				t.Fatal(err)
			}
			f.Records(func(r task.Record) bool {
				if k, is := r.(*task.Task); is && k.Namespace == ns && task.Matches(k, x.Filter()) {
					want = append(want, k.CreatedRev)
				}
				return true
			})
			if !slices.Equal(got, want) || ns != "none" && len(want) == 0 {
				t.Errorf("%s %+v: %d tasks, want %d", ns, spec, len(got), len(want))
			}
		}
	}
}

// BenchmarkSelect selects a tenth of 200,000 tasks.
func BenchmarkSelect(b *testing.B) {
	const tasks = 200_000
	f, x := crowd(b, tasks), job(b, "few", match.Spec{})
	for b.Loop() {
		n := 0
		if err := bulk.Select(b.Context(), f, x, nil, func(uint64) error { n++; return nil }); err != nil || n != tasks/10 {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/tasks, "ns/task")
}
