package raftstore

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// keyed proposes under a key and expects no Go error.
func (c *cluster) keyed(s *Store, k Key, cmds ...task.Command) []task.Result {
	c.t.Helper()
	rs, err := s.ProposeKeyed(ctxFor(c.t, time.Minute), k, cmds...)
	if err != nil {
		c.t.Fatal(err)
	}
	return rs
}

// TestKeyedLostAnswer: the leader applies a request under a client's key, and the answer is lost with the leader. This
// node sends the request again, and the client does so through another node. Both get the first answer (SPEC H4).
func TestKeyedLostAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		three(c, nil)
		leader := c.leader()
		c.activate(leader.store)
		followers := c.followers(leader)
		f := followers[0]
		c.propose(f.store, submit("connects", task.Fail))
		c.net.CutOneWay(leader.addr, f.addr) // requests arrive; answers and entries do not
		type answer struct {
			rs  []task.Result
			err error
		}
		k, got := Key{Process: 7, Body: 1}, make(chan answer, 1)
		request := []task.Command{submit("once", task.Fail), task.OpenSession{Worker: "w", Slots: 1, TTL: 1000, Proof: []byte("p")}}
		go func() {
			rs, err := f.store.ProposeKeyed(ctxFor(t, time.Minute), k, request...)
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
		if a.err != nil || a.rs[0].Outcome != task.SubmitCreated || a.rs[1].Session.ID != 1 {
			t.Fatalf("%+v %v", a.rs, a.err)
		}
		if again := c.keyed(followers[1].store, k, request...); !reflect.DeepEqual(encoded(t, again), encoded(t, a.rs)) {
			t.Errorf("through another node: %+v, was %+v", again, a.rs)
		}
		if rs := c.keyed(f.store, Key{Process: 7, Body: 2}, request...); rs[0].Code != task.IdempotencyMismatch || rs[1].Code != task.IdempotencyMismatch {
			t.Errorf("another request under the key: %+v", rs)
		}
	})
}

func encoded(t *testing.T, rs []task.Result) []byte {
	b, err := wire.EncodeResults(rs)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestKeyedBatch: the numbers of a request run over all the pieces of the request. A place that is left out keeps its
// number for the next time.
func TestKeyedBatch(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		three(c, nil)
		f := c.followers(c.leader())[0]
		c.activate(f.store)
		k := Key{Process: 7, Body: 1}
		names := ids("task", 2500)
		var cmds []task.Command
		for _, id := range names {
			cmds = append(cmds, submit(id, task.Fail))
		}
		some := slices.Clone(cmds)
		for i := 0; i < len(some); i += 3 {
			some[i] = nil
		}
		for i, r := range c.keyed(f.store, k, some...) {
			if some[i] == nil && r.Index != 0 || some[i] != nil && (r.Code != task.OK || r.Task.ID != names[i]) {
				t.Fatalf("result %d is %+v", i, r)
			}
		}
		for i, r := range c.keyed(c.leader().store, k, cmds...) {
			if r.Code != task.OK || r.Outcome != task.SubmitCreated || r.Task.ID != names[i] {
				t.Fatalf("again: result %d is %+v", i, r)
			}
		}
		if n := c.tasks(f.store); n != len(names) {
			t.Errorf("%d tasks, want %d", n, len(names))
		}
	})
}

func (c *cluster) tasks(s *Store) (n int) {
	c.t.Helper()
	if err := s.Read(ctxFor(c.t, time.Minute), func(m *task.Machine) { n = int(m.Counts().Created) }); err != nil {
		c.t.Fatal(err)
	}
	return n
}

// TestKeyedMiddle: the machine has forgotten the beginning of a request. It does not apply the rest as something new.
func TestKeyedMiddle(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		s := c.start(c.add("n1", nil), 1)
		c.leader()
		c.activate(s)
		rest := submit("rest", task.Fail)
		ps := Key{Process: 7, Body: 1}.proposals(0, []int{4}, []task.Command{rest})
		rs, err := s.proposeHere(ctxFor(t, time.Minute), ps, packed(t, rest))
		if err != nil || rs[0].Code != task.OriginForgotten || c.has(s, "rest") {
			t.Errorf("%+v %v", rs, err)
		}
		if rs := c.keyed(s, Key{}, submit("abc", task.Fail)); rs[0].Outcome != task.SubmitCreated {
			t.Errorf("without a key: %+v", rs)
		}
		if rs := c.keyed(s, Key{}, submit("abc", task.Fail)); rs[0].Code != task.AlreadyExists {
			t.Errorf("without a key it is another request: %+v", rs)
		}
	})
}
