package raftstore

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/taskrt/taskrt/task"
)

// BenchmarkPropose proposes submits with 256 bytes of params on the leader of three stores over TCP loopback. Each
// store has its own fsynced log on the same disk. inflight is the number of callers, and each waits for its answer.
func BenchmarkPropose(b *testing.B) {
	for _, inflight := range []int{1, 16, 256, 4096} {
		b.Run(fmt.Sprintf("inflight=%d", inflight), func(b *testing.B) { benchmarkPropose(b, inflight, false) })
	}
}

// BenchmarkProposeForwarded does the same through a follower.
func BenchmarkProposeForwarded(b *testing.B) {
	for _, inflight := range []int{1, 256} {
		b.Run(fmt.Sprintf("inflight=%d", inflight), func(b *testing.B) { benchmarkPropose(b, inflight, true) })
	}
}

// cpuTime returns the CPU time of this process, which holds all nodes and the callers.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it fails only for an invalid argument
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkProposeBatch has four callers that propose a thousand submits at a time, as a bulk request does. They call
// the leader, or a follower. The CPU time is the time of all three nodes.
func BenchmarkProposeBatch(b *testing.B) {
	for _, forwarded := range []bool{false, true} {
		b.Run(fmt.Sprintf("forwarded=%t", forwarded), func(b *testing.B) {
			s := benchStore(b, forwarded)
			const batch = 1000
			var next atomic.Int64
			var wg sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			begun, cpu, before := time.Now(), cpuTime(), s.raft.Health()
			for range 4 {
				wg.Go(func() {
					for {
						from := int(next.Add(batch)) - batch
						if from >= b.N {
							return
						}
						var cmds []task.Command
						for i := from; i < min(from+batch, b.N); i++ {
							cmds = append(cmds, benchSubmit(i))
						}
						if rs, err := s.Propose(context.Background(), cmds...); err != nil || rs[0].Code != task.OK {
							b.Errorf("%+v %v", rs, err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/time.Since(begun).Seconds(), "commands/s")
			after := s.raft.Health()
			writes := float64(after.Writes - before.Writes)
			b.ReportMetric(writes/float64(b.N)*batch, "writes/batch")
			b.ReportMetric(float64((after.Took-before.Took).Microseconds())/1000/writes, "ms/write")
			b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/1000/float64(b.N), "cpu-µs/command")
		})
	}
}

func benchSubmit(i int) task.Submit {
	x := submit(fmt.Sprintf("task-%d", i), task.Fail)
	x.Params = task.Payload{Encoding: task.Bytes, Data: make([]byte, 256)}
	return x
}

// benchStore returns the leader of three stores, or a follower.
func benchStore(b *testing.B, follower bool) *Store {
	ns := tcpCluster(b)
	leader, _ := ns[0].store.Leader()
	return ns[slices.IndexFunc(ns, func(n *tcpNode) bool { return (n.id == leader) != follower })].store
}

func benchmarkPropose(b *testing.B, inflight int, forwarded bool) {
	s := benchStore(b, forwarded)
	took := make([]time.Duration, b.N)
	var next atomic.Int64
	var wg sync.WaitGroup
	ctx := context.Background()
	b.ResetTimer()
	begun, cpu := time.Now(), cpuTime()
	for range inflight {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= b.N {
					return
				}
				x := benchSubmit(i)
				sent := time.Now()
				if rs, err := s.Propose(ctx, x); err != nil || rs[0].Code != task.OK {
					b.Errorf("%+v %v", rs, err)
					return
				}
				took[i] = time.Since(sent)
			}
		})
	}
	wg.Wait()
	total := time.Since(begun)
	b.StopTimer()
	b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/1000/float64(b.N), "cpu-µs/command")
	slices.Sort(took)
	b.ReportMetric(float64(b.N)/total.Seconds(), "commands/s")
	b.ReportMetric(float64(took[b.N/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[b.N*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkRead does linearizable reads on the leader.
func BenchmarkRead(b *testing.B) {
	ns := tcpCluster(b)
	for _, n := range ns {
		leader, _ := n.store.Leader()
		name := "follower"
		if n.id == leader {
			name = "leader"
		}
		b.Run(name+"="+n.id, func(b *testing.B) {
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := n.store.Read(context.Background(), func(*task.Machine) {}); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
