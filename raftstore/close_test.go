package raftstore

import (
	"testing"
	"time"

	"github.com/taskrt/taskrt/task"
)

// TestCloseBesideASilentPeer: a node that closes does not wait for the answers of a silent peer. Otherwise a process
// that waits for the node's directory would wait too, and a process that does not wait would find it locked.
func TestCloseBesideASilentPeer(t *testing.T) {
	for _, silence := range []time.Duration{0, time.Second, 30 * time.Second} {
		bubble(t, func(t *testing.T, c *cluster) {
			three(c, nil)
			leader := c.leader()
			c.activate(leader.store)
			silent := c.followers(leader)[0]
			c.net.Isolate(silent.addr)
			c.propose(leader.store, submit("abc", task.Fail))
			<-time.After(silence)
			for _, m := range []*member{leader, silent} {
				begun := time.Now()
				if err := m.store.Close(ctxFor(t, 10*time.Second)); err != nil {
					t.Errorf("silent for %v: %v", silence, err)
				}
				if took := time.Since(begun); took > 3*time.Second {
					t.Errorf("silent for %v: close took %v", silence, took)
				}
			}
		})
	}
}
