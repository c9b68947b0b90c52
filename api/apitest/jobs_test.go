package apitest_test

import (
	"fmt"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/apitest"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/api/jobs"
	"github.com/taskrt/taskrt/api/server"
	"github.com/taskrt/taskrt/internal/idle"
)

// steered is a cluster with its bulk jobs, over HTTP.
type steered struct {
	explained
	jobs.Jobs
}

func steer(t *testing.T) *steered {
	f := apitest.NewFake()
	t.Cleanup(f.Close)
	s := httptest.NewServer(server.New(f, server.Config{Logger: slog.New(slog.DiscardHandler), Jobs: f.Jobs()}))
	t.Cleanup(s.Close)
	c, err := client.New(client.Config{URLs: []string{s.URL}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &steered{explained{t, c, nil}, client.NewJobs(c)}
}

// ended starts a job, and returns it as it is when it has ended.
func (x *steered) ended(a jobs.Action, r jobs.JobRequest) *jobs.Job {
	x.t.Helper()
	reply, err := x.Start(x.t.Context(), a, r)
	for err == nil && !reply.Job.Ended() && idle.For(x.t.Context(), 5*time.Millisecond) {
		reply, err = x.Job(x.t.Context(), reply.Job.ID)
	}
	if err != nil {
		x.t.Fatal(err)
	}
	return reply.Job
}

// statuses returns how many tasks have each status.
func (x *steered) statuses() map[string]int {
	x.t.Helper()
	reply, err := x.Tasks(x.t.Context(), api.ListRequest{Limit: 1000})
	if err != nil {
		x.t.Fatal(err)
	}
	n := map[string]int{}
	for _, task := range reply.Tasks {
		n[task.Status]++
	}
	return n
}

// TestJobs: each action does with all tasks that a filter selects what it does with one (SPEC Q3).
func TestJobs(t *testing.T) {
	t.Parallel()
	x := steer(t)
	x.external("mail", 1)
	x.fail("mail", "bad-0", "bounced")
	for i := range 40 {
		r := api.SubmitRequest{Behavior: "mail", ID: fmt.Sprintf("mail-%02d", i), Labels: map[string]string{"third": fmt.Sprint(i % 3)}}
		if _, err := x.Submit(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	third := jobs.JobFilter{Label: []string{"third=1"}}
	if r, err := x.Start(t.Context(), jobs.Cancel, jobs.JobRequest{Filter: third, DryRun: true}); err != nil || r.Job != nil || *r.Matches != 13 {
		t.Fatalf("dry run: %+v %v", r, err)
	}
	if j := x.ended(jobs.Cancel, jobs.JobRequest{Filter: third}); j.Status != jobs.Success || j.Selected != 13 || j.Done != 13 || j.Filter.Final == nil {
		t.Fatalf("cancel: %+v", j)
	}
	if j := x.ended(jobs.Cancel, jobs.JobRequest{Filter: third}); j.Selected != 0 || j.Status != jobs.Success {
		t.Fatalf("cancel of what is final: %+v", j)
	}
	if n := x.statuses(); n["FAILURE"] != 14 {
		t.Fatalf("%v", n)
	}
	if j := x.ended(jobs.Retry, jobs.JobRequest{Filter: jobs.JobFilter{Error: []string{"CANCELLED"}}}); j.Done != 13 || j.Filter.Status[0] != "FAILURE" {
		t.Fatalf("retry: %+v", j)
	}
	late := api.Duration(time.Hour)
	if j := x.ended(jobs.Resubmit, jobs.JobRequest{Filter: jobs.JobFilter{IDPrefix: "mail-0"}, Delay: &late}); j.Done != 10 || *j.Delay != late {
		t.Fatalf("resubmit: %+v", j)
	}
	if j := x.ended(jobs.Remove, jobs.JobRequest{All: true}); j.Done != 41 || j.Status != jobs.Success {
		t.Fatalf("remove: %+v", j)
	}
	if n := x.statuses(); len(n) != 0 {
		t.Fatalf("left: %v", n)
	}
	all, err := x.List(t.Context(), "default")
	if err != nil || len(all.Jobs) != 5 || all.Jobs[0].Action != "remove" || all.Jobs[4].Action != "cancel" {
		t.Fatalf("%+v %v", all, err)
	}
}

// TestJobIsCancelled: what a job has done stays done, and the others have no turn.
func TestJobIsCancelled(t *testing.T) {
	t.Parallel()
	x := steer(t)
	x.external("mail", 1)
	for i := range 30 {
		if _, err := x.Submit(t.Context(), api.SubmitRequest{Behavior: "mail", ID: fmt.Sprintf("mail-%02d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := x.Start(t.Context(), jobs.Remove, jobs.JobRequest{Filter: jobs.JobFilter{Behavior: []string{"m*l"}}, Rate: 1})
	if err != nil {
		t.Fatal(err)
	}
	for err == nil && r.Job.Position == 0 && idle.For(t.Context(), 5*time.Millisecond) {
		r, err = x.Job(t.Context(), r.Job.ID)
	}
	if err == nil {
		r, err = x.Cancel(t.Context(), r.Job.ID)
	}
	if err != nil || r.Job.Status != jobs.Cancelled || r.Job.Done == 0 || r.Job.EndedAt == nil {
		t.Fatalf("%+v %v", r, err)
	}
	again, err := x.Cancel(t.Context(), r.Job.ID)
	if n := x.statuses(); err != nil || *again.Job.EndedAt != *r.Job.EndedAt || n["CREATED"] != 30-int(r.Job.Done) {
		t.Fatalf("%+v %v, of a job that did %d: %v", again, err, r.Job.Done, n)
	}
}

// TestJobsRefused: a request that makes no sense names the field, and a filter that says nothing means nobody.
func TestJobsRefused(t *testing.T) {
	t.Parallel()
	x := steer(t)
	late := api.Duration(time.Hour)
	some := jobs.JobFilter{Behavior: []string{"mail"}}
	for _, c := range []struct {
		a           jobs.Action
		r           jobs.JobRequest
		code, field string
	}{
		{jobs.Cancel, jobs.JobRequest{}, api.CodeInvalidField, "filter"},
		{jobs.Cancel, jobs.JobRequest{Filter: jobs.JobFilter{Status: []string{"ODD"}}}, api.CodeInvalidField, "status"},
		{jobs.Cancel, jobs.JobRequest{Filter: jobs.JobFilter{Label: []string{"x"}}}, api.CodeInvalidField, "label"},
		{jobs.Cancel, jobs.JobRequest{Filter: some, Rate: jobs.MaxRate + 1}, api.CodeInvalidField, "rate"},
		{jobs.Remove, jobs.JobRequest{Filter: some, Delay: &late}, api.CodeInvalidField, "delay"},
		{jobs.Resubmit, jobs.JobRequest{Filter: some, Version: "v1"}, api.CodeInvalidField, "version"},
		{jobs.Remove, jobs.JobRequest{Filter: some, Namespace: "elsewhere"}, "namespace_not_found", "namespace"},
		{jobs.Remove, jobs.JobRequest{Filter: some, Namespace: "elsewhere", DryRun: true}, "namespace_not_found", "namespace"},
	} {
		r, err := x.Start(t.Context(), c.a, c.r)
		if e := api.ErrorOf(err); e == nil || e.Code != c.code || e.Field != c.field {
			t.Errorf("%s %+v: %+v %v", c.a, c.r, r, err)
		}
	}
	for _, id := range []string{"7", "x", "0"} {
		if _, err := x.Cancel(t.Context(), id); api.CodeOf(err) != api.CodeJobNotFound {
			t.Errorf("job %s: %v", id, err)
		}
	}
}
