package task_test

import (
	"fmt"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// limited makes the benchmark's behavior one with a limit per key.
func (x *bench) limited(perKey int64) {
	p := task.DefaultPolicy()
	p.MaxPerKey = perKey
	x.propose(task.Activate{
		Namespace: task.DefaultNamespace, Module: task.Module{Digest: "module", Version: "limited"},
		Behaviors: []task.Activated{{Name: "echo", Policy: p}},
	})
	x.flush()
}

// BenchmarkPlanBlocked plans with a million due tasks that cannot run: 100 keys with one slot each, all taken. It must
// cost what it costs with no task at all.
func BenchmarkPlanBlocked(b *testing.B) {
	const keys = 100
	x := newBench()
	x.limited(1)
	submit := func(n int) {
		for i := range n {
			c := benchSubmit(i)
			c.ConcurrencyKey = fmt.Sprint(i % keys)
			x.propose(c)
		}
		x.flush()
	}
	var free []task.Free
	for i := range uint64(16) {
		free = append(free, task.Free{Session: i + 1, Slots: 16})
	}
	submit(keys)
	for _, a := range x.m.Plan(free, keys) {
		x.propose(a)
	}
	x.flush()
	run := func(name string) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(x.m.Plan(free, 1024)) != 0 {
					b.Fatal("planned what is blocked")
				}
			}
		})
	}
	run("blocked=0")
	submit(1_000_000)
	if s := x.m.BehaviorStats(task.DefaultNamespace, "echo"); s.Due < 999_000 || s.Running != keys {
		b.Fatalf("%+v", s)
	}
	run("blocked=1M")
	for i := range uint64(10_000) {
		free = append(free, task.Free{External: &task.Acceptor{Worker: "w"}, Namespace: task.DefaultNamespace, Behavior: "mail", Slots: 9, Order: i})
	}
	run("acceptors=10k")
}

// BenchmarkKeys measures a task's way (submit, assign, finish, remove) without and with a limit per key over 10,000 keys,
// beside 100,000 due tasks.
func BenchmarkKeys(b *testing.B) {
	for _, keys := range []int{0, 10_000} {
		b.Run(fmt.Sprint("keys=", keys), func(b *testing.B) {
			x := newBench()
			x.limited(2)
			i := 0
			submit := func() {
				c := benchSubmit(i)
				if keys > 0 {
					c.ConcurrencyKey = fmt.Sprint(i % keys)
				}
				x.propose(c)
				i++
			}
			for range 100_000 {
				submit()
			}
			x.flush()
			free := []task.Free{{Session: 1, Slots: 256}}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				for range 64 {
					submit()
				}
				x.flush()
				plan := x.m.Plan(free, 64)
				for _, a := range plan {
					x.propose(a)
				}
				x.flush()
				for _, a := range plan {
					x.propose(task.Finish{Key: a.Key, Token: x.m.Task(a.Key).Lease.Token})
					x.propose(task.Remove{Key: a.Key})
				}
				x.flush()
				n += 64 + 3*len(plan)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/command")
		})
	}
}
