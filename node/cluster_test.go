package node_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/taskrt/taskrt/internal/clustertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEveryNodeSubmitsAndEveryNodeSees(t *testing.T) {
	clustertest.Run(t, 3, clustertest.Options{}, func(t *testing.T, c *clustertest.Cluster) {
		c.Push(0, "echo")
		for i := range 3 {
			id := c.Submit(i, "echo", `{"from": "here"}`)
			for j := range 3 {
				got := c.Final(j, id)
				if got.Status != "SUCCESS" || string(got.Result) != `{"from":"here"}` {
					t.Errorf("through %d, seen by %d: %s", i, j, clustertest.Show(got))
				}
			}
			if es := c.Runs.Of(id); len(es) != 1 {
				t.Errorf("executions: %v", es)
			}
		}
	})
}

func TestKilledLeaderRunsItsTaskElsewhere(t *testing.T) {
	clustertest.Run(t, 3, clustertest.Options{}, func(t *testing.T, c *clustertest.Cluster) {
		c.Push(0, "wait")
		c.WorkersReady(3)
		leader := c.Leader()
		// There are as many tasks as slots, so some tasks run on the leader.
		var ids []string
		for range 12 {
			ids = append(ids, c.Submit(leader, "wait", `{"ms": 60000}`))
		}
		for _, id := range ids {
			c.Executing(id)
		}
		before := time.Now()
		c.Kill(leader)
		next := c.Leader()
		lost := 0
		for _, id := range ids {
			got := c.Final(next, id)
			if got.Status != "SUCCESS" || string(got.Result) != "60000" {
				t.Errorf("%s", clustertest.Show(got))
			}
			if got.Attempt > 1 {
				lost++
			}
		}
		if lost == 0 {
			t.Error("no task ran on the leader that was killed")
		}
		if took := time.Since(before); took > 3*time.Minute {
			t.Errorf("took %v", took)
		}
		c.Start(leader)
	})
}
