package raftstore

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/task"
)

// TestSnapshotOverConflict: a deposed leader has uncommitted entries in its log. It gets a snapshot that ends among
// these entries or behind them. It takes this one snapshot and follows (raft #697).
func TestSnapshotOverConflict(t *testing.T) {
	for _, tc := range []struct {
		name    string
		entries int // how many entries are not committed
		ends    int // the snapshot's end, relative to the last of these entries
	}{
		{"the log ends there", 20, 0},
		{"the log goes on", 20, -3},
		{"the log goes on so far that raft compacts it at once", 20 + 2*minTrailing, -minTrailing - 3},
		{"the log ends just before", 20, 1},
		{"the log ends before", 20, 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachLogStore(t, func(t *testing.T, c *cluster) { testSnapshotOverConflict(t, c, tc.entries, tc.ends) })
		})
	}
}

func testSnapshotOverConflict(t *testing.T, c *cluster, entries, ends int) {
	three(c, nil)
	old := c.leader()
	c.activate(old.store)
	fill(c, old.store, "agreed", 5)
	trailing(t, old.store, minTrailing)
	c.agree()
	last := old.store.raft.LastIndex() + uint64(entries)
	c.net.Isolate(old.addr)
	for range entries {
		old.store.raft.Apply([]byte("never committed"), 0)
	}
	c.await("the old leader's log", func() bool { return old.store.raft.LastIndex() >= last })

	next := c.leader(old)
	end := last + uint64(ends)
	for i := 0; next.store.fsm.appliedIndex() < end; i++ {
		c.propose(next.store, submit(fmt.Sprintf("since-%d", i), task.Fail))
	}
	for _, m := range append(c.followers(next), next) { // either may lead later
		if m == old {
			continue
		}
		if err := m.store.WaitIndex(ctxFor(t, time.Minute), end); err != nil {
			t.Fatal(err)
		}
		trailing(t, m.store, 0)
		if err := m.store.raft.Snapshot().Error(); err != nil {
			t.Fatal(err)
		}
		if snap := m.store.raft.Stats()["last_snapshot_index"]; snap != fmt.Sprint(end) {
			t.Fatalf("the snapshot ends at %s, not at %d: the test shows nothing", snap, end)
		}
	}

	<-time.After(time.Minute) // messages from before the log's compaction never arrive
	c.net.Rejoin(old.addr)
	c.propose(next.store, submit("after", task.Fail))
	c.agree()
	if n := old.store.Status().SnapshotsTaken; n != 1 {
		t.Fatalf("took %d snapshots", n)
	}
	if first, _ := old.disk.FirstIndex(); first != end+1 {
		t.Fatalf("the log begins at %d and the snapshot ends at %d: what was never committed is still there", first, end)
	}
	c.sameLogs(old, next)
	c.crash(old)
	c.start(old, 3)
	c.propose(c.leader().store, submit("at-the-end", task.Fail))
	c.agree()
}

// trailing sets how many entries raft keeps behind a snapshot.
func trailing(t *testing.T, s *Store, n uint64) {
	t.Helper()
	rc := s.raft.ReloadableConfig()
	rc.TrailingLogs = n
	if err := s.raft.ReloadConfig(rc); err != nil {
		t.Fatal(err)
	}
}

// sameLogs demands that neither log has a hole, and that entries of both logs are equal.
func (c *cluster) sameLogs(a, b *member) {
	c.t.Helper()
	first, _ := a.disk.FirstIndex()
	last, _ := a.disk.LastIndex()
	if first == 0 {
		c.t.Fatal("the log is empty")
	}
	for i := first; i <= last; i++ {
		var x, y raft.Log
		if err := a.disk.GetLog(i, &x); err != nil {
			c.t.Fatalf("entry %d of %d to %d: %v", i, first, last, err)
		}
		if err := b.disk.GetLog(i, &y); errors.Is(err, raft.ErrLogNotFound) {
			continue
		} else if err != nil {
			c.t.Fatal(err)
		}
		if x.Term != y.Term || x.Type != y.Type || !bytes.Equal(x.Data, y.Data) {
			c.t.Fatalf("entry %d is %+v on one node and %+v on another", i, x, y)
		}
	}
}
