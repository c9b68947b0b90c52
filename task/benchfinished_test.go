package task_test

import (
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// BenchmarkFinished measures the memory of tasks that are done, with 500 B of params and a result of 500 B: 300,000 of them, or as
// many as TASKS says. All are queued before the first runs, or a few are at any time.
func BenchmarkFinished(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("TASKS"))
	if err != nil {
		n = 300_000
	}
	for name, queued := range map[string]int{"AllQueued": n, "FewQueued": 64} {
		b.Run(name, func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			x := newBench()
			x.finishAll(n, queued, 500)
			for range 512 { // what is kept of the last entries for processes that ask again is not a task's
				x.propose(task.Tick{})
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			for b.Loop() { // it was measured above
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(n), "bytes/task")
			b.ReportMetric(0, "ns/op")
			runtime.KeepAlive(x)
		})
	}
}

// finishAll makes n tasks with params of so many bytes and lets them run, up to 64 at a time, with a result of the same length. So many are
// queued at most.
func (x *bench) finishAll(n, queued, payload int) {
	result := task.Payload{Encoding: task.JSON, Data: make([]byte, payload)}
	for from, made := 0, 0; from < n; from += 64 {
		for ; made < min(n, from+queued); made++ {
			c := benchSubmit(made)
			c.Params.Data = make([]byte, payload)
			x.propose(c)
		}
		x.flush()
		keys := make([]task.Key, 0, 64)
		for i := from; i < min(from+64, n); i++ {
			keys = append(keys, benchKey(i))
		}
		x.assign(keys)
		for _, k := range keys {
			x.propose(task.Finish{Key: k, Token: x.m.Task(k).Lease.Token, Result: result})
		}
		x.flush()
	}
}
