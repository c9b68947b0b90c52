package raftstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskrt/taskrt/task"
)

// load proposes from every node until stop is called. stop returns how many commands were acknowledged. Each command
// shows whether it was applied more than once: a submit with if_exists=fail would be refused, and a session would be
// opened twice.
func load(c *cluster, ms []*member, writers int) (stop func() int) {
	var wg sync.WaitGroup
	var acked atomic.Int64
	end := make(chan struct{})
	for _, m := range ms {
		for w := range writers {
			s := m.store
			wg.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-end:
						return
					case <-time.After(20 * time.Millisecond):
					}
					id := fmt.Sprintf("%s-%d-%d", m.id, w, i)
					ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
					rs, err := s.Propose(ctx, submit(id, task.Fail), task.OpenSession{Worker: id, Slots: 1, TTL: 10_000, Proof: []byte("p")})
					cancel()
					if err != nil {
						c.t.Errorf("%s: %v", id, err)
						return
					}
					if rs[0].Code != task.OK || rs[0].Outcome != task.SubmitCreated || rs[1].Code != task.OK {
						c.t.Errorf("%s: %+v", id, rs)
						return
					}
					acked.Add(1)
				}
			})
		}
	}
	return func() int {
		close(end)
		wg.Wait()
		return int(acked.Load())
	}
}

// count checks that each acknowledged pair of load's commands was applied exactly once.
func (c *cluster) count(s *Store, acked int) {
	c.t.Helper()
	var last uint64
	tasks := 0
	err := s.Read(ctxFor(c.t, time.Minute), func(m *task.Machine) {
		for _, x := range m.Sessions() {
			last = max(last, x.ID)
		}
		tasks = int(m.Counts().Created)
	})
	if err != nil {
		c.t.Fatal(err)
	}
	if tasks != acked || int(last) != acked {
		c.t.Fatalf("%d pairs acknowledged, %d tasks, %d sessions opened", acked, tasks, last)
	}
}

// TestPartitionedLeader: the leader is cut off while proposals are in flight, on the leader and through it. Each
// command is applied exactly once (SPEC H4).
func TestPartitionedLeader(t *testing.T) {
	eachLogStore(t, func(t *testing.T, c *cluster) {
		ms := three(c, nil)
		c.activate(ms[0].store)
		stop := load(c, ms, 2)
		for range 4 {
			<-time.After(300 * time.Millisecond)
			old := c.leader()
			c.net.Isolate(old.addr)
			c.leader(old)
			<-time.After(2 * time.Second)
			c.net.Rejoin(old.addr)
			<-time.After(time.Second)
		}
		acked := stop()
		if acked < 300 {
			t.Fatalf("only %d acknowledged: the test shows nothing", acked)
		}
		c.agree()
		for _, m := range ms {
			c.count(m.store, acked)
		}
	})
}

// TestLossyNetwork: connections break in the middle of requests and answers.
func TestLossyNetwork(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := three(c, nil)
		c.activate(ms[0].store)
		c.net.Lossy(7, 50)
		stop := load(c, ms, 2)
		<-time.After(3 * time.Second)
		c.net.Lossy(0, 0)
		acked := stop()
		c.agree()
		c.count(ms[2].store, acked)
		if acked < 100 {
			t.Fatalf("only %d acknowledged", acked)
		}
	})
}

// TestLostAnswer: the leader applies a forwarded command, and the answer is lost with the leader. The resend finds the
// answer at the next leader.
func TestLostAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		three(c, nil)
		leader := c.leader()
		c.activate(leader.store)
		f := c.followers(leader)[0]
		c.propose(f.store, submit("connects", task.Fail))
		c.net.CutOneWay(leader.addr, f.addr) // requests arrive; answers and entries do not
		type answer struct {
			rs  []task.Result
			err error
		}
		got := make(chan answer, 1)
		go func() {
			rs, err := f.store.Propose(ctxFor(t, time.Minute), submit("once", task.Fail))
			got <- answer{rs, err}
		}()
		c.await("applied by the leader", func() (found bool) {
			leader.store.Local(func(m *task.Machine) { found = m.Task(key("once")) != nil })
			return found
		})
		c.net.Isolate(leader.addr)
		c.leader(leader)
		c.net.Heal(leader.addr, f.addr)
		a := <-got
		if a.err != nil || a.rs[0].Code != task.OK || a.rs[0].Outcome != task.SubmitCreated {
			t.Fatalf("%+v %v", a.rs, a.err)
		}
	})
}

// TestNoQuorum: a command that was sent before its context ended has an unknown outcome. A command that found no leader
// was not proposed.
func TestNoQuorum(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		three(c, nil)
		leader := c.leader()
		c.activate(leader.store)
		follower := c.followers(leader)[0]
		c.net.Isolate(leader.addr)
		_, err := leader.store.Propose(ctxFor(t, 200*time.Millisecond), submit("maybe", task.Fail))
		if !errors.Is(err, ErrOutcomeUnknown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("in flight at the deadline: %v", err)
		}
		c.await("the lonely leader steps down", func() bool { return leader.store.members.Leader().Identity == "" })
		_, err = leader.store.Propose(ctxFor(t, time.Second), submit("never", task.Fail))
		if !errors.Is(err, ErrNoLeader) || errors.Is(err, ErrOutcomeUnknown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("without a leader: %v", err)
		}
		if _, err := leader.store.ProposeLocal(t.Context(), task.Tick{}); !errors.Is(err, ErrNotLeader) {
			t.Fatalf("ProposeLocal without leadership: %v", err)
		}
		if _, err := follower.store.ProposeLocal(t.Context(), task.Tick{}); c.leader(leader) != follower && !errors.Is(err, ErrNotLeader) {
			t.Fatalf("ProposeLocal on a follower: %v", err)
		}
		next := c.leader(leader)
		if rs, err := next.store.ProposeLocal(t.Context(), task.Tick{}); err != nil || len(rs) != 1 {
			t.Fatalf("ProposeLocal on the leader: %v", err)
		}
		c.net.HealAll()
		c.agree()
		if c.has(leader.store, "never") {
			t.Fatal("a command that was not proposed was applied")
		}
	})
}

// TestReadIsNeverStale: a read that begins after a write is acknowledged sees the write, on every node. Even a leader
// that does not yet know that it is deposed never misses it (SPEC W4).
func TestReadIsNeverStale(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := three(c, nil)
		c.activate(ms[0].store)
		for round := range 4 {
			old := c.leader()
			c.net.Isolate(old.addr)
			id := fmt.Sprintf("write-%d", round)
			stale := make(chan bool, 1)
			// The write goes to the majority as soon as it has a leader. Then the reader on the old leader starts.
			f := c.followers(old)[0]
			c.propose(f.store, submit(id, task.Fail))
			go func() {
				found := true
				err := old.store.Read(ctxFor(t, time.Minute), func(m *task.Machine) { found = m.Task(key(id)) != nil })
				stale <- err != nil || !found
			}()
			<-time.After(3 * time.Second)
			select {
			case <-stale:
				t.Fatal("a node without contact answered a linearizable read")
			default:
			}
			c.net.Rejoin(old.addr)
			if <-stale {
				t.Fatal("stale read, or none after healing")
			}
		}
	})
}

// TestReadAsksAfterwards: only the answer to a question that was asked after the read began confirms a leader. An
// answer that was already on its way, for example to a heartbeat, does not count. raft.VerifyLeader would count it.
func TestReadAsksAfterwards(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		three(c, nil)
		leader := c.leader()
		for _, f := range c.followers(leader) {
			c.net.Delay(leader.addr, f.addr, 30*time.Millisecond)
		}
		c.await("reads", func() bool {
			return leader.store.Read(ctxFor(t, time.Second), func(*task.Machine) {}) == nil
		})
		for i := range 50 {
			<-time.After(time.Duration(i) * 7 * time.Millisecond)
			for _, f := range c.followers(leader) {
				c.net.CutOneWay(leader.addr, f.addr) // answers still arrive; questions do not
			}
			if err := leader.store.Read(ctxFor(t, 100*time.Millisecond), func(*task.Machine) {}); !errors.Is(err, ErrNoLeader) {
				t.Fatalf("round %d: a leader answered without asking its followers: %v", i, err)
			}
			c.net.HealAll()
			c.await("contact", func() bool {
				leader = c.leader()
				return leader.store.Read(ctxFor(t, time.Second), func(*task.Machine) {}) == nil
			})
		}
	})
}

// TestReadsShareRounds: many readers share a round.
func TestReadsShareRounds(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		three(c, nil)
		leader := c.leader()
		for _, f := range c.followers(leader) {
			c.net.Delay(leader.addr, f.addr, 20*time.Millisecond)
		}
		begun := time.Now()
		var wg sync.WaitGroup
		for range 500 {
			for _, m := range c.nodes {
				wg.Go(func() {
					if err := m.store.Read(ctxFor(t, time.Minute), func(*task.Machine) {}); err != nil {
						t.Error(err)
					}
				})
			}
		}
		wg.Wait()
		if took := time.Since(begun); took > time.Second {
			t.Fatalf("1,500 reads took %v of virtual time", took)
		}
	})
}

// TestWallClockJumps: the leader's wall clock jumps by an hour, both ways. Lease time goes on as if nothing had
// happened. The log's time never goes back and never stands still (SPEC C3).
func TestWallClockJumps(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := three(c, nil)
		c.activate(ms[0].store)
		leader := c.leader()
		times := func() (now task.Time, lease task.LeaseTime) {
			c.propose(leader.store, task.Tick{})
			leader.store.Local(func(m *task.Machine) { now, lease = m.Now(), m.LeaseNow() })
			return now, lease
		}
		now, lease := times()
		step := func(jump, wantNow time.Duration) {
			t.Helper()
			leader.clock.jumpBy(jump)
			<-time.After(10 * time.Second)
			n, l := times()
			if d := time.Duration(l-lease) * time.Millisecond; d < 10*time.Second || d > 10*time.Second+100*time.Millisecond {
				t.Fatalf("after a jump by %v lease time advanced by %v in 10 s", jump, d)
			}
			if d := time.Duration(n-now) * time.Millisecond; d < wantNow || d > wantNow+100*time.Millisecond {
				t.Fatalf("after a jump by %v now advanced by %v, not %v", jump, d, wantNow)
			}
			now, lease = n, l
		}
		step(0, 10*time.Second)
		step(time.Hour, time.Hour+10*time.Second)
		step(-time.Hour, 10*time.Second)
		step(-time.Hour, 10*time.Second)
		// The next leader's clock is an hour behind the log's. Lease time goes on from where it was.
		ctx := ctxFor(t, time.Minute)
		if err := leader.store.Transfer(ctx); err != nil {
			t.Fatal(err)
		}
		leader = c.leader(leader)
		step(0, 10*time.Second)
	})
}

// TestLeadership: news of a gain come when the node can lead. A slow reader sees the latest news.
func TestLeadership(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := three(c, nil)
		old := c.leader()
		news := old.store.Leadership()
		if l := <-news; !l.Leading || l.Term == 0 {
			t.Fatalf("%+v", l)
		}
		c.net.Isolate(old.addr)
		next := c.leader(old)
		c.await("the loss", func() bool { return old.store.leadingTerm() == 0 })
		c.net.Rejoin(old.addr)
		c.await("contact", func() bool { return old.store.members.Leader().Identity == next.store.identity })
		if err := next.store.Transfer(ctxFor(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
		for range 50 { // until it is the old leader's turn again
			if c.leader(next) == old {
				break
			}
			if err := c.leader().store.Transfer(ctxFor(t, time.Minute)); err != nil && !errors.Is(err, ErrNotLeader) {
				t.Fatal(err)
			}
			<-time.After(time.Second)
		}
		if c.leader() != old {
			t.Skip("leadership never came back; nothing to see")
		}
		l := <-news
		if !l.Leading || l.Term != old.store.raft.CurrentTerm() {
			t.Fatalf("a slow reader got %+v in term %d", l, old.store.raft.CurrentTerm())
		}
		select {
		case l := <-news:
			t.Fatalf("old news: %+v", l)
		default:
		}
		for _, m := range ms {
			if err := c.leader().store.Transfer(ctxFor(t, time.Minute)); m == nil && err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestLoneCommit: nothing comes after a commit. Followers know of it long before CommitTimeout. The network takes no
// time here.
func TestLoneCommit(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := three(c, nil)
		leader := c.leader()
		c.activate(leader.store)
		time.Sleep(10 * time.Second) // by now raft uses pipelines
		for i := range 20 {
			id := fmt.Sprint("task", i)
			c.propose(leader.store, submit(id, task.Join))
			begun := time.Now()
			for _, m := range ms {
				for !c.has(m.store, id) {
					time.Sleep(100 * time.Microsecond)
				}
			}
			if late := time.Since(begun); late > 5*time.Millisecond {
				t.Errorf("%s was known everywhere after %v", id, late)
			}
			time.Sleep(time.Second)
		}
	})
}
