package clustertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
)

// sessions lists the sessions as the leader knows them.
func sessions(c *Cluster) string {
	var ids []uint64
	c.Node(c.Leader()).Store().Local(func(m *task.Machine) {
		for _, s := range m.Sessions() {
			ids = append(ids, s.ID)
		}
	})
	return fmt.Sprint(ids)
}

// TestJumpOfTheLeadersWallClock: nothing expires, and time goes on. A task that waits for a time is due as SPEC C3
// says: a jump forward makes it due earlier. After a jump back the log's time passes with the monotonic clock.
func TestJumpOfTheLeadersWallClock(t *testing.T) {
	for name, jump := range map[string]time.Duration{"forward": time.Hour, "back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			Run(t, 3, Options{SessionTTL: ttl, Slots: 2}, func(t *testing.T, c *Cluster) {
				c.Push(0, "wait")
				c.Push(0, "echo")
				c.WorkersReady(3)
				on := fill(c, 5, `100000`)
				before := sessions(c)
				delayed := func(d time.Duration) string {
					return c.SubmitRequest(1, api.SubmitRequest{Behavior: "echo", Delay: new(api.Duration(d))}).Task.ID
				}
				// wantIn demands that the task ends d after the jump, or soon after it. The log's time has milliseconds.
				jumped := time.Now()
				wantIn := func(id string, d time.Duration) {
					t.Helper()
					wantOnce(c, c.Final(1, id))
					if took := time.Since(jumped); took < d-time.Millisecond || took > d+3*time.Second {
						t.Errorf("the delayed task ended %v after the jump, want %v", took, d)
					}
				}
				soon, far := delayed(20*time.Second), delayed(time.Hour+40*time.Second)
				leader := c.Leader()
				c.Members[leader].Clock.Jump(jump)
				if jump > 0 {
					wantIn(soon, 0)
					wantIn(delayed(20*time.Second), 20*time.Second)
					wantIn(far, 40*time.Second)
				} else {
					wantIn(soon, 20*time.Second)
					wantIn(delayed(20*time.Second), 40*time.Second)
				}
				// The next leader's clock did not jump. After a jump forward its wall clock is behind the log's time.
				now := c.now()
				handOver(c)
				if after := c.now(); after < now || after > now+5000 {
					t.Errorf("the log's time went from %d to %d", now, after)
				}
				jumped = time.Now()
				wantIn(delayed(10*time.Second), 10*time.Second)
				for id := range on {
					wantOnce(c, c.Final(2, id))
				}
				if after := sessions(c); after != before {
					t.Errorf("sessions were %s and are %s: a jump ended one (SPEC C3)", before, after)
				}
			})
		})
	}
}

// now returns the time of the last log entry.
func (c *Cluster) now() (now task.Time) {
	c.t.Helper()
	c.Node(c.Leader()).Store().Local(func(m *task.Machine) { now = m.Now() })
	return now
}
