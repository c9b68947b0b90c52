package task_test

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/names"
)

// benchFanOut has a behavior with a completion and a cleanup; entries are timed.
type benchFanOut struct {
	*bench
	longest time.Duration // of one entry
}

func newBenchFanOut() *benchFanOut {
	x := &benchFanOut{bench: newBench()}
	p := task.DefaultPolicy()
	p.Operation = &task.OperationPolicy{Complete: "done", Cleanup: "done"}
	x.entry(task.Activate{
		Namespace: task.DefaultNamespace, Module: task.Module{Digest: "op", Version: "v1"},
		Behaviors: []task.Activated{{Name: "work", Policy: p}, {Name: "done", Policy: p}},
	})
	other := benchSubmit(0) // IDs are looked up only if there are others
	other.Delay = 1 << 40
	x.entry(other)
	return x
}

func (x *benchFanOut) entry(cs ...task.Command) []task.Result {
	ps := make([]task.Proposal, len(cs))
	for i, c := range cs {
		ps[i].Command = c
	}
	x.h.Index++
	begin := time.Now()
	results, _ := x.m.Apply(x.h, ps)
	x.longest = max(x.longest, time.Since(begin))
	return results
}

// ticks lets Ticks do what there is to do.
func (x *benchFanOut) ticks() (n int) {
	for wall, _ := x.m.NextTick(); wall != 0 && wall <= x.m.Now(); wall, _ = x.m.NextTick() {
		x.entry(task.Tick{})
		n++
	}
	return n
}

// run plans and runs what waits, 256 to an entry, until nothing does.
func (x *benchFanOut) run() {
	free := make([]task.Free, 16)
	for i := range free {
		free[i] = task.Free{Session: uint64(i + 1), Slots: 16}
	}
	for plan := x.m.Plan(free, 256); len(plan) > 0; plan = x.m.Plan(free, 256) {
		var assigns, finishes []task.Command
		for _, a := range plan {
			assigns = append(assigns, a)
		}
		for _, r := range x.entry(assigns...) {
			finishes = append(finishes, task.Finish{Key: r.Task.Key(), Token: r.Task.Lease.Token, Result: task.Payload{Encoding: task.JSON, Data: []byte("1")}})
		}
		x.entry(finishes...)
	}
}

var benchOperationKey = task.Key{Namespace: task.DefaultNamespace, ID: "operation"}

func (x *benchFanOut) start(b *testing.B, n int64, names []string) {
	c := task.StartOperation{Namespace: task.DefaultNamespace, ID: "operation", Behavior: "work", Partitions: n, Names: names, Priority: 4}
	if r := x.entry(c)[0]; r.Code != task.OK {
		b.Fatal(r.Code, r.Message)
	}
	x.ticks()
}

func (x *benchFanOut) expect(b *testing.B, status task.OperationStatus) {
	if o := x.m.Operation(benchOperationKey); o.Status != status {
		b.Fatal(o.Status)
	}
}

// BenchmarkOperation measures what one partition costs from the start of its operation to its end, and the longest entry.
// Neither may grow with the number of partitions, but for the names in the entry of the start.
func BenchmarkOperation(b *testing.B) {
	for _, n := range []int64{1_000, 10_000, task.MaxPartitions} {
		measure := func(name string, begin, end func(x *benchFanOut)) {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				longest := time.Duration(0)
				for range b.N {
					b.StopTimer()
					x := newBenchFanOut()
					begin(x)
					runtime.GC()
					x.longest = 0
					b.StartTimer()
					end(x)
					longest = max(longest, x.longest)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/partition")
				b.ReportMetric(float64(longest.Microseconds()), "µs/longest-entry")
			})
		}
		none := func(*benchFanOut) {}
		all := func(x *benchFanOut) { x.start(b, n, nil) }
		ended := func(x *benchFanOut) { all(x); x.run() }
		measure("to success", none, func(x *benchFanOut) { ended(x); x.expect(b, task.OperationSuccess) })
		measure("start", none, all)
		called := make([]string, n)
		for i := range called {
			called[i] = fmt.Sprint(i)
		}
		if n*6 < names.MaxPartitionNames {
			measure("start named", none, func(x *benchFanOut) { x.start(b, n, called) })
		}
		measure("cancel", all, func(x *benchFanOut) {
			x.entry(task.CancelOperation{Key: benchOperationKey})
			x.ticks()
			x.expect(b, task.OperationCompleting)
		})
		measure("remove", ended, func(x *benchFanOut) {
			x.entry(task.RemoveOperation{Key: benchOperationKey})
			x.ticks()
			if x.m.Counts() != (task.Counts{Created: 1, Sessions: 16, Behaviors: 3, Modules: 2}) {
				b.Fatalf("%+v", x.m.Counts())
			}
		})
	}
}

// BenchmarkBlobs measures notes, references and drops with a million blobs.
func BenchmarkBlobs(b *testing.B) {
	const n = 1_000_000
	digest := func(i int) string { // in no order
		var d [32]byte
		binary.BigEndian.PutUint64(d[:], uint64(i)*0x9e3779b97f4a7c15)
		return fmt.Sprintf("%x", d)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	x := newBenchFanOut()
	for i := 0; i < n; i += 256 {
		var notes []task.Command
		for j := i; j < min(i+256, n); j++ {
			notes = append(notes, task.NoteBlob{Digest: digest(j), Size: 9}, task.NoteBlob{Digest: digest(j), Size: 9, Ready: true})
		}
		x.entry(notes...)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	perBlob := float64(after.HeapAlloc-before.HeapAlloc) / n
	x.entry(task.Activate{
		Namespace: task.SystemNamespace, Module: task.Module{Digest: task.NativeMaintenance, Version: "n1"},
		Behaviors: []task.Activated{{Name: task.MaintenanceBehavior, Policy: task.DefaultPolicy()}},
	})
	k := task.MaintenanceKey()
	x.entry(task.Submit{Namespace: k.Namespace, ID: k.ID, Behavior: task.MaintenanceBehavior, Priority: 4})
	token := x.entry(task.Assign{Key: k, Rev: x.m.Task(k).Rev, Session: 1})[0].Task.Lease.Token

	next := n
	b.Run("note", func(b *testing.B) {
		for b.Loop() {
			x.entry(task.NoteBlob{Digest: digest(next), Size: 9}, task.NoteBlob{Digest: digest(next), Size: 9, Ready: true})
			next++
		}
		b.ReportMetric(perBlob, "bytes/blob")
	})
	b.Run("refer", func(b *testing.B) {
		i := 0
		for b.Loop() {
			c := benchSubmit(i)
			c.Params = task.Payload{Encoding: task.JSON, Blobs: &task.Blobs{Content: digest(i % n), Size: 9}}
			x.entry(c)
			x.entry(task.Remove{Key: task.Key{Namespace: c.Namespace, ID: c.ID}})
			i++
		}
	})
	x.h.Now += 1000
	b.Run("drop 1000", func(b *testing.B) {
		for b.Loop() {
			digests := make([]string, task.MaxDrop)
			for i := range digests {
				next--
				digests[i] = digest(next)
			}
			x.entry(task.DropBlobs{Token: token, Before: x.h.Now, Digests: digests})
		}
	})
	b.Run("freeze", func(b *testing.B) {
		for b.Loop() {
			x.m.Freeze()
		}
	})
}
