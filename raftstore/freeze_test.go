package raftstore

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/taskrt/taskrt/task"
)

// TestFreezeIsAState: on every node a frozen state holds all that was acknowledged before. It does not change while the
// machine goes on. It is a state of the log: it restores to its own digest.
func TestFreezeIsAState(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := three(c, nil)
		c.activate(ms[0].store)
		for round := range 3 {
			c.propose(ms[0].store, submit(fmt.Sprintf("before-%d", round), task.Fail))
			frozen, err := ms[(round+1)%3].store.Freeze(ctxFor(t, time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			c.propose(ms[0].store, task.Remove{Key: key(fmt.Sprintf("before-%d", round))})
			for i := range 20 {
				c.propose(ms[0].store, submit(fmt.Sprintf("after-%d-%d", round, i), task.Fail))
			}
			m, err := task.Restore(func(yield func(task.Record, error) bool) {
				frozen.Records(func(r task.Record) bool { return yield(r, nil) })
			})
			if err != nil || m.Digest() != frozen.Digest() {
				t.Fatalf("round %d: %v", round, err)
			}
			if m.Task(key(fmt.Sprintf("before-%d", round))) == nil || m.Task(key(fmt.Sprintf("after-%d-0", round))) != nil {
				t.Errorf("round %d: the state is of another time", round)
			}
		}
	})
}

// TestFreezeAsks: a node freezes nothing when it has no contact or has stopped.
func TestFreezeAsks(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		ms := three(c, nil)
		leader := c.leader()
		c.net.Isolate(leader.addr)
		if _, err := leader.store.Freeze(ctxFor(t, 100*time.Millisecond)); err == nil {
			t.Error("a node without contact froze a state")
		}
		c.net.Rejoin(leader.addr)
		store := ms[2].store
		c.stop(ms[2])
		if _, err := store.Freeze(ctxFor(t, time.Second)); !errors.Is(err, ErrClosed) {
			t.Errorf("stopped: %v", err)
		}
	})
}
