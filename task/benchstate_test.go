package task_test

import (
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/taskrt/taskrt/task"
)

// BenchmarkState measures what grows with the state: a million queued tasks with 256 B params, or as many as TASKS says.
func BenchmarkState(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("TASKS"))
	if err != nil {
		n = 1_000_000
	}
	x, perTask, worst := fillMeasured(n)
	b.Run("Fill", func(b *testing.B) {
		for b.Loop() { // it was measured above
		}
		b.ReportMetric(perTask, "bytes/task")
		b.ReportMetric(float64(worst.Microseconds()), "µs/worst-entry")
		b.ReportMetric(0, "ns/op")
	})
	b.Run("GC", func(b *testing.B) {
		for b.Loop() {
			runtime.GC()
		}
	})
	b.Run("Freeze", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			x.m.Freeze()
		}
	})
	f := x.m.Freeze()
	b.Run("Records", func(b *testing.B) {
		for b.Loop() {
			for range f.Records {
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/task")
	})
	b.Run("Restore", func(b *testing.B) {
		for b.Loop() {
			m, err := task.Restore(func(yield func(task.Record, error) bool) {
				f.Records(func(r task.Record) bool { return yield(r, nil) })
			})
			if err != nil || m.Digest() != x.m.Digest() {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/task")
	})
	runtime.KeepAlive(x)
}

// fillMeasured makes n tasks, and returns the memory of each and the time of the slowest entry.
func fillMeasured(n int) (x *bench, perTask float64, worst time.Duration) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	x = newBench()
	for i := range n {
		c := benchSubmit(i)
		start := time.Now()
		x.propose(c)
		worst = max(worst, time.Since(start))
	}
	for range 2 { // what is kept of the last entries for processes that ask again is not a task's
		for range 256 {
			x.propose(task.Tick{})
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	return x, float64(after.HeapAlloc-before.HeapAlloc) / float64(n), worst
}
