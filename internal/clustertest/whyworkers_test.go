package clustertest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api/insight"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
)

// whyWaits returns the codes and workers of what why says of a task, and fails unless the task waits.
func (c *Cluster) whyWaits(id string) []string {
	c.t.Helper()
	r, err := c.LeaderNode().Insight().Why(c.t.Context(), "", id)
	if err != nil || !r.Waits {
		c.t.Fatalf("%s: %+v, %v", id, r, err)
	}
	var said []string
	for _, reason := range r.Reasons {
		said = append(said, strings.TrimSpace(reason.Code+" "+strings.Join(reason.Workers, ",")))
	}
	return said
}

// saysSoon waits until why says of a task that waits just what is wanted.
func (c *Cluster) saysSoon(id string, want ...string) {
	c.t.Helper()
	var said []string
	c.Eventually(strings.Join(want, "; "), func() bool { said = c.whyWaits(id); return slices.Equal(said, want) })
}

// TestWhyOfDrainedNodes: a task waits for nodes that are drained, which are named; when one of them is back it runs there (SPEC Q4).
func TestWhyOfDrainedNodes(t *testing.T) {
	Run(t, 3, Options{SessionTTL: ttl}, func(t *testing.T, c *Cluster) {
		c.Push(0, "echo")
		c.WorkersReady(3)
		for _, m := range c.Members {
			if _, err := c.Node(0).Drain(t.Context(), m.ID, true); err != nil {
				t.Fatal(err)
			}
		}
		id := c.Submit(1, "echo", `7`)
		c.saysSoon(id, insight.WorkerDrained+" n1,n2,n3")
		if _, err := c.Node(2).Drain(t.Context(), "n2", false); err != nil {
			t.Fatal(err)
		}
		if got := c.Final(0, id); got.Status != "SUCCESS" || len(c.Runs.Of(id)) != 1 || c.Runs.Of(id)[0].Where != "n2" {
			t.Errorf("%s ran at %+v", Show(got), c.Runs.Of(id))
		}
	})
}

// slowModules are fetched when the test lets them.
type slowModules struct {
	worker.Modules
	open chan struct{}
}

// Fetch implements worker.Modules.
func (m slowModules) Fetch(ctx context.Context, digest string, size int64) ([]byte, error) {
	select {
	case <-m.open:
		return m.Modules.Fetch(ctx, digest, size)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// TestWhyOfUnreadyModules: a task waits while no worker has its module, also beside a worker that is free for others; when the bytes
// arrive it runs (SPEC Q4).
func TestWhyOfUnreadyModules(t *testing.T) {
	Run(t, 3, Options{SessionTTL: ttl, NoWorkers: true}, func(t *testing.T, c *Cluster) {
		c.Push(0, "echo")
		open := make(chan struct{})
		c.AddWorkerAt("w1", "w1", 1, func(x *worker.Config) { x.Modules = slowModules{x.Modules, open} })
		id := c.Submit(1, "echo", `7`)
		c.saysSoon(id, insight.ModuleNotReady+" w1")
		close(open)
		if got := c.Final(0, id); got.Status != "SUCCESS" {
			t.Error(Show(got))
		}
	})
}

// TestWhyOfSuspects: a task whose process died while others ran there waits for a process of its own, and runs as soon as there is
// one (SPEC L5, Q4).
func TestWhyOfSuspects(t *testing.T) {
	guest := func(ctx context.Context, j *Job) (string, error) {
		if j.Info.Attempt > 1 {
			return "2", nil
		}
		<-ctx.Done()
		return "", ctx.Err()
	}
	Run(t, 3, Options{SessionTTL: ttl, NoWorkers: true, Guest: guest}, func(t *testing.T, c *Cluster) {
		c.Push(0, "echo")
		asked := make(chan bool, 10)
		c.AddWorkerAt("w1", "w1", 2, func(x *worker.Config) { x.Isolates, x.OnSuspects = true, func(wait bool) { asked <- wait } })
		c.WorkersReady(1)
		ids := []string{c.Submit(0, "echo", `1`), c.Submit(0, "echo", `2`)}
		crash := task.CrashSession{Worker: "w1"}
		for _, id := range ids {
			c.Executing(id)
		}
		c.LeaderNode().Store().Local(func(m *task.Machine) {
			for _, s := range m.Sessions() {
				crash.Proof, crash.Before = s.Proof, s.Hello+1
			}
			for _, id := range ids {
				crash.Tokens = append(crash.Tokens, m.Task(task.Key{Namespace: "default", ID: id}).Lease.Token)
			}
		})
		if rs, err := c.LeaderNode().Store().Propose(t.Context(), crash); err != nil || rs[0].Code != task.OK {
			t.Fatalf("%+v, %v", rs, err)
		}
		for _, id := range ids {
			c.saysSoon(id, insight.NoSuitedWorker+" w1")
		}
		for wait := range asked {
			if wait {
				break
			}
		}
		for _, name := range []string{"alone-1", "alone-2"} { // each runs one attempt
			c.AddWorkerAt(name, name, 1, func(x *worker.Config) { x.Alone = true })
		}
		for _, id := range ids {
			if got := c.Final(0, id); got.Status != "SUCCESS" || string(got.Result) != "2" {
				t.Error(Show(got))
			}
		}
	})
}
