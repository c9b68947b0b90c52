package raftstore

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/taskrt/taskrt/raftstore/home"
	"github.com/taskrt/taskrt/raftstore/members"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/roster"
)

var joins = []string{"n1:1", "n2:1", "n3:1"}

// confirmedThree starts three nodes, and waits until all know the starts of all.
func confirmedThree(c *cluster) []*member {
	c.t.Helper()
	ms := settledThree(c)
	c.agree()
	c.awaitConfirmed(ms)
	return ms
}

// awaitConfirmed waits until all nodes know the starts of all.
func (c *cluster) awaitConfirmed(ms []*member) {
	c.t.Helper()
	c.await("all starts are confirmed", func() bool {
		for _, m := range ms {
			for _, of := range ms {
				if m.store.book.Holds(of.store.identity, "another") {
					return false
				}
			}
		}
		return true
	})
}

// rollBack puts a backup in the place of a member's directory as a disk does that is copied block by block: nothing on it tells.
func (c *cluster) rollBack(m *member, backup string) {
	c.t.Helper()
	c.restore(m, backup)
	if _, err := home.Moved(m.dir); err != nil {
		c.t.Fatal(err)
	}
}

// refuses starts a member, and demands that it stops itself for a reason.
func (c *cluster) refuses(m *member, why error) {
	c.t.Helper()
	c.start(m, 3, joins...)
	if err := <-m.fatal; !errors.Is(err, why) {
		c.t.Errorf("it stops because of %v, want %v", err, why)
	}
	c.stop(m)
}

// TestPastOfAFormerStart: a disk that is set back to before the last start of its node lacks the number of that start, and what the node has
// promised since (SPEC C7). Nothing that was acknowledged is lost.
func TestPastOfAFormerStart(t *testing.T) {
	eachLogStore(t, func(t *testing.T, c *cluster) {
		ms := confirmedThree(c)
		n3 := ms[2]
		c.agree()
		c.stop(n3)
		backup := c.backup(n3)
		c.start(n3, 3, joins...)
		c.awaitVoters("n1", "n2", "n3")
		c.agree()
		c.propose(ms[0].store, submit("since", task.Join))
		c.agree()
		c.stop(n3)
		// Those who remember what n3 has acknowledged start again, and know its number only.
		for _, m := range ms[:2] {
			c.stop(m)
		}
		for _, m := range ms[:2] {
			c.start(m, 3, joins...)
		}
		c.leader()
		c.rollBack(n3, backup)
		c.refuses(n3, members.ErrSuperseded)
		if !c.has(ms[0].store, "since") {
			t.Error("what was acknowledged is lost")
		}
	})
}

// TestPastOfThisStart: a disk that is set back by less than a start knows all numbers. The leader remembers what the node has acknowledged.
func TestPastOfThisStart(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := confirmedThree(c)
		n3 := c.followers(c.leader())[1]
		backup := c.backup(n3)
		c.propose(ms[0].store, submit("since", task.Join))
		c.agree()
		c.crash(n3)
		now := c.backupTo(n3, n3.dir+".now")
		c.rollBack(n3, backup)
		c.net.HealAll()
		c.refuses(n3, members.ErrSuperseded)
		c.rollBack(n3, now)
		c.start(n3, 3, joins...)
		c.agree()
	})
}

// TestPastOfAFormerDisk: a node has got an empty disk, and its former one comes back. It is not the node's any longer.
func TestPastOfAFormerDisk(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := confirmedThree(c)
		n3 := ms[2]
		former := c.backup(n3)
		c.stop(n3)
		if err := os.RemoveAll(n3.dir); err != nil {
			t.Fatal(err)
		}
		c.start(n3, 3, joins...)
		c.await("n3 has everything", func() bool { return n3.store.Status().Ready })
		c.agree()
		c.stop(n3)
		now := c.backupTo(n3, n3.dir+".now")
		c.rollBack(n3, former)
		c.refuses(n3, members.ErrSuperseded)
		c.rollBack(n3, now)
		c.start(n3, 3, joins...)
		c.agree()
	})
}

// TestHeldElsewhere: a node hangs, and a copy of its disk is started at another address. The copy is the node from then on. When the former process
// wakes, it is told so and stops, also if it led. What was acknowledged meanwhile stays (SPEC C7).
func TestHeldElsewhere(t *testing.T) {
	for name, pick := range map[string]func(c *cluster) *member{
		"follower": func(c *cluster) *member { return c.followers(c.leader())[0] },
		"leader":   func(c *cluster) *member { return c.leader() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *cluster) {
				confirmedThree(c)
				hung := pick(c)
				c.net.Isolate(hung.addr)
				twin := c.add(hung.id+"-twin", nil)
				twin.id = hung.id
				c.rollBack(twin, c.backup(hung))
				c.start(twin, 3, joins...)
				c.await("the copy is the node", func() bool { return twin.store.Status().Ready })
				c.propose(twin.store, submit("since", task.Join))
				c.net.HealAll()
				if err := c.ends(hung); !errors.Is(err, members.ErrSuperseded) {
					t.Errorf("the former process: %v", err)
				}
				delete(c.nodes, hung.id)
				c.agree()
				for _, m := range c.nodes {
					if !c.has(m.store, "since") {
						t.Errorf("%s has lost what was acknowledged", m.addr)
					}
				}
			})
		})
	}
}

// TestBesideALiveHolder: a copy that is started while its original runs is refused, and nobody looks for the node where the copy was (SPEC C7).
func TestBesideALiveHolder(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := confirmedThree(c)
		for i := range 3 {
			twin := c.add(fmt.Sprintf("twin%d", i), nil)
			twin.id = "n3"
			c.rollBack(twin, c.backup(ms[2]))
			c.start(twin, 3, joins...)
			if err := c.ends(twin); !errors.Is(err, members.ErrDuplicateID) && !errors.Is(err, members.ErrSuperseded) {
				t.Errorf("a copy beside its original: %v", err)
			}
			delete(c.nodes, twin.addr[:5])
			if err := os.RemoveAll(ms[2].dir + ".backup"); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(10 * time.Second)
		for _, m := range ms {
			for _, x := range m.store.Status().Members {
				if x.ID == "n3" && x.Addr != "n3:1" {
					t.Errorf("%s looks for n3 at %s", m.id, x.Addr)
				}
			}
			if err := m.store.failure(); err != nil {
				t.Errorf("%s: %v", m.id, err)
			}
		}
		c.propose(ms[2].store, submit("goes-on", task.Join))
		c.agree()
	})
}

// TestUnheardStarts: a node that has started more often than it keeps numbers, without reaching anybody, is still known. So is one that died
// between drawing a number and telling it, and all three start in any order (SPEC C7).
func TestUnheardStarts(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := confirmedThree(c)
		c.propose(ms[0].store, submit("before", task.Join))
		c.agree()
		for _, m := range ms {
			c.stop(m)
		}
		for range 70 {
			c.start(ms[2], 3, joins...)
			<-time.After(10 * time.Millisecond)
			c.stop(ms[2])
		}
		for _, order := range [][]int{{2, 0, 1}, {0, 1, 2}, {1, 2, 0}} {
			for _, i := range order {
				c.start(ms[i], 3, joins...)
				<-time.After(time.Second)
			}
			c.leader()
			c.agree()
			for _, m := range ms {
				c.stop(m)
			}
		}
	})
}

// TestStartsWithoutOneMember: a member that comes back has slept through more starts of another one than that keeps numbers. It finds the last start that
// it knows among them all the same (SPEC C7).
func TestStartsWithoutOneMember(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := confirmedThree(c)
		sleeps, restarts := ms[1], ms[2]
		known := func(by *member) func() bool {
			return func() bool { return by.store.book.Holds(restarts.store.identity, restarts.store.book.Me().Start) }
		}
		c.stop(sleeps)
		c.propose(ms[0].store, submit("meanwhile", task.Join))
		for range 70 {
			c.stop(restarts)
			c.start(restarts, 3, joins...)
			c.await("the start is confirmed by a majority", known(restarts))
		}
		c.start(sleeps, 3, joins...)
		c.await("who has slept knows the last start", known(sleeps))
		c.agree()
	})
}

// TestConfirmedByNewMembers: while a node was away all others were replaced. The new members confirm its start.
func TestConfirmedByNewMembers(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := confirmedThree(c)
		away := ms[2]
		var now []*member
		for _, id := range []string{"n4", "n5", "n6"} {
			m := c.add(id, nil)
			c.start(m, 3, joins...)
			c.await(id+" follows", func() bool { return m.store.Status().Ready })
			c.approve(id)
			now = append(now, m)
		}
		c.awaitVoters("n1", "n2", "n3", "n4", "n5", "n6")
		c.agree()
		c.stop(away)
		for _, m := range ms[:2] {
			c.settle(m.id, roster.Held, instanceIn(m), false)
			if err := c.ends(m); !errors.Is(err, ErrRemoved) {
				t.Fatal(err)
			}
			delete(c.nodes, m.id)
		}
		c.propose(now[0].store, submit("since", task.Join))
		c.start(away, 3, "n4:1")
		c.agree()
		if !c.has(away.store, "since") {
			t.Error("it does not follow")
		}
	})
}

// TestRefusedByOne: one member knows no better, and the other one refuses. Neither takes the refused directory for the node's own, so the node's
// own directory comes back (SPEC C7).
func TestRefusedByOne(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		confirmedThree(c)
		leader := c.leader()
		n := c.followers(leader)[0]
		backup := c.backup(n)
		c.propose(leader.store, submit("since", task.Join))
		c.agree()
		c.stop(n)
		own := c.backupTo(n, n.dir+".own")
		c.rollBack(n, backup)
		c.refuses(n, members.ErrSuperseded) // the leader knows what it has acknowledged, the other follower does not
		c.rollBack(n, own)
		c.start(n, 3, joins...)
		c.agree()
	})
}
