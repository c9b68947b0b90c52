package clustertest

import (
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node"
	"github.com/taskrt/taskrt/task"
)

const ttl = 10 * time.Second

// overrun is when no guest of a session that cannot be renewed may execute any more (SPEC L5).
const overrun = ttl * 85 / 100

// fill submits waits until every slot of every worker is taken, and returns who executes what.
func fill(c *Cluster, n int, params string) map[string]string {
	c.t.Helper()
	on := map[string]string{}
	for range n {
		on[c.Submit(c.Leader(), "wait", params)] = ""
	}
	for id := range on {
		on[id] = c.Executing(id)
	}
	return on
}

// wantOnce demands that a task succeeded in its first attempt and was executed once.
func wantOnce(c *Cluster, t *api.Task) {
	c.t.Helper()
	if es := c.Runs.Of(t.ID); t.Status != "SUCCESS" || t.Attempt != 1 || t.LostCount != 0 || len(es) != 1 {
		c.t.Errorf("want one attempt that succeeds: %s, executions %v", Show(t), es)
	}
}

// wantStopped demands that the first execution ended by itself within the margin after the cut, before the second
// began.
func wantStopped(c *Cluster, t *api.Task, cut time.Duration) {
	c.t.Helper()
	es := c.Runs.Of(t.ID)
	if t.Status != "SUCCESS" || t.Attempt != 2 || len(es) != 2 || t.History[0].Outcome != "LOST" {
		c.t.Errorf("want a loss and a success: %s, executions %v", Show(t), es)
		return
	}
	if lived := time.Duration(es[0].Ended) - cut; lived > overrun {
		c.t.Errorf("the guest that was cut off executed for %v more, the margin is %v (SPEC L5)", lived, overrun)
	}
	if es[1].Started <= es[0].Ended {
		c.t.Errorf("executions overlap (SPEC L1): %v", es)
	}
	if took := time.Duration(es[1].Started) - cut; took > ttl+4*time.Second { // TTL + 2 s and an election
		c.t.Errorf("it ran elsewhere only after %v (SPEC L6)", took)
	}
}

func TestPartitionedLeader(t *testing.T) {
	for name, x := range map[string]struct {
		cut  time.Duration
		lost bool
	}{
		"healed before TTL": {2 * time.Second, false},
		"healed after TTL":  {25 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			Run(t, 3, Options{SessionTTL: ttl, Slots: 2}, func(t *testing.T, c *Cluster) {
				c.Push(0, "wait")
				c.WorkersReady(3)
				on := fill(c, 6, `{"ms": 60000}`)
				c.AddWorker("w1", 2) // it takes lost tasks
				c.WorkersReady(4)
				leader := c.Leader()
				cut := c.Boottime()
				c.Net.Isolate(c.Members[leader].Addr)
				c.Sleep(x.cut)
				c.Net.Rejoin(c.Members[leader].Addr)
				hit := 0
				for id, who := range on {
					got := c.Final(leader, id)
					if who != c.Members[leader].ID || !x.lost {
						wantOnce(c, got)
						continue
					}
					hit++
					wantStopped(c, got, cut)
				}
				if x.lost && hit != 2 {
					t.Errorf("%d tasks ran on the leader", hit)
				}
			})
		})
	}
}

func TestPartitionedWorker(t *testing.T) {
	for name, x := range map[string]struct {
		cut  time.Duration
		lost bool
	}{
		"healed before TTL": {3 * time.Second, false},
		"healed after TTL":  {30 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			Run(t, 3, Options{SessionTTL: ttl, NoWorkers: true}, func(t *testing.T, c *Cluster) {
				c.Push(0, "wait")
				w := c.AddWorker("w1", 2)
				c.WorkersReady(1)
				on := fill(c, 2, `{"ms": 30000}`)
				c.AddWorker("w2", 2)
				c.WorkersReady(2)
				cut := c.Boottime()
				c.Net.Isolate(w.Addr)
				c.Sleep(x.cut)
				c.Net.Rejoin(w.Addr)
				for id := range on {
					if got := c.Final(0, id); x.lost {
						wantStopped(c, got, cut)
					} else {
						wantOnce(c, got)
					}
				}
				c.WorkersReady(2)
			})
		})
	}
}

// TestCancelWhileTheWorkerIsCutOff: CANCELLED is written only when the guest no longer runs, and then it stays (SPEC
// L8).
func TestCancelWhileTheWorkerIsCutOff(t *testing.T) {
	for name, cut := range map[string]time.Duration{"healed before TTL": 3 * time.Second, "healed after TTL": 30 * time.Second} {
		t.Run(name, func(t *testing.T) {
			Run(t, 3, Options{SessionTTL: ttl, NoWorkers: true}, func(t *testing.T, c *Cluster) {
				c.Push(0, "wait")
				w := c.AddWorker("w1", 1)
				c.WorkersReady(1)
				id := c.Submit(0, "wait", `600000`)
				c.Executing(id)
				c.AddWorker("w2", 1) // it would take the task
				c.WorkersReady(2)
				c.Net.Isolate(w.Addr)
				ctx, cancel := c.Context(time.Hour)
				defer cancel()
				if r, err := c.Node(1).Cancel(ctx, "", id); err != nil || !r.Told || r.Task.Status != "RUNNING" {
					t.Fatalf("%+v, %v", r, err)
				}
				time.AfterFunc(cut, func() { c.Net.Rejoin(w.Addr) })
				got := c.Final(2, id)
				if on := c.Runs.Running(id); on != "" {
					t.Errorf("CANCELLED while it executes on %s", on)
				}
				if got.Status != "FAILURE" || got.Error.Code != task.CodeCancelled || got.Attempt != 1 {
					t.Errorf("%s", Show(got))
				}
				c.Sleep(time.Minute)
				if es := c.Runs.Of(id); len(es) != 1 {
					t.Errorf("executions: %v", es)
				}
			})
		})
	}
}

// TestRemoveWhileTheWorkerIsCutOff: the guest is halted when its worker is back, or it stops by itself. The record
// stays gone (SPEC L9, L3).
func TestRemoveWhileTheWorkerIsCutOff(t *testing.T) {
	for name, cut := range map[string]time.Duration{"not": 0, "healed before TTL": 3 * time.Second, "healed after TTL": 30 * time.Second} {
		t.Run(name, func(t *testing.T) {
			Run(t, 3, Options{SessionTTL: ttl, NoWorkers: true}, func(t *testing.T, c *Cluster) {
				c.Push(0, "wait")
				w := c.AddWorker("w1", 1)
				c.WorkersReady(1)
				id := c.Submit(0, "wait", `20000`)
				c.Executing(id)
				if cut > 0 {
					c.Net.Isolate(w.Addr)
				}
				ctx, cancel := c.Context(time.Hour)
				defer cancel()
				removed := c.Boottime()
				if err := c.Node(1).Remove(ctx, "", id); err != nil {
					t.Fatal(err)
				}
				c.Sleep(cut)
				c.Net.Rejoin(w.Addr)
				c.Eventually("the guest is dead", func() bool { return c.Runs.Running(id) == "" })
				if lived := time.Duration(c.Runs.Of(id)[0].Ended) - removed; lived > min(overrun, cut+2*time.Second) {
					t.Errorf("the guest executed for %v after the remove", lived)
				}
				c.Sleep(time.Minute)
				if _, err := c.Node(2).Task(ctx, "", id, api.GetOptions{}); api.CodeOf(err) != api.CodeTaskNotFound {
					t.Errorf("after the remove: %v", err)
				}
				wantOnce(c, c.Final(0, c.Submit(0, "wait", `1`))) // the slot is free again
			})
		})
	}
}

// TestPushLost: an assignment is committed, and its push is lost with the leader's connection. The next leader pushes
// it again at once, not after the TTL (SPEC L2).
func TestPushLost(t *testing.T) {
	Run(t, 3, Options{SessionTTL: time.Minute, NoWorkers: true}, func(t *testing.T, c *Cluster) {
		c.Push(0, "wait")
		w := c.AddWorker("w1", 1)
		c.WorkersReady(1)
		wantOnce(c, c.Final(0, c.Submit(0, "wait", `1`))) // the module is ready there
		leader := c.Leader()
		addr := c.Members[leader].Addr
		c.Net.CutOneWay(addr, w.Addr)
		id := c.Submit(leader, "wait", `1000`)
		if got := c.Until(leader, id, "running"); got.Status != "RUNNING" {
			t.Fatalf("%s", Show(got))
		}
		c.Sleep(time.Second)
		if es := c.Runs.Of(id); len(es) > 0 {
			t.Fatalf("the push arrived: %v", es)
		}
		lost := time.Now()
		handOver(c)
		c.Net.Reset(addr, w.Addr) // messages that were under way are lost
		got := c.Final(c.Leader(), id)
		wantOnce(c, got)
		if took := time.Since(lost); took > 10*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// handOver makes another member lead.
func handOver(c *Cluster) {
	c.t.Helper()
	before := c.Leader()
	ctx, cancel := c.Context(time.Minute)
	defer cancel()
	if err := c.Node(before).Store().Transfer(ctx); err != nil {
		c.t.Fatal(err)
	}
	c.Eventually("another leader", func() bool { return c.Leader() != before })
}

// TestSlowAndLossyNetwork: messages come late, connections break in the middle, and messages are sent again. Each task
// is executed to its end once.
func TestSlowAndLossyNetwork(t *testing.T) {
	Run(t, 3, Options{SessionTTL: ttl, Configure: func(_ int, cfg *node.Config) { cfg.Slots = 8 }}, func(t *testing.T, c *Cluster) {
		c.Push(0, "wait")
		c.WorkersReady(3)
		for i, a := range c.Members {
			for j, b := range c.Members[:i] {
				c.Net.Delay(a.Addr, b.Addr, time.Duration(20+30*(i+j))*time.Millisecond)
			}
		}
		c.Net.Lossy(1, 40)
		var ids []string
		for i := range 30 {
			id := c.SubmitRequest(i%3, api.SubmitRequest{Behavior: "wait", Params: []byte(`2000`), IfExists: "fail"}).Task.ID
			ids = append(ids, id)
		}
		c.Sleep(30 * time.Second)
		c.Net.Lossy(0, 0)
		for _, id := range ids {
			got := c.Final(0, id)
			won := 0
			for _, h := range got.History {
				if h.Outcome == "SUCCESS" {
					won++
				}
			}
			if got.Status != "SUCCESS" || won != 1 || got.Failures != 0 {
				t.Errorf("%s", Show(got))
			}
		}
	})
}
