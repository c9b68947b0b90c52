package clustertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
)

// leaderFaults are faults of a leader. Each fault is over when its function returns.
var leaderFaults = map[string]func(c *Cluster, leader int){
	"kill": func(c *Cluster, leader int) {
		c.Kill(leader)
		c.Sleep(3 * time.Second)
		c.Start(leader)
	},
	"isolate": func(c *Cluster, leader int) {
		c.Net.Isolate(c.Members[leader].Addr)
		c.Sleep(8 * time.Second)
		c.Net.Rejoin(c.Members[leader].Addr)
	},
	"transfer": func(c *Cluster, leader int) {
		ctx, cancel := c.Context(10 * time.Second)
		defer cancel()
		if err := c.Node(leader).Store().Transfer(ctx); err != nil {
			c.t.Errorf("transfer: %v", err)
		}
	},
}

// TestOperationLosesLeader: the leader is killed, or cut off, at every moment of an operation's life: while its tasks
// are made and run, between the last task and the completion, while the completion runs, and between its report and the
// final state. Each time there is exactly one final state. It is in the entry of the completion's outcome (Audit).
func TestOperationLosesLeader(t *testing.T) {
	moments, apart := 60, 37*time.Millisecond // the whole life takes 2 s
	if testing.Short() || raceDetector {
		moments, apart = 12, 190*time.Millisecond
	}
	for fault, happen := range leaderFaults {
		for i := range moments {
			at := time.Duration(i) * apart
			t.Run(fmt.Sprintf("%s after %v", fault, at), func(t *testing.T) {
				t.Parallel()
				Run(t, 3, Options{NoWorkers: true, Guest: halfSecond, SessionTTL: ttl}, func(t *testing.T, c *Cluster) {
					operationUnder(c, at, happen)
				})
			})
		}
	}
}

// halfSecond is a guest whose partitions and completion take half a second each. The completion counts.
func halfSecond(ctx context.Context, j *Job) (string, error) {
	if err := j.Sleep(ctx, 500*time.Millisecond); err != nil || j.Info.Behavior != "reduce" {
		return "1", err
	}
	statuses, _, err := j.Outcomes(ctx, 2)
	return fmt.Sprint(statuses["SUCCESS"]), err
}

// operationUnder runs an operation of six partitions on four slots. It lets something happen at a moment of the
// operation, and checks the end.
func operationUnder(c *Cluster, at time.Duration, happen func(c *Cluster, leader int)) {
	t := c.t
	c.pushOperations()
	c.AddWorker("w1", 2)
	c.AddWorker("w2", 2)
	c.WorkersReady(2)
	leader := c.Leader()
	through := c.Followers()[0]
	c.startOperation(through, api.StartOperationRequest{ID: "once", Behavior: "alone", Target: "t", Partitions: count(6)})
	c.Sleep(at)
	happen(c, leader)
	o := c.operation(through, "once", "")
	wantOperation(t, o, "", api.OperationCounts{Success: 6})
	if string(o.Result) != "6" {
		t.Errorf("the completion counted %s", o.Result)
	}
	done := c.Final(through, o.Completion)
	if string(done.Result) != "6" || done.FinishedAt == nil || !done.FinishedAt.Equal(o.FinishedAt.Time) {
		t.Errorf("the completion ended as %s, the operation at %v", Show(done), o.FinishedAt)
	}
	c.Sleep(30 * time.Second)
	if again := c.operation(through, "once", "rev:0"); again.Rev != o.Rev {
		t.Errorf("it changed after its end: %+v", again)
	}
	if n := c.Audit.Ends("once"); n != 1 {
		t.Errorf("%d final states", n)
	}
	next := c.startOperation(through, api.StartOperationRequest{ID: "next", Behavior: "alone", Target: "t", Partitions: count(1)})
	if next.Instance != 2 { // the target is free
		t.Errorf("the next is instance %d", next.Instance)
	}
}

// TestOperationLosesWorkers: an executor dies before, during and after its job. Another is cut off and comes back late:
// its report is halted, and its guest was dead by then.
func TestOperationLosesWorkers(t *testing.T) {
	moments, apart := 24, 97*time.Millisecond
	if testing.Short() || raceDetector {
		moments, apart = 6, 390*time.Millisecond
	}
	for i := range moments {
		at := time.Duration(i) * apart
		for fault, happen := range map[string]func(c *Cluster, w *Worker){
			"kill": func(c *Cluster, w *Worker) { w.Kill() },
			"late": func(c *Cluster, w *Worker) {
				c.Net.Isolate(w.Addr)
				c.Sleep(3 * ttl)
				c.Net.Rejoin(w.Addr)
			},
		} {
			t.Run(fmt.Sprintf("%s after %v", fault, at), func(t *testing.T) {
				t.Parallel()
				Run(t, 3, Options{NoWorkers: true, Guest: halfSecond, SessionTTL: ttl}, func(t *testing.T, c *Cluster) {
					dying := c.AddWorker("w0", 2)
					c.WorkersReady(1)
					operationUnderWorker(c, at, dying, happen)
				})
			})
		}
	}
}

func operationUnderWorker(c *Cluster, at time.Duration, w *Worker, happen func(c *Cluster, w *Worker)) {
	t := c.t
	c.pushOperations()
	c.AddWorker("w1", 1)
	c.WorkersReady(2)
	c.startOperation(0, api.StartOperationRequest{ID: "once", Behavior: "alone", Partitions: count(6)})
	c.Sleep(at)
	happen(c, w)
	o := c.operation(1, "once", "")
	wantOperation(t, o, "", api.OperationCounts{Success: 6})
	if n := c.Audit.Ends("once"); n != 1 || string(o.Result) != "6" {
		t.Errorf("%d final states, the completion counted %s", n, o.Result)
	}
	for _, p := range c.partitionsOf(2, "once") {
		if es := c.Runs.Of(p.ID); int64(len(es)) > p.Attempt || p.Failures != 0 {
			t.Errorf("%d executions of %s", len(es), Show(p))
		}
	}
}
