package raftstore

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/task"
)

// TestStalledDiskGivesWay: a leader whose disk hangs leads no longer than its followers need for an election after two
// seconds, whether or not raft's main goroutine waits for the disk. A disk that is back after five seconds costs no
// process, and nothing is lost (SPEC C10).
func TestStalledDiskGivesWay(t *testing.T) {
	for name, write := range map[string]func(s *Store){
		"in raft's own goroutine": func(s *Store) { s.raft.Barrier(0) },
		"beside raft":             func(*Store) {},
	} {
		t.Run(name, func(t *testing.T) {
			eachLogStore(t, func(t *testing.T, c *cluster) {
				disks := map[string]*faultyDisk{}
				ms := three(c, withFaultyDisk(disks))
				bad := c.leader()
				c.activate(bad.store)
				c.propose(bad.store, submit("before", task.Fail))
				disks[bad.id].hang.Store(true)
				release := sync.OnceFunc(func() { close(disks[bad.id].hold) })
				defer release()
				begun := time.Now()
				write(bad.store)
				answer := make(chan error, 1)
				go func() {
					_, err := bad.store.Propose(ctxFor(t, time.Minute), submit("caught", task.Fail))
					answer <- err
				}()
				next := c.leader(bad)
				if took := time.Since(begun); took > 8*time.Second {
					t.Errorf("another leader after %v", took)
				}
				<-time.After(time.Until(begun.Add(5 * time.Second)))
				c.await("another leader", func() bool { return c.leader(bad) != nil })
				disks[bad.id].hang.Store(false)
				release()
				c.propose(next.store, submit("after", task.Fail))
				if err := <-answer; err != nil {
					t.Errorf("a command that the stalled leader had taken: %v", err)
				}
				c.agree()
				for _, m := range ms {
					if !c.has(m.store, "before") || !c.has(m.store, "caught") || !c.has(m.store, "after") {
						t.Errorf("%s has lost something", m.id)
					}
				}
				if len(bad.fatal) > 0 {
					t.Errorf("the process ends: %v", <-bad.fatal)
				}
			})
		})
	}
}

// TestSlowDiskDoesNotLead: leadership leaves a node whose writes take three seconds, and does not come back to it while
// they do, also when the next leader ends. Commits are quick meanwhile (SPEC C10).
func TestSlowDiskDoesNotLead(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		disks := map[string]*faultyDisk{}
		ms := some(c, 5, withFaultyDisk(disks))
		bad := c.leader()
		c.activate(bad.store)
		disks[bad.id].slow.Store(int64(3 * time.Second))
		disks[bad.id].votes.Store(int64(3 * time.Second))
		c.propose(bad.store, submit("slow", task.Fail))
		c.leader(bad)
		var led atomic.Int32
		watched := bad.store.Leadership()
		<-watched // as it is now
		go func() {
			for l := range watched {
				if l.Leading {
					led.Add(1)
				}
			}
		}()
		quick := func(n int) {
			for i := range n {
				begun := time.Now()
				c.propose(c.leader(bad).store, submit(fmt.Sprintf("quick-%d-%d", n, i), task.Fail))
				if took := time.Since(begun); took > time.Second {
					t.Errorf("a commit took %v", took)
				}
				<-time.After(time.Second)
			}
		}
		quick(100)
		leader := c.leader(bad)
		term := leader.store.leadingTerm()
		if err := leader.store.raft.LeadershipTransferToServer(raft.ServerID(bad.id), raft.ServerAddress(bad.store.identity)).Error(); err == nil {
			t.Error("leadership was handed to the node with the slow disk")
		}
		<-time.After(5 * time.Second)
		if leader.store.leadingTerm() != term {
			t.Errorf("term %d is over", term)
		}
		ended := c.leader(bad)
		c.crash(ended)
		c.leader(bad)
		quick(101)
		if n := led.Load(); n > 0 {
			t.Errorf("the node with the slow disk has led %d times more", n)
		}
		for _, m := range ms {
			if len(m.fatal) > 0 && m != ended {
				t.Errorf("%s ends: %v", m.id, <-m.fatal)
			}
		}
		disks[bad.id].slow.Store(0)
		disks[bad.id].votes.Store(0)
		c.start(ended, 5, "n1:1", "n2:1", "n3:1", "n4:1", "n5:1")
		c.agree()
		<-time.After(time.Minute)
		id := raft.ServerID(bad.id)
		if err := c.leader().store.raft.LeadershipTransferToServer(id, raft.ServerAddress(bad.store.identity)).Error(); err != nil {
			t.Error(err)
		}
		c.await("a node whose disk is well again leads", func() bool { return bad.store.leadingTerm() != 0 })
	})
}

// TestAllDisksSlow: a leader whose disk stalls leads on where the disks of the others were no better a moment ago.
func TestAllDisksSlow(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		disks := map[string]*faultyDisk{}
		ms := three(c, withFaultyDisk(disks))
		leader := c.leader()
		c.activate(leader.store)
		for _, m := range c.followers(leader) { // one after the other, so that a majority answers the leader
			disks[m.id].slow.Store(int64(3 * time.Second))
			c.propose(leader.store, submit("slow-"+m.id, task.Fail))
			c.await("its disk is slow", func() bool { return m.store.Status().Disk.Slow })
			disks[m.id].slow.Store(0)
			<-time.After(4 * time.Second)
		}
		leader = c.leader()
		term := leader.store.leadingTerm()
		disks[leader.id].slow.Store(int64(5 * time.Second))
		c.propose(leader.store, submit("stalled", task.Fail))
		if leader.store.leadingTerm() != term {
			t.Error("a slow leader was exchanged for another")
		}
		for _, m := range ms {
			if !m.store.Status().Disk.Slow {
				t.Errorf("the disk of %s is not slow: this shows nothing", m.id)
			}
		}
	})
}

// TestSlowDiskLeadsAtLast: a node whose disk was slow a moment ago leaves an election to others, but not for ever: it
// may be the only one with the whole log.
func TestSlowDiskLeadsAtLast(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		disks := map[string]*faultyDisk{}
		three(c, withFaultyDisk(disks))
		leader := c.leader()
		c.activate(leader.store)
		bad, behind := c.followers(leader)[0], c.followers(leader)[1]
		disks[bad.id].slow.Store(int64(3 * time.Second))
		c.propose(leader.store, submit("slow", task.Fail))
		c.await("its disk is slow", func() bool { return bad.store.Status().Disk.Slow })
		disks[bad.id].slow.Store(0)
		c.net.Isolate(behind.addr)
		c.propose(leader.store, submit("of-two", task.Fail))
		ended := time.Now()
		c.crash(leader)
		c.net.Rejoin(behind.addr)
		if got := c.leader(); got != bad {
			t.Fatalf("%s leads without an entry that was acknowledged", got.id)
		}
		if took := time.Since(ended); took < 5*time.Second || took > 20*time.Second {
			t.Errorf("it leads after %v", took)
		}
		if !c.has(behind.store, "of-two") {
			t.Error("lost")
		}
	})
}

// starved says that this process is late by the part of all time that the test says.
type starved struct {
	begun time.Time
	part  float64
}

func (s *starved) Total() time.Duration {
	return time.Duration(s.part * float64(time.Since(s.begun)))
}

func (s *starved) Worst() time.Duration { return 0 }

// TestStarvedIsNotSlow: writes take 20 s, of which the scheduler has 19. The node neither hands over nor ends. If the
// disk really hangs meanwhile, it ends (SPEC C10).
func TestStarvedIsNotSlow(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		disks := map[string]*faultyDisk{}
		with := withFaultyDisk(disks)
		three(c, func(cfg *Config) { with(cfg); cfg.late = &starved{time.Now(), 0.95}; cfg.QueueAge = time.Hour })
		leader := c.leader()
		c.activate(leader.store)
		term := leader.store.leadingTerm()
		disks[leader.id].slow.Store(int64(20 * time.Second))
		c.propose(leader.store, submit("late", task.Fail))
		<-time.After(time.Minute)
		if leader.store.leadingTerm() != term || len(leader.fatal) > 0 || leader.store.Status().Disk.Slow {
			t.Errorf("%+v", leader.store.Status())
		}
		disks[leader.id].slow.Store(0)
		disks[leader.id].hang.Store(true)
		defer close(disks[leader.id].hold)
		go leader.store.Propose(ctxFor(t, time.Minute), submit("never", task.Fail))
		begun := time.Now()
		if err := <-leader.fatal; !errors.Is(err, ErrDiskStalled) || time.Since(begun) < 100*time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
	})
}

// busy says that this process was late by as much as the test says.
type busy struct{ worst atomic.Int64 }

func (b *busy) Total() time.Duration { return 0 }

func (b *busy) Worst() time.Duration { return time.Duration(b.worst.Load()) }

// TestPatience: on machines that are late by seconds a leader that hears nobody for a second and a half leads on, and
// nobody stands for election. When they are no longer late the time-outs are what they were (SPEC C10).
func TestPatience(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		late := &busy{}
		three(c, func(cfg *Config) { cfg.late = late })
		leader := c.leader()
		c.activate(leader.store)
		cutOff := func(d time.Duration) {
			c.net.Isolate(leader.addr)
			<-time.After(d)
			c.net.Rejoin(leader.addr)
		}
		late.worst.Store(int64(5 * time.Second))
		<-time.After(2 * time.Second)
		term := leader.store.raft.CurrentTerm()
		for i := range 20 {
			cutOff(1500 * time.Millisecond)
			c.propose(leader.store, submit(fmt.Sprint("task", i), task.Fail))
			<-time.After(2 * time.Second)
		}
		for _, m := range c.nodes {
			if now := m.store.raft.CurrentTerm(); now != term {
				t.Errorf("%s: term %d became term %d", m.id, term, now)
			}
			if got := m.store.raft.ReloadableConfig().HeartbeatTimeout; got != 4*time.Second {
				t.Errorf("%s waits %v for a leader, however late it is", m.id, got)
			}
		}
		if err := leader.store.snapshot(); err != nil { // it changes raft's configuration, too
			t.Error(err)
		}
		late.worst.Store(0)
		<-time.After(2 * time.Second)
		begun := time.Now()
		c.net.Isolate(leader.addr)
		c.leader(leader)
		if took := time.Since(begun); took > 5*time.Second || leader.store.leadingTerm() != 0 {
			t.Errorf("the next leader after %v; the former one leads: %v", took, leader.store.leadingTerm() != 0)
		}
		c.net.Rejoin(leader.addr)
		c.agree()
	})
}
