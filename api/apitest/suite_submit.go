package apitest

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
)

// minimal: the answer to a submit with Minimal has only the fields that name a task and say where it is.
func (s *suite) minimal(ctx context.Context, t *testing.T) {
	check := func(what string, r *api.SubmitReply, outcome string) {
		t.Helper()
		if r.Outcome != outcome || r.Task.ID == "" || r.Task.Namespace != "default" || r.Task.Behavior != okBehavior || r.Task.Status == "" ||
			r.Task.Rev == 0 || r.Task.CreatedAt.IsZero() {
			t.Errorf("%s: %s, %+v", what, r.Outcome, r.Task)
		}
		if !reflect.DeepEqual(r.Task, r.Task.Minimal()) {
			t.Errorf("%s: more than asked for: %+v", what, r.Task)
		}
	}
	r := api.SubmitRequest{Behavior: okBehavior, ID: "minimal-1", Params: json.RawMessage(`{"a":[1,2,3]}`), Labels: map[string]string{"a": "b"}, Minimal: true}
	reply, err := s.Submit(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	check("one", reply, "created")
	if done := s.final(ctx, t, "minimal-1"); string(done.Params) != `{"a":[1,2,3]}` || done.Labels["a"] != "b" {
		t.Errorf("the task itself is %+v", done)
	}
	if reply, err = s.Submit(ctx, r); err != nil {
		t.Fatal(err)
	}
	check("again", reply, "existing")
	if reply.Task.Status != "SUCCESS" || !reply.Task.Final {
		t.Errorf("final %v, %s; it was final before", reply.Task.Final, reply.Task.Status)
	}
	_, err = s.Submit(ctx, api.SubmitRequest{Behavior: "apitest.nobody", Minimal: true})
	wantError(t, err, "behavior_not_found", "behavior")
	results, err := s.SubmitBatch(ctx, []api.SubmitRequest{{Behavior: okBehavior, Minimal: true}, {Behavior: "apitest.nobody", Minimal: true}, r})
	if err != nil {
		t.Fatal(err)
	}
	if results[0].Error != nil || results[2].Error != nil {
		t.Fatalf("errors %v, %v", results[0].Error, results[2].Error)
	}
	check("first of a batch", results[0].SubmitReply, "created")
	check("last of a batch", results[2].SubmitReply, "existing")
	wantError(t, results[1].Error, "behavior_not_found", "behavior")
}

// submitAndWait: the answer has the outcome of the cycle that the submit caused, or says that there was none in time.
func (s *suite) submitAndWait(ctx context.Context, t *testing.T) {
	submit := func(r api.SubmitRequest, wait time.Duration) *api.SubmitReply {
		t.Helper()
		r.Wait = wait
		reply, err := s.Submit(ctx, r)
		if err != nil {
			t.Fatalf("submit and wait for %+v: %v", r, err)
		}
		return reply
	}
	done := submit(api.SubmitRequest{Behavior: okBehavior, ID: "waited-1", Params: json.RawMessage(`1`)}, patience)
	if done.Outcome != "created" || done.TimedOut || !done.Task.Final || done.Task.Status != "SUCCESS" || string(done.Task.Params) != "1" || string(done.Task.Result) != "null" {
		t.Errorf("%s, timed out %v: %+v", done.Outcome, done.TimedOut, done.Task)
	}
	again := submit(api.SubmitRequest{Behavior: okBehavior, ID: "waited-1", Params: json.RawMessage(`1`)}, patience)
	if again.Outcome != "existing" || again.TimedOut || again.Task.Rev != done.Task.Rev {
		t.Errorf("the same again: %s, timed out %v: %+v", again.Outcome, again.TimedOut, again.Task)
	}
	rerun := submit(api.SubmitRequest{Behavior: okBehavior, ID: "waited-1", IfExists: "rerun"}, patience)
	if rerun.Outcome != "updated" || rerun.TimedOut || !rerun.Task.Final || rerun.Task.Attempt != 2 {
		t.Errorf("rerun: %s, timed out %v: %+v", rerun.Outcome, rerun.TimedOut, rerun.Task)
	}
	failed := submit(api.SubmitRequest{Behavior: failBehavior}, patience)
	if failed.TimedOut || failed.Task.Status != "FAILURE" || !failed.Task.Final {
		t.Errorf("failed: timed out %v: %+v", failed.TimedOut, failed.Task)
	}
	hour := api.Duration(time.Hour)
	waiting := submit(api.SubmitRequest{Behavior: okBehavior, ID: "waited-2", Delay: &hour}, 50*time.Millisecond)
	if waiting.Outcome != "created" || !waiting.TimedOut || waiting.Task.Status != "CREATED" || waiting.Task.Final {
		t.Errorf("delayed: %s, timed out %v: %+v", waiting.Outcome, waiting.TimedOut, waiting.Task)
	}
	_, err := s.Submit(ctx, api.SubmitRequest{Behavior: "apitest.nobody", Wait: patience})
	wantError(t, err, "behavior_not_found", "behavior")
	removed := make(chan error, 1)
	go func() {
		_, err := s.Submit(ctx, api.SubmitRequest{Behavior: okBehavior, ID: "waited-2", Wait: patience})
		removed <- err
	}()
	// By then the submit should have begun to wait.
	if _, err := s.Task(ctx, "", "waited-2", api.GetOptions{Wait: 100 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(ctx, "", "waited-2"); err != nil {
		t.Fatal(err)
	}
	if err := <-removed; err != nil { // else the submit came after the removal, and made a task of its own
		wantError(t, err, "removed", "")
	}
}
