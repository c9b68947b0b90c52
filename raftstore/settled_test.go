package raftstore

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/taskrt/taskrt/raftstore/change"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/roster"
)

// settle proposes what is settled about a node through the leader.
func (c *cluster) settle(id string, v roster.Vote, remove string, force bool) {
	c.t.Helper()
	c.propose(c.leader().store, task.SetMember{Node: id, Vote: uint64(v), Remove: remove, Force: force})
}

func (c *cluster) approve(id string) { c.t.Helper(); c.settle(id, roster.Voter, "", false) }

// remove removes the directory that a member has.
func (c *cluster) remove(m *member, force bool) {
	c.t.Helper()
	c.settle(m.id, roster.Held, c.instance(m), force)
}

func (c *cluster) instance(m *member) string {
	c.t.Helper()
	w, ok := c.leader(m).store.Changes().Find(m.id)
	if !ok {
		c.t.Fatalf("%s is no member", m.id)
	}
	return w.Instance
}

// voters returns the IDs of those who vote, as the leader knows them.
func (c *cluster) voters() (ids []string) {
	c.t.Helper()
	for _, x := range c.leader().store.Status().Members {
		if x.Voter {
			ids = append(ids, x.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

func (c *cluster) awaitVoters(ids ...string) {
	c.t.Helper()
	c.await("these voters", func() bool { return slices.Equal(c.voters(), ids) })
}

// ends waits until a member has stopped itself, and returns why.
func (c *cluster) ends(m *member) error {
	c.t.Helper()
	err := <-m.fatal
	c.stop(m)
	return err
}

// TestRemove: a removed node takes part no longer, whether it runs, comes back later, or leads. Its directory never comes back. With an empty
// one it is a newcomer (SPEC C2).
func TestRemove(t *testing.T) {
	all := []string{"n1:1", "n2:1", "n3:1"}
	for name, pick := range map[string]func(c *cluster) *member{
		"follower": func(c *cluster) *member { return c.followers(c.leader())[0] },
		"leader":   func(c *cluster) *member { return c.leader() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *cluster) {
				settledThree(c)
				gone := pick(c)
				c.settle(gone.id, roster.Held, instanceIn(gone), false)
				if err := c.ends(gone); !errors.Is(err, ErrRemoved) {
					t.Fatal(err)
				}
				rest := slices.DeleteFunc([]string{"n1", "n2", "n3"}, func(id string) bool { return id == gone.id })
				c.awaitVoters(rest...)
				c.propose(c.leader().store, submit("without-it", task.Fail))
				for range 2 {
					c.start(gone, 3, all...)
					if err := c.ends(gone); !errors.Is(err, ErrRemoved) {
						t.Fatal(err)
					}
				}
				if err := os.RemoveAll(gone.dir); err != nil {
					t.Fatal(err)
				}
				c.start(gone, 3, all...)
				c.await("it follows", func() bool { return gone.store.Status().Role == RoleNonvoter })
				<-time.After(2 * time.Minute)
				c.awaitVoters(rest...)
				c.approve(gone.id)
				c.awaitVoters("n1", "n2", "n3")
				c.agree()
			})
		})
	}
}

// instanceIn reads a member's instance from what it says of itself.
func instanceIn(m *member) string {
	w, _ := m.store.Changes().Find(m.id)
	return w.Instance
}

// settledThree starts three nodes, and waits until it is settled that they vote.
func settledThree(c *cluster) []*member {
	c.t.Helper()
	ms := three(c, nil)
	c.activate(ms[0].store)
	c.awaitLevel(task.MembersLevel)
	return ms
}

func (c *cluster) awaitLevel(level uint64) {
	c.t.Helper()
	c.await("the level", func() bool { return c.allAtLevel(level) })
	c.await("all of them are settled", func() bool {
		n := 0
		c.leader().store.fsm.read(func(m *task.Machine) { n = len(m.Roster().Members()) })
		return n >= 3
	})
}

// TestRemovedWhileAway: a node that is away when it is removed hears of it when it comes back, and disturbs nobody.
func TestRemovedWhileAway(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		settledThree(c)
		gone := c.followers(c.leader())[0]
		c.crash(gone)
		c.remove(gone, false)
		c.await("it is out", func() bool { return len(c.voters()) == 2 })
		term := c.leader().store.leadingTerm()
		c.start(gone, 3, "n1:1", "n2:1", "n3:1")
		if err := c.ends(gone); !errors.Is(err, ErrRemoved) {
			t.Fatal(err)
		}
		if now := c.leader().store.leadingTerm(); now != term {
			t.Errorf("the removed node has cost an election: term %d, then %d", term, now)
		}
	})
}

// TestRemovedBehindAPartition: a node that is cut off when it is removed hears of it when the network is whole again. It disturbs nobody.
func TestRemovedBehindAPartition(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		settledThree(c)
		gone := c.followers(c.leader())[0]
		c.net.Isolate(gone.addr)
		c.settle(gone.id, roster.Held, instanceIn(gone), false)
		c.await("it is out", func() bool { return len(c.leader(gone).store.Status().Members) == 2 })
		<-time.After(time.Minute)
		term := c.leader(gone).store.leadingTerm()
		c.net.HealAll()
		if err := c.ends(gone); !errors.Is(err, ErrRemoved) {
			t.Fatal(err)
		}
		if now := c.leader().store.leadingTerm(); now != term {
			t.Errorf("the removed node has cost an election: term %d, then %d", term, now)
		}
	})
}

// TestDemote: a demoted node follows without a vote, over restarts and other leaders, until it is approved again.
func TestDemote(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		settledThree(c)
		held := c.leader()
		c.settle(held.id, roster.Held, "", false)
		c.await("two voters", func() bool { return len(c.voters()) == 2 })
		c.stop(held)
		c.start(held, 3, "n1:1", "n2:1", "n3:1")
		if err := c.leader().store.Transfer(ctxFor(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
		for range 2000 { // at no time
			<-time.After(50 * time.Millisecond)
			if n := len(c.voters()); n != 2 {
				t.Fatalf("%d voters", n)
			}
		}
		if r := held.store.Status().Role; r != RoleNonvoter {
			t.Errorf("it is a %s", r)
		}
		c.approve(held.id)
		c.awaitVoters("n1", "n2", "n3")
		c.agree()
	})
}

// TestNoMajorityLeft: who goes must leave a majority alive. Else the step is refused to who asks, and the leader does not take it, unless the
// operator insists.
func TestNoMajorityLeft(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		settledThree(c)
		followers := c.followers(c.leader())
		away, asked := followers[0], followers[1]
		c.crash(away)
		var no *change.MajorityError
		if err := asked.store.Changes().Bears(ctxFor(t, time.Minute), asked.id); !errors.As(err, &no) {
			t.Errorf("asked whether it may go: %v", err)
		}
		if err := asked.store.Changes().Bears(ctxFor(t, time.Minute), away.id); err != nil {
			t.Errorf("asked whether who is away may go: %v", err)
		}
		c.remove(asked, false)
		<-time.After(2 * time.Minute)
		if n := len(c.voters()); n != 3 || asked.store.failure() != nil {
			t.Fatalf("it was removed all the same: %d voters", n)
		}
		c.start(away, 3, "n1:1", "n2:1", "n3:1")
		if err := c.ends(asked); !errors.Is(err, ErrRemoved) {
			t.Fatal(err)
		}
		c.await("two voters", func() bool { return len(c.voters()) == 2 })
	})
	bubble(t, func(t *testing.T, c *cluster) {
		settledThree(c)
		followers := c.followers(c.leader())
		c.crash(followers[0])
		c.remove(followers[1], true)
		if err := c.ends(followers[1]); !errors.Is(err, ErrRemoved) {
			t.Fatal(err)
		}
		c.start(followers[0], 3, "n1:1", "n2:1", "n3:1")
		c.await("two voters", func() bool { return len(c.voters()) == 2 })
	})
}

// TestNewcomerIsNotTheMajority: while somebody who votes is away, a newcomer that the majority would then depend on waits.
func TestNewcomerIsNotTheMajority(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		settledThree(c)
		away := c.followers(c.leader())[0]
		c.crash(away)
		m := c.add("n4", nil)
		c.start(m, 0, "n1:1", "n2:1", "n3:1")
		c.approve("n4")
		c.await("it follows", func() bool { return m.store.Status().Role == RoleNonvoter })
		<-time.After(2 * time.Minute)
		if n := len(c.voters()); n != 3 {
			t.Fatalf("%d voters", n)
		}
		c.remove(away, false)
		c.await("it votes", func() bool { return slices.Contains(c.voters(), "n4") && len(c.voters()) == 3 })
	})
}

// TestForgotten: who does not vote, and is gone, is forgotten after an hour. One voter is enough to show it: heartbeats of three, for an hour, are
// a minute's work.
func TestForgotten(t *testing.T) {
	bubbleFor(t, 2*time.Hour, func(t *testing.T, c *cluster) {
		s := c.start(c.add("n1", nil), 1)
		c.leader()
		c.activate(s)
		c.await("the level", func() bool { return c.allAtLevel(task.MembersLevel) })
		m := c.add("n4", nil)
		c.start(m, 0, "n1:1")
		c.await("it follows", func() bool { return m.store.Status().Role == RoleNonvoter })
		c.crash(m)
		<-time.After(50 * time.Minute)
		if n := len(s.Status().Members); n != 2 {
			t.Fatalf("forgotten too early: %d members", n)
		}
		<-time.After(15 * time.Minute)
		c.await("it is forgotten", func() bool { return len(s.Status().Members) == 1 })
		c.start(m, 0, "n1:1")
		c.await("it comes back", func() bool { return m.store.Status().Role == RoleNonvoter })
	})
}

// TestTransferTo: leadership goes to whom an operator names, whichever node is asked.
func TestTransferTo(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := settledThree(c)
		for _, m := range ms {
			asked := c.followers(m)[0]
			if err := asked.store.Changes().Transfer(ctxFor(t, time.Minute), m.id); err != nil {
				t.Fatal(err)
			}
			c.await(m.id+" leads", func() bool { return m.store.leadingTerm() != 0 })
			c.await("all know", func() bool { id, _ := asked.store.Leader(); return id == m.id })
		}
		if err := c.followers(c.leader())[0].store.Changes().HandOver(ctxFor(t, time.Minute), ""); !errors.Is(err, ErrNotLeader) {
			t.Errorf("who does not lead hands over: %v", err) // Close asks by the store's error
		}
		if err := ms[0].store.Changes().Transfer(ctxFor(t, time.Minute), "n9"); err == nil {
			t.Error("somebody who is no member leads")
		}
	})
}

// TestBeforeAnythingIsSettled: below level 3 newcomers come to vote by themselves. When the level is raised, whoever votes is settled to.
func TestBeforeAnythingIsSettled(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := three(c, knows(2))
		join := []string{"n1:1", "n2:1", "n3:1"}
		c.activate(ms[0].store)
		n4 := c.add("n4", knows(2))
		c.start(n4, 0, join...)
		c.awaitVoters("n1", "n2", "n3", "n4")
		for _, m := range append(ms, n4) {
			c.restart(m, knows(3), join...)
			c.leader()
		}
		<-time.After(4 * time.Minute)
		c.awaitLevel(3)
		var settled []roster.Member
		c.await("all of them are settled", func() bool {
			c.leader().store.fsm.read(func(m *task.Machine) { settled = m.Roster().Members() })
			return len(settled) == 4
		})
		for _, x := range settled {
			if x.Vote != roster.Voter {
				t.Errorf("%+v", x)
			}
		}
		c.agree()
	})
}
