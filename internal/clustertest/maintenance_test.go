package clustertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/node"
	"github.com/taskrt/taskrt/node/maintain"
	"github.com/taskrt/taskrt/task"
)

// maintained configures maintenance of all members.
func maintained(c maintain.Config) Options {
	return Options{Configure: func(_ int, n *node.Config) { n.Maintenance = c }}
}

// maintain asks for a run at member i and returns its record when it has ended.
func (c *Cluster) maintain(i int, r api.MaintenanceRequest) *api.MaintenanceRun {
	c.t.Helper()
	ctx, cancel := c.Context(time.Hour)
	defer cancel()
	started, err := c.Node(i).StartMaintenance(ctx, r)
	if err != nil {
		c.t.Fatalf("start maintenance: %v", err)
	}
	return c.runEnded(i, started.Run)
}

// runEnded waits until a run has ended and returns its record.
func (c *Cluster) runEnded(i int, run int64) *api.MaintenanceRun {
	c.t.Helper()
	ctx, cancel := c.Context(time.Hour)
	defer cancel()
	for {
		o := api.GetOptions{Wait: 5 * time.Minute, Until: fmt.Sprintf("attempt:%d", run)}
		if _, err := c.Node(i).Task(ctx, task.SystemNamespace, task.MaintenanceTask, o); err != nil {
			c.t.Fatal(err)
		}
		rec, err := c.Node(i).MaintenanceRun(ctx, run)
		if err != nil {
			c.t.Fatal(err)
		}
		if rec.Status != "WAITING" && rec.Status != "RUNNING" {
			return rec
		}
	}
}

// TestIdleClusterMaintainsOncePerPeriod: a cluster with nothing to do runs maintenance once an hour, not more often.
func TestIdleClusterMaintainsOncePerPeriod(t *testing.T) {
	t.Parallel()
	Run(t, 3, Options{}, func(t *testing.T, c *Cluster) {
		c.Leader()
		time.Sleep(5*time.Hour + 10*time.Minute)
		runs, err := c.Node(0).MaintenanceRuns(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(runs) != 5 {
			t.Errorf("%d runs in five hours: %+v", len(runs), runs)
		}
		for _, r := range runs {
			if r.Status != "SUCCESS" || r.Message != "" {
				t.Errorf("%+v", r)
			}
		}
	})
}
