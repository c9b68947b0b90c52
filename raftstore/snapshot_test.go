package raftstore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/taskrt/taskrt/raftstore/snapfile"
	"github.com/taskrt/taskrt/task"
)

// small makes snapshots frequent and logs short.
func small(cfg *Config) { cfg.SnapshotBytes, cfg.TrailingBytes = 16<<10, 1 }

func fill(c *cluster, s *Store, prefix string, n int) {
	c.t.Helper()
	for i := range n {
		x := submit(fmt.Sprintf("%s-%d", prefix, i), task.Fail)
		x.Params = task.Payload{Encoding: task.JSON, Data: bytes.Repeat([]byte("7"), 200)}
		c.propose(s, x)
	}
}

// TestInstallSnapshot: a follower that is too far behind for the log gets the leader's snapshot. Its subscribers are
// cut off, and its readers read on.
func TestInstallSnapshot(t *testing.T) {
	eachLogStore(t, func(t *testing.T, c *cluster) {
		three(c, small)
		leader := c.leader()
		c.activate(leader.store)
		behind := c.followers(leader)[0]
		sub := behind.store.Subscribe(10000)
		c.net.Isolate(behind.addr)
		fill(c, leader.store, "while-away", 400)
		first := uint64(0)
		c.await("the log is compacted", func() bool {
			first, _ = leader.disk.FirstIndex()
			return first > behind.store.Status().Applied+1
		})
		c.net.Rejoin(behind.addr)
		c.agree()
		if n := behind.store.Status().SnapshotsTaken; n == 0 {
			t.Fatal("caught up without a snapshot: the test shows nothing")
		}
		for range sub.Events() {
		}
		if !sub.Lagged() {
			t.Fatal("a subscriber does not know that it missed events")
		}
		if !c.has(behind.store, "while-away-399") {
			t.Fatal("a task is missing")
		}
		c.propose(behind.store, submit("after", task.Fail))
		c.agree()
	})
}

// TestRestartFromSnapshot: the state is the snapshot with the log behind it. The log does not grow for ever.
func TestRestartFromSnapshot(t *testing.T) {
	eachLogStore(t, func(t *testing.T, c *cluster) {
		m := c.add("n1", small)
		s := c.start(m, 1)
		c.leader()
		c.activate(s)
		fill(c, s, "task", 300)
		before := s.Status().Digest
		c.await("the log is compacted", func() bool {
			first, _ := m.disk.FirstIndex()
			last, _ := m.disk.LastIndex()
			return last-first < 250
		})
		c.crash(m)
		partial := filepath.Join(m.dir, "snapshots", "2-30-1.tmp") // of a process that died during a snapshot
		if err := errors.Join(os.Mkdir(partial, 0o700), os.WriteFile(filepath.Join(partial, "state.bin"), []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
		s = c.start(m, 1)
		if _, err := os.Stat(partial); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a partial snapshot stays for ever: %v", err)
		}
		c.leader()
		c.await("all is back", func() bool { return s.ring.Latest().Index > before.Index })
		if d, ok := s.ring.At(before.Index); !ok || d != before {
			t.Fatalf("digest %v at the former end, was %v", d, before)
		}
		if !c.has(s, "task-299") || !c.has(s, "task-0") {
			t.Fatal("a task is missing")
		}
	})
}

// TestSnapshotOfIdleCluster: the last entry of the log is a change of members, which the machine does not see. A node
// that starts from a snapshot with this entry can still read.
func TestSnapshotOfIdleCluster(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		three(c, nil)
		leader := c.leader()
		c.activate(leader.store)
		c.start(c.add("n4", nil), 3, leader.addr)
		c.approve("n4")
		c.await("promotion", func() bool { return c.nodes["n4"].store.Status().Role == RoleFollower })
		f := c.followers(leader)[0]
		if err := f.store.WaitIndex(ctxFor(t, time.Minute), leader.store.raft.LastIndex()); err != nil {
			t.Fatal(err)
		}
		if err := f.store.snapshot(); err != nil {
			t.Fatal(err)
		}
		term := leader.store.leadingTerm()
		c.crash(f)
		c.start(f, 3, "n1:1", "n2:1", "n3:1")
		if c.has(f.store, "nothing") {
			t.Fatal("?")
		}
		if leader.store.leadingTerm() != term {
			t.Fatal("a new term, whose first entry hides what this test is about")
		}
		c.agree()
	})
}

// TestBrokenSnapshot: a file that is no snapshot, or is a snapshot of a later version, is refused.
func TestBrokenSnapshot(t *testing.T) {
	for _, b := range []string{"", "taskrt\x00", "garbage garbage garbage", "taskrt\x00\x02\x00\x00\x00\x00\x00\x00\x00\x01", "taskrt\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01 no machine"} {
		if _, _, err := snapfile.Read(bytes.NewReader([]byte(b))); err == nil {
			t.Errorf("%q was read", b)
		}
	}
}

func TestTrailingLogs(t *testing.T) {
	for _, tc := range []struct {
		bytes int64
		size  logSize
		want  uint64
	}{
		{64 << 20, logSize{}, maxTrailing},
		{64 << 20, logSize{entries: 100, bytes: 100 * 512 << 10}, 128},
		{64 << 20, logSize{entries: 100, bytes: 100 * 300}, maxTrailing},
		{1, logSize{entries: 100, bytes: 100 * 300}, minTrailing},
	} {
		if got := trailingLogs(tc.bytes, tc.size); got != tc.want {
			t.Errorf("trailingLogs(%d, %+v) = %d, want %d", tc.bytes, tc.size, got, tc.want)
		}
	}
}

// TestSnapshotsByReplay: a snapshot is due when the entries behind the last one take long to replay, however small they
// are (SPEC C10).
func TestSnapshotsByReplay(t *testing.T) {
	const due = 64 << 20
	for _, tc := range []struct {
		grown logSize
		want  bool
	}{
		{logSize{}, false},
		{logSize{entries: 100_000, bytes: 100_000 * 60, took: time.Second}, false},
		{logSize{entries: 200, bytes: 64 << 20, took: time.Second / 10}, true},
		{logSize{entries: 105_000, bytes: 105_000 * 60}, true},
		{logSize{entries: 200, bytes: 10_000, took: 2 * time.Second}, true},
	} {
		if got := tc.grown.weight() >= due; got != tc.want {
			t.Errorf("%+v weighs %d bytes", tc.grown, tc.grown.weight())
		}
	}
	bubble(t, func(t *testing.T, c *cluster) {
		s := c.start(c.add("n1", func(cfg *Config) { cfg.SnapshotBytes, cfg.TrailingBytes = 500*bytesPerEntry, 1 }), 1)
		c.leader()
		c.activate(s)
		for i := range 450 {
			c.propose(s, submit(fmt.Sprint("early", i), task.Fail))
		}
		taken := func() bool {
			s.fsm.mu.RLock()
			defer s.fsm.mu.RUnlock()
			return s.fsm.lastSnap > 0
		}
		<-time.After(time.Minute)
		if taken() {
			t.Fatal("a snapshot too early")
		}
		for i := range 200 {
			c.propose(s, submit(fmt.Sprint("late", i), task.Fail))
		}
		c.await("a snapshot", taken)
	})
}
