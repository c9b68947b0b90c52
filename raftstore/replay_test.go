package raftstore

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// TestAllNodesKilled: all nodes die with more entries behind the snapshot than the library's queue to the state machine
// takes, and start again at once, on machines where it takes 20 s to apply the entries. They have a leader as soon as an
// election allows, and nobody steps down on the way (SPEC C10).
func TestAllNodesKilled(t *testing.T) {
	eachLogStore(t, func(t *testing.T, c *cluster) {
		const entries, slowness = 20_000, time.Millisecond
		var slow atomic.Bool
		ms := three(c, func(cfg *Config) {
			cfg.onApply = func(uint64, uint64) {
				if slow.Load() {
					<-time.After(slowness)
				}
			}
		})
		leader := c.leader()
		now, leaseNow, _ := leader.store.Stamps()
		entry, err := wire.EncodeEntry(task.Header{Now: now, LeaseNow: leaseNow}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var last raft.ApplyFuture
		for range entries {
			last = leader.store.raft.Apply(entry, 0)
		}
		if err := last.Error(); err != nil {
			t.Fatal(err)
		}
		before := c.agree()
		term := leader.store.leadingTerm()
		for _, m := range ms {
			c.crash(m)
		}
		slow.Store(true)
		begun := time.Now()
		var wg sync.WaitGroup
		for _, m := range ms {
			wg.Go(func() {
				if _, err := c.tryStart(m, 3, "n1:1", "n2:1", "n3:1"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		opened := time.Now()
		leader = c.leader()
		took := time.Since(opened)
		t.Logf("opened after %v, a leader %v later", opened.Sub(begun), took)
		if took > 5*time.Second {
			t.Errorf("a leader %v after the last start", took)
		}
		if now := leader.store.leadingTerm(); now > term+2 { // an election may end in a draw
			t.Errorf("term %d became term %d", term, now)
		}
		if d, ok := leader.store.ring.At(before.Index); !ok || d != before {
			t.Errorf("digest %v, was %v", d, before)
		}
		slow.Store(false)
		c.agree()
	})
}
