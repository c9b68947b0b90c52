package raftstore

import (
	"errors"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/taskrt/taskrt/task"
)

// TestFollowerReads: a follower that asks the leader says its own term. With three nodes the two are a majority, so the read takes one round
// trip. With five the leader has to ask, too.
func TestFollowerReads(t *testing.T) {
	const way = 20 * time.Millisecond
	for nodes, want := range map[int]time.Duration{3: 2 * way, 5: 4 * way} {
		bubble(t, func(t *testing.T, c *cluster) {
			some(c, nodes, nil)
			leader := c.leader()
			f := c.followers(leader)[0]
			read := func() time.Duration {
				begun := time.Now()
				if err := f.store.Read(ctxFor(t, time.Minute), func(*task.Machine) {}); err != nil {
					t.Fatal(err)
				}
				return time.Since(begun)
			}
			read() // connects
			for _, m := range c.nodes {
				for _, o := range c.nodes {
					if m != o {
						c.net.Delay(m.addr, o.addr, way)
					}
				}
			}
			<-time.After(time.Second)
			if took := read(); took != want {
				t.Errorf("%d nodes: a read took %v, want %v", nodes, took, want)
			}
		})
	}
}

// TestWhoConfirmsLeader: a leader that nobody answers any more is confirmed by a voter that asks it, if that voter has seen no later term, and
// if the two are a majority. Nobody else confirms it (SPEC W4).
func TestWhoConfirmsLeader(t *testing.T) {
	term := func(n uint64) []byte {
		b, err := cbor.Marshal(termReply{n})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, nodes := range []int{3, 5} {
		bubble(t, func(t *testing.T, c *cluster) {
			some(c, nodes, nil)
			leader := c.leader()
			voter := c.followers(leader)[0].store.identity
			now := leader.store.leadingTerm()
			c.net.Isolate(leader.addr)
			for _, test := range []struct {
				what     string
				from     string
				question []byte
				three    bool // with three nodes it is confirmed; with five never
			}{
				{"its term", voter, term(now), true},
				{"an earlier term", voter, term(now - 1), true},
				{"a later term: another may lead", voter, term(now + 1), false},
				{"a former build, which says no term", voter, nil, false},
				{"no term", voter, term(0), false},
				{"no voter", "somebody", term(now), false},
				{"itself", leader.store.identity, term(now), false},
				{"nonsense", voter, []byte{0xff}, false},
			} {
				_, err := leader.store.readLocal(ctxFor(t, 20*time.Millisecond), test.from, test.question)
				if want := test.three && nodes == 3; (err == nil) != want {
					t.Errorf("%d nodes, %s: %v", nodes, test.what, err)
				}
			}
		})
	}
}

// TestUnconfirmedStartSaysNoTerm: a directory of which nobody has confirmed that it is not an older state of its node confirms no leader, asked or
// asking (SPEC C7).
func TestUnconfirmedStartSaysNoTerm(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := three(c, nil)
		leader := c.leader()
		f := c.followers(leader)[0]
		if term, err := f.store.ownTerm(); err != nil || term.Term != leader.store.leadingTerm() {
			t.Fatalf("a member says %v, %v", term, err)
		}
		c.net.Isolate(f.addr)
		c.stop(f)
		c.start(f, len(ms), leader.addr)
		if term, err := f.store.ownTerm(); !errors.Is(err, ErrNoLeader) {
			t.Fatalf("a start that nobody has confirmed says %v, %v", term, err)
		}
		c.net.HealAll()
		c.await("a confirmed start", func() bool {
			_, err := f.store.ownTerm()
			return err == nil
		})
		c.agree()
	})
}
