package task_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// bench is a machine for benchmarks: no invariants checked, entries of up to 256 commands with origins, as a leader's
// batcher makes them.
type bench struct {
	m       *task.Machine
	h       task.Header
	seq     uint64
	pending []task.Proposal
}

func newBench() *bench {
	x := &bench{m: task.NewMachine(), h: task.Header{Term: 1, Now: 1_000_000, LeaseNow: 1}}
	p := task.DefaultPolicy()
	p.Retry = task.Retry{InitialInterval: 1, MultiplierThousandth: 1000, MaxInterval: 1}
	x.propose(task.Activate{
		Namespace: task.DefaultNamespace, Module: task.Module{Digest: "module", Version: "v1"},
		Behaviors: []task.Activated{{Name: "echo", Policy: p}},
	})
	for i := range 16 {
		x.propose(task.OpenSession{Worker: fmt.Sprint("w", i), Slots: 1 << 40, TTL: 1 << 40, Proof: []byte("p")})
	}
	x.flush()
	return x
}

func (x *bench) propose(c task.Command) {
	x.seq++
	lowest := uint64(1)
	if x.seq > 256 {
		lowest = x.seq - 256
	}
	x.pending = append(x.pending, task.Proposal{Command: c, Origin: task.Origin{Process: 9, Seq: x.seq, Lowest: lowest}})
	if len(x.pending) == 256 {
		x.flush()
	}
}

func (x *bench) flush() {
	x.h.Index++
	x.m.Apply(x.h, x.pending)
	x.pending = x.pending[:0]
}

func benchKey(i int) task.Key {
	return task.Key{Namespace: task.DefaultNamespace, ID: fmt.Sprintf("0190a0b0-0000-7000-8000-%012d", i)}
}

func benchSubmit(i int) task.Submit {
	k := benchKey(i)
	return task.Submit{
		Namespace: k.Namespace, ID: k.ID, Behavior: "echo", Priority: 4,
		Params: task.Payload{Encoding: task.JSON, Data: make([]byte, 256)},
	}
}

// fill makes n tasks, leased if asked.
func (x *bench) fill(n int, leased bool) []task.Key {
	keys := make([]task.Key, n)
	for i := range n {
		keys[i] = benchKey(i)
		x.propose(benchSubmit(i))
	}
	x.flush()
	if leased {
		x.assign(keys)
	}
	return keys
}

func (x *bench) assign(keys []task.Key) {
	for i, k := range keys {
		x.propose(task.Assign{Key: k, Rev: x.m.Task(k).Rev, Session: uint64(1 + i%16)})
	}
	x.flush()
}

const benchTasks = 20_000

// BenchmarkApply measures each command, 256 to an entry, with 20,000 tasks of 256 B params.
func BenchmarkApply(b *testing.B) {
	leases := func(x *bench, keys []task.Key) []*task.Task {
		ts := make([]*task.Task, len(keys))
		for i, k := range keys {
			ts[i] = x.m.Task(k)
		}
		return ts
	}
	result := task.Payload{Encoding: task.JSON, Data: make([]byte, 64)}
	run := func(name string, leased bool, command func(t *task.Task, i int) task.Command) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			done := 0
			for done < b.N {
				b.StopTimer()
				x := newBench()
				ts := leases(x, x.fill(benchTasks, leased))
				n := min(len(ts), b.N-done)
				runtime.GC()
				b.StartTimer()
				for i, t := range ts[:n] {
					x.propose(command(t, i))
				}
				x.flush()
				done += n
			}
		})
	}
	run("Submit", false, func(_ *task.Task, i int) task.Command { return benchSubmit(benchTasks + i) })
	run("Assign", false, func(t *task.Task, i int) task.Command {
		return task.Assign{Key: t.Key(), Rev: t.Rev, Session: uint64(1 + i%16)}
	})
	run("Finish", true, func(t *task.Task, _ int) task.Command {
		return task.Finish{Key: t.Key(), Token: t.Lease.Token, Result: result}
	})
	run("FinishRetry", true, func(t *task.Task, _ int) task.Command {
		return task.Finish{Key: t.Key(), Token: t.Lease.Token, Error: &task.Error{Code: "X", Retryable: true}}
	})
	run("Beat", true, func(t *task.Task, _ int) task.Command {
		return task.Beat{Key: t.Key(), Token: t.Lease.Token, Seq: 1, Progress: &result}
	})
	run("Snooze", true, func(t *task.Task, _ int) task.Command { return task.Snooze{Key: t.Key(), Token: t.Lease.Token} })
	run("GiveBack", true, func(t *task.Task, _ int) task.Command { return task.GiveBack{Key: t.Key(), Token: t.Lease.Token} })
	run("Cancel", false, func(t *task.Task, _ int) task.Command { return task.Cancel{Key: t.Key()} })
	run("Remove", false, func(t *task.Task, _ int) task.Command { return task.Remove{Key: t.Key()} })
	run("RenewSession", true, func(_ *task.Task, i int) task.Command { return task.RenewSession{Session: uint64(1 + i%16)} })
	run("OpenSession", false, func(_ *task.Task, i int) task.Command {
		return task.OpenSession{Worker: fmt.Sprint("x", i), Slots: 1, TTL: 1000, Proof: []byte("p")}
	})
	run("CloseSession", false, func(_ *task.Task, i int) task.Command { return task.CloseSession{Session: uint64(1 + i%16)} })
	run("Activate", false, func(_ *task.Task, i int) task.Command {
		return task.Activate{
			Namespace: task.DefaultNamespace, Module: task.Module{Digest: "m", Version: fmt.Sprint("v", i)},
			Behaviors: []task.Activated{{Name: "echo", Policy: task.DefaultPolicy()}},
		}
	})
	run("Tick", false, func(*task.Task, int) task.Command { return task.Tick{} })
}

// BenchmarkApplyAt1M measures a task's way (submit, assign, finish, remove) beside a million others.
func BenchmarkApplyAt1M(b *testing.B) {
	const n = 1_000_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	x := newBench()
	x.fill(n, false)
	runtime.GC()
	runtime.ReadMemStats(&after)
	perTask := float64(after.HeapAlloc-before.HeapAlloc) / n
	b.ReportAllocs()
	i := n
	for b.Loop() {
		k := benchKey(i)
		x.propose(benchSubmit(i))
		x.flush()
		x.propose(task.Assign{Key: k, Rev: x.m.Task(k).Rev, Session: 1})
		x.flush()
		x.propose(task.Finish{Key: k, Token: x.m.Task(k).Lease.Token})
		x.propose(task.Remove{Key: k})
		x.flush()
		i++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4, "ns/command")
	b.ReportMetric(perTask, "bytes/task")
}

// BenchmarkPlan plans 256 assignments for 16 workers with a million due tasks.
func BenchmarkPlan(b *testing.B) {
	x := newBench()
	x.fill(1_000_000, false)
	free := make([]task.Free, 16)
	for i := range free {
		free[i] = task.Free{Session: uint64(i + 1), Slots: 16}
	}
	b.Run("due=1M", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if len(x.m.Plan(free, 1024)) != 256 {
				b.Fatal("planned less")
			}
		}
	})
	blocked := func(string, string) bool { return false }
	for i := range free {
		free[i].Ready = blocked
	}
	b.Run("blocked=1M", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if len(x.m.Plan(free, 1024)) != 0 {
				b.Fatal("planned something")
			}
		}
	})
}

// BenchmarkFreeze freezes a million tasks.
func BenchmarkFreeze(b *testing.B) {
	x := newBench()
	x.fill(1_000_000, false)
	b.ReportAllocs()
	for b.Loop() {
		x.m.Freeze()
	}
}
