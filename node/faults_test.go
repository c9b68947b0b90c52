package node_test

import (
	"context"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/clustertest"
	"github.com/taskrt/taskrt/task"
)

const ttl = 10 * time.Second

// runOn submits a long task, again and again, until one runs on a member other than avoid. It returns the task and the
// member.
func runOn(t *testing.T, c *clustertest.Cluster, behavior, params string, avoid int) (id string, where int) {
	t.Helper()
	for range 20 {
		id = c.Submit(avoid, behavior, params)
		if where = c.Index(c.Executing(id)); where != avoid {
			return id, where
		}
	}
	t.Fatal("all tasks run on one member")
	return "", 0
}

func TestPartitionedWorkerStopsBeforeAnotherStarts(t *testing.T) {
	clustertest.Run(t, 3, clustertest.Options{SessionTTL: ttl}, func(t *testing.T, c *clustertest.Cluster) {
		c.Push(0, "wait")
		c.WorkersReady(3)
		leader := c.Leader()
		id, victim := runOn(t, c, "wait", `{"ms": 60000}`, leader)
		cut := time.Now()
		c.Net.Isolate(c.Members[victim].Addr)
		c.Until(leader, id, "attempt:1")
		c.Eventually("it runs elsewhere", func() bool {
			w := c.Runs.Running(id)
			return w != "" && w != c.Members[victim].ID
		})
		if took := time.Since(cut); took > ttl+2*time.Second || took < ttl/2 {
			t.Errorf("runs elsewhere after %v, want within TTL + 2 s (SPEC L6)", took)
		}
		c.Net.Rejoin(c.Members[victim].Addr)
		got := c.Final(victim, id)
		if got.Status != "SUCCESS" || got.LostCount != 0 || got.Failures != 0 || got.Attempt != 2 {
			t.Errorf("%s", clustertest.Show(got))
		}
		if got.History[0].Outcome != "LOST" {
			t.Errorf("history: %+v", got.History)
		}
		c.WorkersReady(3)
	})
}

func TestPartitionedLeaderLosesNothing(t *testing.T) {
	clustertest.Run(t, 3, clustertest.Options{SessionTTL: ttl}, func(t *testing.T, c *clustertest.Cluster) {
		c.Push(0, "wait")
		c.WorkersReady(3)
		leader := c.Leader()
		id, other := runOn(t, c, "wait", `{"ms": 40000}`, leader)
		c.Net.Isolate(c.Members[leader].Addr)
		got := c.Final(other, id)
		// The task's worker was not cut off from the majority. The task goes on under the next leader (SPEC C3).
		if got.Status != "SUCCESS" || got.Attempt != 1 {
			t.Errorf("%s", clustertest.Show(got))
		}
	})
}

func TestCleanShutdownGivesBackAtOnce(t *testing.T) {
	clustertest.Run(t, 3, clustertest.Options{SessionTTL: ttl}, func(t *testing.T, c *clustertest.Cluster) {
		c.Push(0, "wait")
		c.WorkersReady(3)
		leader := c.Leader()
		for _, who := range []string{"follower", "leader"} {
			var victim int
			var id string
			if who == "follower" {
				id, victim = runOn(t, c, "wait", `{"ms": 30000}`, leader)
			} else {
				for victim = -1; victim != leader; victim = c.Index(c.Executing(id)) {
					id = c.Submit(leader, "wait", `{"ms": 30000}`)
				}
			}
			start := time.Now()
			c.Stop(victim)
			where := c.Executing(id)
			if where == c.Members[victim].ID {
				t.Errorf("%s: still on %s", who, where)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("%s: runs elsewhere only after %v", who, took)
			}
			next := c.Leader()
			got := c.Final(next, id)
			if got.Status != "SUCCESS" || got.LostCount != 0 || got.Failures != 0 {
				t.Errorf("%s: %s", who, clustertest.Show(got))
			}
			for _, h := range got.History {
				if h.Outcome == "LOST" {
					t.Errorf("%s: lost, not given back: %+v", who, got.History)
				}
			}
			c.Start(victim)
			c.WorkersReady(3)
			leader = c.Leader()
		}
	})
}

func TestRestartedWorkerEndsItsFormerSession(t *testing.T) {
	clustertest.Run(t, 1, clustertest.Options{SessionTTL: time.Minute, NoWorkers: true}, func(t *testing.T, c *clustertest.Cluster) {
		c.Push(0, "wait")
		w := c.AddWorker("w1", 1)
		id := c.Submit(0, "wait", `{"ms": 20000}`)
		c.Executing(id)
		w.Kill()
		c.Eventually("no guest runs", func() bool { return c.Runs.Running(id) == "" })
		start := time.Now()
		c.AddWorker("w1", 1)
		c.Executing(id)
		if took := time.Since(start); took > time.Second {
			t.Errorf("runs again after %v, want within 1 s (SPEC L6)", took)
		}
		if got := c.Final(0, id); got.Status != "SUCCESS" || got.Attempt != 2 || got.History[0].Outcome != "LOST" {
			t.Errorf("%s", clustertest.Show(got))
		}
	})
}

func TestCancelAndRemove(t *testing.T) {
	clustertest.Run(t, 3, clustertest.Options{}, func(t *testing.T, c *clustertest.Cluster) {
		c.Push(0, "wait")
		ctx, cancel := c.Context(time.Hour)
		defer cancel()
		id := c.Submit(0, "wait", `{"ms": 600000}`)
		c.Executing(id)
		r, err := c.Node(1).Cancel(ctx, "", id)
		if err != nil || !r.Told {
			t.Fatalf("%+v, %v", r, err)
		}
		got := c.Final(2, id)
		if got.Status != "FAILURE" || got.Error.Code != "CANCELLED" {
			t.Errorf("%s", clustertest.Show(got))
		}
		if took := got.FinishedAt.Sub(got.StartedAt.Time); took > 5*time.Second {
			t.Errorf("the worker was told after %v", took)
		}
		if r, err = c.Node(0).Cancel(ctx, "", id); err != nil || r.Told {
			t.Errorf("cancel again: %+v, %v", r, err)
		}

		id = c.Submit(0, "wait", `{"ms": 600000}`)
		c.Executing(id)
		gone := make(chan error, 1)
		go func() {
			_, err := c.Node(2).Task(ctx, "", id, api.GetOptions{Wait: api.MaxWait * time.Second})
			gone <- err
		}()
		c.Sleep(time.Second)
		if err := c.Node(1).Remove(ctx, "", id); err != nil {
			t.Fatal(err)
		}
		if err := <-gone; api.CodeOf(err) != api.CodeRemoved {
			t.Errorf("the waiter got %v", err)
		}
		c.Eventually("the guest is halted", func() bool { return c.Runs.Running(id) == "" })
		if _, err := c.Node(0).Task(ctx, "", id, api.GetOptions{}); api.CodeOf(err) != api.CodeTaskNotFound {
			t.Errorf("get: %v", err)
		}
		if err := c.Node(0).Remove(ctx, "", id); api.CodeOf(err) != api.CodeTaskNotFound {
			t.Errorf("remove again: %v", err)
		}
	})
}

func TestJumpingWallClockExpiresAndStopsNothing(t *testing.T) {
	for name, jump := range map[string]time.Duration{"forward": time.Hour, "back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			clustertest.Run(t, 3, clustertest.Options{SessionTTL: ttl}, func(t *testing.T, c *clustertest.Cluster) {
				c.Push(0, "wait")
				c.WorkersReady(3)
				leader := c.Leader()
				id := c.Submit(leader, "wait", `{"ms": 60000}`)
				c.Executing(id)
				later := c.SubmitRequest(leader, api.SubmitRequest{
					Behavior: "wait", Params: []byte(`1`), Delay: new(api.Duration(30 * time.Second)),
				}).Task.ID
				jumped := time.Now()
				c.Members[leader].Clock.Jump(jump)
				if got := c.Final(leader, later); got.Status != "SUCCESS" {
					t.Errorf("%s", clustertest.Show(got))
				}
				// After a jump forward the task is due at once, by the wall clock. After a jump back time goes on by the
				// monotonic clock.
				if took := time.Since(jumped); jump > 0 && took > 5*time.Second || took > 40*time.Second {
					t.Errorf("the delayed task ended after %v", took)
				}
				if got := c.Final(leader, id); got.Status != "SUCCESS" || got.Attempt != 1 {
					t.Errorf("%s", clustertest.Show(got))
				}
			})
		})
	}
}

func TestIdleClusterWritesRenewalsOnly(t *testing.T) {
	clustertest.Run(t, 3, clustertest.Options{SessionTTL: ttl}, func(t *testing.T, c *clustertest.Cluster) {
		c.Push(0, "echo")
		c.Final(0, c.Submit(0, "echo", `1`))
		c.WorkersReady(3)
		leader := c.Leader()
		index := func() (i uint64) {
			c.Node(leader).Store().Local(func(m *task.Machine) { i = m.Index() })
			return i
		}
		before := index()
		c.Sleep(3 * time.Minute)
		if wrote, renewals := index()-before, uint64(3*3*18); wrote > renewals+5 {
			t.Errorf("wrote %d entries in three idle minutes, %d are renewals", wrote, renewals)
		}
	})
}

func TestWorkerOnlyNodesAndWaitsThroughFollowers(t *testing.T) {
	clustertest.Run(t, 3, clustertest.Options{NoWorkers: true}, func(t *testing.T, c *clustertest.Cluster) {
		c.Push(2, "wait")
		id := c.Submit(1, "wait", `{"ms": 5000}`)
		f := c.Followers()[0]
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got, err := c.Node(f).Task(ctx, "", id, api.GetOptions{Wait: 3 * time.Second})
		if err != nil || got.Status != "CREATED" || got.Final {
			t.Fatalf("without a worker it waits: %v %v", got, err)
		}
		c.AddWorker("w1", 2)
		if got = c.Until(f, id, "running"); got.Status != "RUNNING" || got.Lease.Worker != "w1" || got.Lease.LostNotBefore == nil {
			t.Errorf("%s", clustertest.Show(got))
		}
		if got = c.Until(f, id, "attempt:1"); got.Status != "SUCCESS" {
			t.Errorf("%s", clustertest.Show(got))
		}
	})
}
