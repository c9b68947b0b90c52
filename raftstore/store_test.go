package raftstore

import (
	"context"
	"testing"
	"time"

	"github.com/taskrt/taskrt/task"
)

// TestProposeFromEveryNode: every node takes proposals, and all nodes end with the same state (SPEC H4, C4).
func TestProposeFromEveryNode(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := three(c, nil)
		c.activate(ms[0].store)
		for _, m := range ms {
			rs := c.propose(m.store, submit("a-"+m.id, task.Fail), submit("b-"+m.id, task.Fail))
			if len(rs) != 2 || rs[0].Task.ID != "a-"+m.id || rs[1].Task.ID != "b-"+m.id || rs[0].Outcome != task.SubmitCreated {
				t.Fatalf("results out of order: %+v", rs)
			}
			for _, other := range ms {
				if !c.has(other.store, "a-"+m.id) {
					t.Fatalf("%s does not read what %s was told is done", other.id, m.id)
				}
			}
		}
		c.agree()
	})
}

// TestRestart: all that was acknowledged is there after a restart of one node, and of all nodes.
func TestRestart(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := three(c, nil)
		c.activate(ms[0].store)
		c.propose(ms[0].store, submit("before", task.Fail))
		for _, m := range ms {
			c.stop(m)
			c.propose(c.leader().store, submit("without-"+m.id, task.Fail))
			c.start(m, 3, "n1:1", "n2:1", "n3:1")
		}
		c.agree()
		for _, m := range ms {
			c.crash(m)
		}
		for _, m := range ms {
			c.start(m, 3, "n1:1", "n2:1", "n3:1")
		}
		for _, id := range []string{"before", "without-n1", "without-n2", "without-n3"} {
			if !c.has(ms[1].store, id) {
				t.Fatalf("%s is gone", id)
			}
		}
		c.agree()
	})
}

// TestCloseHandsOver: a leader that closes hands over in far less time than an election takes, and it takes a snapshot.
func TestCloseHandsOver(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		three(c, nil)
		old := c.leader()
		c.activate(old.store)
		begun := time.Now()
		c.stop(old)
		c.propose(c.leader().store, submit("next", task.Fail))
		if took := time.Since(begun); took > 500*time.Millisecond {
			t.Fatalf("no write for %v after the leader closed", took)
		}
		c.start(old, 3, "n1:1", "n2:1", "n3:1")
		if i := old.store.Status().Applied; i == 0 {
			t.Fatal("no snapshot was taken on close")
		}
		c.agree()
	})
}

// TestSecondClose: a second close does nothing, whatever the first did.
func TestSecondClose(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		m := c.add("n1", nil)
		s := c.start(m, 1)
		c.leader()
		sub, leadership := s.Subscribe(1), s.Leadership()
		for range 2 {
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if _, open := <-sub.Events(); open || sub.Lagged() {
			t.Fatal("subscription not ended cleanly")
		}
		for range leadership {
		}
		if _, err := s.Propose(t.Context(), task.Tick{}); err == nil {
			t.Fatal("a closed store proposed")
		}
		if err := s.Read(t.Context(), func(*task.Machine) {}); err == nil {
			t.Fatal("a closed store read")
		}
		<-s.Subscribe(1).Events()
		<-s.Leadership()
		m.store = nil
	})
}

// TestDirectoryInUse: a second process on the same directory is refused.
func TestDirectoryInUse(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		m := c.add("n1", nil)
		s := c.start(m, 1)
		if _, err := c.tryStart(m, 1); err == nil {
			t.Fatal("two stores on one directory")
		}
		m.store = s
		c.stop(m)
		m.id = "n2"
		if _, err := c.tryStart(m, 1); err == nil {
			t.Fatal("a directory was taken over under another ID")
		}
	})
}

// TestIdle: an idle cluster writes nothing.
func TestIdle(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := three(c, nil)
		c.activate(ms[0].store)
		c.agree()
		<-time.After(10 * time.Second)
		before := make([]DiskHealth, len(ms))
		for i, m := range ms {
			before[i] = m.store.Status().Disk
		}
		<-time.After(time.Minute)
		for i, m := range ms {
			if after := m.store.Status().Disk; after.Writes != before[i].Writes {
				t.Errorf("%s wrote %d times in an idle minute", m.id, after.Writes-before[i].Writes)
			}
		}
	})
}

// TestStatus: every node shows the whole cluster, with the addresses that the nodes told each other.
func TestStatus(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := three(c, nil)
		leader := c.leader()
		for _, m := range ms {
			c.await(m.id+" is ready", func() bool { return m.store.Status().Ready })
			st := m.store.Status()
			if _, addr := m.store.Leader(); st.ID != m.id || st.LeaderID != leader.id || addr != leader.addr || len(st.Members) != 3 {
				t.Fatalf("%+v, the leader at %s", st, addr)
			}
			want := RoleFollower
			if m == leader {
				want = RoleLeader
			}
			if st.Role != want || st.LastContact < 0 || st.Disk.Err != nil || st.Disk.Writes == 0 {
				t.Fatalf("%+v", st)
			}
			for _, x := range st.Members {
				if x.Addr != x.ID+":1" || x.HTTP != "http-"+x.Addr || !x.Voter {
					t.Fatalf("%+v", x)
				}
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := leader.store.Transfer(ctx); err != nil {
			t.Fatal(err)
		}
		if c.leader(leader) == leader {
			t.Fatal("leadership was not transferred")
		}
		c.net.Isolate(leader.addr)
		c.await("a lonely node is not ready", func() bool { return !leader.store.Status().Ready })
	})
}
