package raftstore

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskrt/taskrt/task"
)

// BenchmarkPropose: submits of 256 bytes of params on the leader of three stores over TCP loopback, each with its own
// fsynced log on one disk; inflight is the number of callers that each wait for their answer.
func BenchmarkPropose(b *testing.B) {
	for _, inflight := range []int{1, 16, 256, 4096} {
		b.Run(fmt.Sprintf("inflight=%d", inflight), func(b *testing.B) { benchmarkPropose(b, inflight, false) })
	}
}

// BenchmarkProposeForwarded is the same through a follower.
func BenchmarkProposeForwarded(b *testing.B) {
	for _, inflight := range []int{1, 256} {
		b.Run(fmt.Sprintf("inflight=%d", inflight), func(b *testing.B) { benchmarkPropose(b, inflight, true) })
	}
}

func benchmarkPropose(b *testing.B, inflight int, forwarded bool) {
	ns := tcpCluster(b)
	leader, _ := ns[0].store.Leader()
	s := ns[slices.IndexFunc(ns, func(n *tcpNode) bool { return (n.id == leader) != forwarded })].store
	params := task.Payload{Encoding: task.Bytes, Data: make([]byte, 256)}
	took := make([]time.Duration, b.N)
	var next atomic.Int64
	var wg sync.WaitGroup
	ctx := context.Background()
	b.ResetTimer()
	begun := time.Now()
	for range inflight {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= b.N {
					return
				}
				x := submit(fmt.Sprintf("task-%d", i), task.Fail)
				x.Params = params
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
	slices.Sort(took)
	b.ReportMetric(float64(b.N)/total.Seconds(), "commands/s")
	b.ReportMetric(float64(took[b.N/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[b.N*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkRead: linearizable reads on the leader.
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
