package task_test

import (
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/jobs"
)

// BenchmarkJob measures the steps of a bulk job over 200,000 tasks (SPEC Q3): what a task's turn costs, and for how long the slowest entry holds
// the machine up.
func BenchmarkJob(b *testing.B) {
	const n = 200_000
	for name, action := range map[string]jobs.Action{"cancel": jobs.Cancel, "resubmit": jobs.Resubmit, "remove": jobs.Remove} {
		b.Run(name, func(b *testing.B) {
			worst := time.Duration(0)
			for range b.N {
				b.StopTimer()
				x := newBench()
				x.propose(task.RaiseLevel{Level: 2})
				x.propose(task.RaiseLevel{Level: 3})
				keys := x.fill(n, false)
				numbers := make([]uint64, n)
				for i, k := range keys {
					numbers[i] = x.m.Task(k).CreatedRev
				}
				digest := strings.Repeat("ab", 32)
				x.propose(task.NoteBlob{Digest: digest, Size: 9})
				x.propose(task.NoteBlob{Digest: digest, Size: 9, Ready: true})
				x.propose(task.StartJob{Namespace: task.DefaultNamespace, Action: uint64(action), Spec: []byte(`{"behavior":["ec*"]}`), Rate: 1, Delay: delayOf(action)})
				x.flush()
				started := task.Jobs(x.m)[0]
				x.propose(task.SelectJob{Number: started.Number, Index: started.Index, Count: n, Blobs: []string{digest}})
				x.flush()
				b.StartTimer()
				for from := 0; from < n; from += jobs.MaxStep {
					x.propose(task.StepJob{Number: started.Number, From: int64(from), Tasks: numbers[from:min(from+jobs.MaxStep, n)]})
					at := time.Now()
					x.flush()
					worst = max(worst, time.Since(at))
				}
				if j := task.Jobs(x.m)[0]; j.Counts.Done != n {
					b.Fatalf("%+v", j)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/task")
			b.ReportMetric(float64(worst.Microseconds()), "µs/worst-entry")
		})
	}
}

func delayOf(a jobs.Action) task.Millis {
	if a == jobs.Resubmit {
		return 3_600_000
	}
	return 0
}
