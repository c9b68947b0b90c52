package clustertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/jobs"
)

// waiting defines an external behavior, and submits tasks of it that nobody takes.
func (c *Cluster) waiting(t *testing.T, behavior string, n int) {
	t.Helper()
	putExternal(t, c, 0, behavior, `{"kind":"external","lease":"1m"}`)
	for from := 0; from < n; from += 1000 {
		var rs []api.SubmitRequest
		for i := from; i < min(from+1000, n); i++ {
			rs = append(rs, api.SubmitRequest{ID: fmt.Sprintf("%s-%06d", behavior, i), Behavior: behavior})
		}
		if _, err := c.Node(0).SubmitBatch(t.Context(), rs); err != nil {
			t.Fatal(err)
		}
	}
}

// job returns a job as the first node that is up sees it.
func (c *Cluster) job(t *testing.T, id string) *jobs.Job {
	t.Helper()
	for _, i := range c.Up() {
		if r, err := c.Node(i).Jobs().Job(t.Context(), id); err == nil {
			return r.Job
		}
	}
	return &jobs.Job{Status: jobs.Running}
}

// TestJobSurvivesItsLeaders (SPEC Q3): a job over many tasks goes on under the next leader. Each task has one turn: retried tasks that fail again are not
// retried twice, and the counts add up.
func TestJobSurvivesItsLeaders(t *testing.T) {
	const n = 6_000
	Run(t, 3, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
		c.waiting(t, "mail", n)
		c.waiting(t, "other", 10)
		r, err := c.Node(1).Jobs().Start(t.Context(), jobs.Cancel, jobs.JobRequest{Filter: jobs.JobFilter{Behavior: []string{"mail"}}, DryRun: true})
		if err != nil || r.Matches == nil || *r.Matches != n {
			t.Fatalf("%+v %v", r, err)
		}
		r, err = c.Node(1).Jobs().Start(t.Context(), jobs.Cancel, jobs.JobRequest{Filter: jobs.JobFilter{Behavior: []string{"ma*"}}, Rate: 500})
		if err != nil || r.Job.Status != jobs.Selecting && r.Job.Status != jobs.Running {
			t.Fatalf("%+v %v", r, err)
		}
		id := r.Job.ID
		for kill := range 2 {
			c.Eventually("the job goes on", func() bool { return c.job(t, id).Position > int64(kill+1)*500 })
			leader := c.Leader()
			c.Kill(leader)
			c.Sleep(time.Second)
			c.Start(leader)
		}
		c.Eventually("the job ends", func() bool { return c.job(t, id).Ended() })
		j := c.job(t, id)
		if j.Status != jobs.Success || j.Selected != n || j.Position != n || j.Done != n {
			t.Fatalf("%+v", j)
		}
		all, err := c.Node(0).Tasks(t.Context(), api.ListRequest{Errors: []string{"CANCELLED"}, Count: true, Limit: 1})
		if err != nil || *all.Count != n {
			t.Fatalf("%v %v", all, err)
		}
	})
}
