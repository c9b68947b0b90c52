package raftstore

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/task"
)

// TestReturningFollower: a follower is fed soon after it is back, however long it was away.
func TestReturningFollower(t *testing.T) {
	begin := func(c *cluster) (leader, f *member) {
		three(c, func(cfg *Config) { cfg.TrailingBytes = 1 })
		leader = c.leader()
		c.activate(leader.store)
		return leader, c.followers(leader)[0]
	}
	fed := func(c *cluster, leader, f *member, back func()) {
		c.t.Helper()
		if got := c.leader(f); got != leader {
			c.t.Fatalf("%s leads", got.id)
		}
		begun := time.Now()
		back()
		want := leader.store.fsm.appliedIndex()
		c.await("the follower has what it missed", func() bool { return f.store.fsm.appliedIndex() >= want })
		if took := time.Since(begun); took > 1200*time.Millisecond { // heartbeats are at most 700 ms apart
			c.t.Errorf("fed after %v", took)
		}
	}
	start := func(c *cluster, f *member) func() {
		return func() { c.start(f, 3, "n1:1", "n2:1", "n3:1") }
	}
	for name, f := range map[string]func(c *cluster, away time.Duration){
		"by entries": func(c *cluster, away time.Duration) {
			leader, f := begin(c)
			c.crash(f)
			c.propose(leader.store, submit("while-away", task.Fail))
			<-time.After(away)
			fed(c, leader, f, start(c, f))
		},
		"hung": func(c *cluster, away time.Duration) {
			leader, f := begin(c)
			c.net.Isolate(f.addr)
			c.propose(leader.store, submit("while-away", task.Fail))
			<-time.After(away)
			fed(c, leader, f, func() { c.net.Rejoin(f.addr) })
		},
		"died of a snapshot": func(c *cluster, away time.Duration) {
			leader, f := begin(c)
			c.crash(f)
			for i := range 2 * minTrailing {
				c.propose(leader.store, submit(fmt.Sprint("while-away", i), task.Fail))
			}
			if err := leader.store.snapshot(); err != nil {
				c.t.Fatal(err)
			}
			c.net.Delay(leader.addr, f.addr, 50*time.Millisecond)
			start(c, f)()
			c.await("the snapshot is sent", func() bool { return running("NetworkTransport).InstallSnapshot(") > 0 })
			c.crash(f)
			c.net.Delay(leader.addr, f.addr, 0)
			<-time.After(away)
			if held := open(c.t, leader.dir+"/snapshots/"); held != nil {
				c.t.Errorf("held meanwhile, so that it takes its space although it is removed: %q", held)
			}
			fed(c, leader, f, start(c, f))
		},
	} {
		for _, away := range []time.Duration{3 * time.Second, 20 * time.Second, 3 * time.Minute} {
			t.Run(fmt.Sprint(name, "/", away), func(t *testing.T) {
				bubble(t, func(_ *testing.T, c *cluster) { f(c, away) })
			})
		}
	}
}

// open lists the files below dir that this process has open.
func open(t *testing.T, dir string) (names []string) {
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("SKIPPED, NOT SHOWN: ", err)
	}
	for _, fd := range fds {
		if name, _ := os.Readlink("/proc/self/fd/" + fd.Name()); strings.HasPrefix(name, dir) {
			names = append(names, name)
		}
	}
	return names
}

// running counts the goroutines in a function.
func running(function string) int {
	all := make([]byte, 4<<20)
	return strings.Count(string(all[:runtime.Stack(all, true)]), function)
}

// TestNobodyWaitsForNothing: a leader that waits for a follower stops waiting when the follower is no longer a member,
// when the leader is deposed, and when it closes.
func TestNobodyWaitsForNothing(t *testing.T) {
	waiting := func() int { return running("(*returns).wait(") }
	for name, end := range map[string]func(c *cluster, leader, gone *member){
		"removed": func(c *cluster, leader, gone *member) {
			if err := leader.store.raft.RemoveServer(raft.ServerID(gone.id), 0, 0).Error(); err != nil {
				c.t.Error(err)
			}
		},
		"deposed": func(c *cluster, leader, gone *member) {
			heir := c.followers(leader)[0]
			if err := leader.store.raft.LeadershipTransferToServer(raft.ServerID(heir.id), raft.ServerAddress(heir.store.identity)).Error(); err != nil {
				c.t.Error(err)
			}
			c.leader(leader)
			c.crash(heir) // it waits, too
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *cluster) {
				three(c, nil)
				leader := c.leader()
				gone := c.followers(leader)[0]
				c.crash(gone)
				c.await("the leader waits", func() bool { return waiting() > 0 })
				end(c, leader, gone)
				c.await("nobody waits", func() bool { return waiting() == 0 })
			})
		})
	}
}

// TestOneTermWaits: a node that leads again waits for a follower once, not once for each of its terms.
func TestOneTermWaits(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		three(c, nil)
		leader := c.leader()
		c.crash(c.followers(leader)[0])
		waiting := func() int { return running("(*returns).wait(") }
		c.await("the leader waits", func() bool { return waiting() == 1 })
		for range 2 { // the leadership goes there and comes back
			heir := c.followers(leader)[0]
			if err := leader.store.raft.LeadershipTransferToServer(raft.ServerID(heir.id), raft.ServerAddress(heir.store.identity)).Error(); err != nil {
				t.Fatal(err)
			}
			c.await(heir.id+" leads", func() bool { return heir.store.raft.State() == raft.Leader })
			leader = heir
		}
		c.await("it waits once", func() bool { return waiting() == 1 })
		<-time.After(10 * time.Second)
		if n := waiting(); n != 1 {
			t.Errorf("%d wait", n)
		}
	})
}
