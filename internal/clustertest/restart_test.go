package clustertest

import (
	"errors"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/raftstore"
	"github.com/taskrt/taskrt/task"
)

// TestAllNodesStopAndStart: all that was acknowledged is there afterwards and goes on (SPEC T6).
func TestAllNodesStopAndStart(t *testing.T) {
	for name, end := range map[string]func(c *Cluster, i int){"stopped": (*Cluster).Stop, "killed": (*Cluster).Kill} {
		t.Run(name, func(t *testing.T) {
			Run(t, 3, Options{SessionTTL: ttl}, func(t *testing.T, c *Cluster) {
				c.Push(0, "wait")
				c.Push(0, "echo")
				c.WorkersReady(3)
				done := c.Final(1, c.Submit(0, "echo", `"done"`))
				on := fill(c, 5, `30000`)
				later := c.SubmitRequest(2, api.SubmitRequest{Behavior: "echo", Delay: new(api.Duration(90 * time.Second))}).Task.ID
				for i := range c.Members {
					end(c, i)
				}
				c.Sleep(20 * time.Second)
				for i := range c.Members {
					c.Start(i)
				}
				c.Leader()
				if got := c.Wait(2, done.ID, api.GetOptions{}); Show(got) != Show(done) {
					t.Errorf("%s became %s", Show(done), Show(got))
				}
				for id := range on {
					if got := c.Final(1, id); got.Status != "SUCCESS" || got.Attempt < 2 || got.Failures != 0 {
						t.Errorf("%s", Show(got))
					}
				}
				got := c.Final(0, later)
				wantOnce(c, got)
				if waited := got.StartedAt.Sub(got.CreatedAt.Time); waited < 90*time.Second {
					t.Errorf("it started after %v (SPEC R1)", waited)
				}
				c.WorkersReady(3)
			})
		})
	}
}

// TestRestartedNodeEndsItsFormerSession: the lock and the secret in a node's directory prove that the process before is
// dead. So nobody waits for the TTL (SPEC L6).
func TestRestartedNodeEndsItsFormerSession(t *testing.T) {
	Run(t, 3, Options{SessionTTL: time.Minute, Slots: 2}, func(t *testing.T, c *Cluster) {
		c.Push(0, "wait")
		c.WorkersReady(3)
		on := fill(c, 6, `30000`)
		victim := c.Followers()[0]
		c.Kill(victim)
		c.Sleep(5 * time.Second)
		c.Start(victim)
		back := c.Boottime()
		hit := 0
		for id, who := range on {
			if who != c.Members[victim].ID {
				continue
			}
			hit++
			c.Until(c.Leader(), id, "attempt:1")
			c.Executing(id)
			es := c.Runs.Of(id)
			if took := time.Duration(es[1].Started) - back; took > time.Second {
				t.Errorf("runs again %v after the start, want within 1 s", took)
			}
		}
		if hit != 2 {
			t.Errorf("%d tasks ran on the victim", hit)
		}
		for id := range on {
			if got := c.Final(victim, id); got.Status != "SUCCESS" {
				t.Errorf("%s", Show(got))
			}
		}
	})
}

// TestWorkerIDInUse: without the proof, a second worker with the same ID waits for the end of the TTL and stops nothing
// (SPEC L6).
func TestWorkerIDInUse(t *testing.T) {
	Run(t, 1, Options{SessionTTL: ttl, NoWorkers: true}, func(t *testing.T, c *Cluster) {
		c.Push(0, "wait")
		w := c.AddWorker("w1", 1)
		c.WorkersReady(1)
		id := c.Submit(0, "wait", `60000`)
		c.Executing(id)
		other := c.AddWorkerAt("w1", "elsewhere", 1, nil)
		c.Sleep(3 * ttl)
		if st := other.Status(); st.Session != 0 {
			t.Errorf("two sessions of one ID: %+v", st)
		}
		if es := c.Runs.Of(id); len(es) != 1 || es[0].Ended != 0 {
			t.Errorf("executions: %v", es)
		}
		killed := c.Boottime()
		w.Kill()
		c.Eventually("the other one has the ID", func() bool { return other.Status().Session != 0 })
		if took := c.Boottime() - killed; took < ttl/3 || took > ttl+3*time.Second {
			t.Errorf("it got the ID after %v", took)
		}
		if got := c.Final(0, id); got.Status != "SUCCESS" || got.Attempt != 2 {
			t.Errorf("%s", Show(got))
		}
	})
}

// TestCorruptedNodeStops: a node whose state differs is found out and stops. The other nodes go on (SPEC C4).
func TestCorruptedNodeStops(t *testing.T) {
	for _, who := range []string{"follower", "leader"} {
		t.Run(who, func(t *testing.T) {
			Run(t, 3, Options{SessionTTL: ttl, MayFail: true}, func(t *testing.T, c *Cluster) {
				c.Push(0, "wait")
				c.WorkersReady(3)
				bad := c.Leader()
				if who == "follower" {
					bad = c.Followers()[0]
				}
				id := c.SubmitRequest(0, api.SubmitRequest{Behavior: "wait", Params: []byte(`20000`), Delay: new(api.Duration(time.Second))}).Task.ID
				c.Agree()
				if !c.Node(bad).Store().CorruptForTest(task.Key{Namespace: task.DefaultNamespace, ID: id}) {
					t.Fatal("nothing to corrupt")
				}
				c.Eventually("it stops", func() bool { return c.Members[bad].Fatal() != nil })
				if err := c.Members[bad].Fatal(); !errors.Is(err, raftstore.ErrDiverged) {
					t.Errorf("%v", err)
				}
				if code := api.CodeOf(c.Node(bad).Ready(t.Context())); code != api.CodeNotReady {
					t.Errorf("ready: %q", code)
				}
				c.Stop(bad) // its process does this when OnFatal is called
				next := c.Leader()
				if got := c.Final(next, id); got.Status != "SUCCESS" {
					t.Errorf("%s", Show(got))
				}
				wantOnce(c, c.Final(next, c.Submit(next, "wait", `1`)))
				for i, m := range c.Members {
					if i != bad && m.Fatal() != nil {
						t.Errorf("%s stopped too: %v", m.ID, m.Fatal())
					}
				}
			})
		})
	}
}

// TestDeadProcessesAreNotHeard: what a killed process complains about comes late at times, when the member has started again.
func TestDeadProcessesAreNotHeard(t *testing.T) {
	Run(t, 1, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
		m := c.Members[0]
		former := m.boot
		c.Kill(0)
		c.Start(0)
		m.failed(former, errors.New("accept: use of closed network connection"))
		if err := m.Fatal(); err != nil {
			t.Error(err)
		}
	})
}
