package raftstore

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/raftstore/rpc"
	"github.com/taskrt/taskrt/task"
)

// soon is much less than the time-outs of an election, which are 1 s and more.
const soon = 100 * time.Millisecond

// TestSuccession: the leader's process ends. The follower with the longest log succeeds it at once, even when half of
// the other nodes are gone.
func TestSuccession(t *testing.T) {
	for _, n := range []int{3, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			bubble(t, func(t *testing.T, c *cluster) {
				some(c, n, nil)
				leader := c.leader()
				c.activate(leader.store)
				<-time.After(5 * time.Second)
				for i := range n / 2 {
					behind := c.followers(leader)[i]
					c.net.Cut(leader.addr, behind.addr)
					if i == 0 {
						c.propose(leader.store, submit("unknown-to-"+behind.id, task.Fail))
					}
					begun := time.Now()
					c.crash(leader)
					c.net.Reset(leader.addr, behind.addr) // with the messages that were on their way
					c.net.Heal(leader.addr, behind.addr)
					heir := c.leader(leader)
					if took := time.Since(begun); took > soon {
						t.Errorf("%s leads after %v", heir.id, took)
					}
					if heir == behind && i == 0 {
						t.Errorf("%s leads, and has less than others", heir.id)
					}
					leader = heir
					c.propose(leader.store, submit(fmt.Sprint("after-", i), task.Fail))
				}
			})
		})
	}
}

// TestNoSuccessionOfAVanishedHost: a host that vanishes refuses no connection, so an election has to find a leader.
func TestNoSuccessionOfAVanishedHost(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		three(c, nil)
		leader := c.leader()
		<-time.After(5 * time.Second)
		begun := time.Now()
		c.net.Isolate(leader.addr)
		c.crash(leader)
		c.leader(leader)
		if took := time.Since(begun); took <= soon { // an election's time-out, from a heartbeat that may have been before begun
			t.Errorf("a leader after %v: the test shows nothing", took)
		}
	})
}

// TestNobodySucceedsAlone: the leader refuses only one follower. This follower does not depose it.
func TestNobodySucceedsAlone(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		three(c, nil)
		leader := c.leader()
		<-time.After(5 * time.Second)
		f := c.followers(leader)[0]
		term := leader.store.raft.CurrentTerm()
		f.misplace(leader)
		c.net.Reset(leader.addr, f.addr)
		<-time.After(time.Minute)
		if got := leader.store.raft.CurrentTerm(); got != term || leader.store.raft.State() != raft.Leader {
			t.Errorf("term %d, was %d", got, term)
		}
	})
}

// TestLeaderAtAnUnknownAddress: all followers look for the leader at an address where nobody is. They never met it
// there, so it stays the leader.
func TestLeaderAtAnUnknownAddress(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := three(c, nil)
		next := c.followers(c.leader())[0]
		<-time.After(5 * time.Second)
		for _, m := range ms {
			if m != next {
				m.misplace(next)
				c.net.Reset(m.addr, next.addr)
			}
		}
		next.store.raft.Campaign()
		c.await(next.id+" leads", func() bool { return next.store.raft.State() == raft.Leader })
		term := next.store.raft.CurrentTerm()
		<-time.After(time.Minute)
		if got := next.store.raft.CurrentTerm(); got != term || next.store.raft.State() != raft.Leader {
			t.Errorf("term %d, was %d", got, term)
		}
	})
}

// TestUnknownRequest: a node of a former version says that it does not know a question, and it answers the next
// question (SPEC C4).
func TestUnknownRequest(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := three(c, nil)
		from, to := ms[0].store, ms[1]
		_, err := rpc.Request[struct{}](t.Context(), from.clients, to.addr, to.store.identity, 200, struct{}{})
		if refused := (*rpc.StatusError)(nil); !errors.As(err, &refused) || refused.Status != rpc.StatusRefused {
			t.Errorf("%v", err)
		}
		if _, err := rpc.Request[termReply](t.Context(), from.clients, to.addr, to.store.identity, rpc.KindTerm, struct{}{}); err != nil {
			t.Error(err)
		}
	})
}

// misplace gives m an address of other at which nobody is.
func (m *member) misplace(other *member) {
	p, _ := m.store.book.Lookup(other.store.identity)
	p.Addr = "nobody:1"
	p.Incarnation++ // the entry with the later incarnation wins
	_, _ = m.store.book.Learn(p)
}
