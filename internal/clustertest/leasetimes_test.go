package clustertest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
)

// running takes events of a stream until a task runs. It returns the task as the event shows it.
func running(t *testing.T, c *Cluster, stream api.EventStream, id string) *api.Task {
	t.Helper()
	ctx, cancel := c.Context(patience)
	defer cancel()
	for {
		e, err := stream.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var told api.TaskEvent
		if e.Kind != api.EventTask {
			continue
		}
		if err := json.Unmarshal(e.Data, &told); err != nil {
			t.Fatal(err)
		}
		if told.Task.ID == id && told.Task.Status == "RUNNING" {
			return told.Task
		}
	}
}

// TestLeaseTimes: a running task says when it can be lost at the earliest, and when another look may show a change.
// This is the time of the lease's next renewal, and never after the task can be lost. Events say this, too. They may be
// told at any time, so they do not say how much time is left (SPEC section 3).
func TestLeaseTimes(t *testing.T) {
	Run(t, 3, Options{SessionTTL: ttl}, func(t *testing.T, c *Cluster) {
		c.Push(0, "wait")
		c.WorkersReady(3)
		putExternal(t, c, 0, "ext", `{"kind":"external","lease":"30s"}`)
		ctx, cancel := c.Context(patience)
		defer cancel()
		stream, err := c.Node(1).Events(ctx, api.EventsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()

		inside := c.Submit(0, "wait", "600000")
		told := map[string]*api.Task{inside: running(t, c, stream, inside)}
		outside := c.Submit(0, "ext", "1")
		acceptAt(t, c, 2, acceptOf("w1", 1, time.Minute))
		told[outside] = running(t, c, stream, outside)
		for id, whole := range map[string]time.Duration{inside: ttl, outside: 30 * time.Second} {
			shown := c.Wait(0, id, api.GetOptions{})
			for from, l := range map[string]*api.Lease{"answer": shown.Lease, "event": told[id].Lease} {
				if l.LostNotBefore == nil || l.RecheckNotBefore == nil {
					t.Errorf("%s of %s: %+v", from, id, l)
					continue
				}
				lost, recheck := l.LostNotBefore.Time, l.RecheckNotBefore.Time
				if between := lost.Sub(recheck); between < 0 || between > whole*2/3+time.Millisecond {
					t.Errorf("%s of %s: lost at %v, renewed %v before, of a lease of %v", from, id, lost, between, whole)
				}
			}
			if ms := told[id].Lease.LeaseMS; ms != 0 {
				t.Errorf("the event of %s says that %d ms are left, whenever it is told", id, ms)
			}
		}
		// The answer is true: before the recheck time nothing moves the time at which the task can be lost.
		first := c.Wait(0, outside, api.GetOptions{}).Lease
		c.Sleep(time.Until(first.RecheckNotBefore.Time) - time.Second)
		// It is computed anew for each answer, from two clocks in milliseconds.
		if next := c.Wait(0, outside, api.GetOptions{}).Lease; next.RecheckNotBefore.Before(first.RecheckNotBefore.Add(-time.Millisecond)) {
			t.Errorf("recheck at %v, then at %v", first.RecheckNotBefore, next.RecheckNotBefore)
		}
	})
}
