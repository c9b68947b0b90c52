package api_test

import (
	"context"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
)

// waitedOut is a Service that answers submits with a task without an outcome, and waits with such a task or an error.
type waitedOut struct {
	api.Service

	asked []api.GetOptions
	err   error
}

func (w *waitedOut) Submit(context.Context, api.SubmitRequest) (*api.SubmitReply, error) {
	return &api.SubmitReply{Task: &api.Task{ID: "abc", Status: "CREATED", Rev: 7}, Outcome: "created"}, nil
}

func (w *waitedOut) Task(_ context.Context, _, _ string, o api.GetOptions) (*api.Task, error) {
	w.asked = append(w.asked, o)
	return &api.Task{ID: "abc", Status: "RUNNING", Rev: 8, Attempt: 1}, w.err
}

// TestAwaitSubmitted: in-process, an error of the wait does not read like an error of the submit. A wait that ends without an
// outcome says so.
func TestAwaitSubmitted(t *testing.T) {
	w := &waitedOut{}
	reply, err := submitAndWait(t, w)
	if err != nil || !reply.TimedOut || reply.Task.Status != "RUNNING" || reply.Outcome != "created" {
		t.Errorf("%+v, %v", reply, err)
	}
	if o := w.asked[0]; o.Wait != time.Second || o.Until != "outcome" || o.Since != 7 {
		t.Errorf("asked with %+v", o)
	}
	w.err = api.NewError(api.CodeNotReady, "stopping")
	if _, err := submitAndWait(t, w); api.CodeOf(err) != api.CodeOutcomeUnknown {
		t.Errorf("error %v, want outcome_unknown", err)
	}
	w.err = api.NewError(api.CodeRemoved, "removed")
	if _, err := submitAndWait(t, w); api.CodeOf(err) != api.CodeRemoved {
		t.Errorf("error %v, want removed", err)
	}
}

// submitAndWait is what a Service does for SubmitRequest.Wait.
func submitAndWait(t *testing.T, s api.Service) (*api.SubmitReply, error) {
	t.Helper()
	reply, err := s.Submit(t.Context(), api.SubmitRequest{Behavior: "echo"})
	if err != nil {
		t.Fatal(err)
	}
	return reply, reply.AwaitSubmitted(t.Context(), s, api.GetOptions{Wait: time.Second})
}

// TestOutcomeOfTheCycle: the outcome of a task that repeats counts though it is not final. An outcome of the cycle before does
// not count.
func TestOutcomeOfTheCycle(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after api.Task
		timedOut      bool
	}{
		{"final", api.Task{Status: "CREATED"}, api.Task{Status: "FAILURE", Final: true}, false},
		{"runs", api.Task{Status: "CREATED"}, api.Task{Status: "RUNNING", Attempt: 1}, true},
		{"will be retried", api.Task{Status: "CREATED"}, api.Task{Status: "FAILURE", Version: "v1", Attempt: 1}, true},
		{"failed, repeats", api.Task{Status: "CREATED"}, api.Task{Status: "FAILURE", Attempt: 1}, false},
		{"repeats", api.Task{Status: "RUNNING", Attempt: 1}, api.Task{Status: "SUCCESS", Attempt: 1}, false},
		{"the one before", api.Task{Status: "SUCCESS", Attempt: 1}, api.Task{Status: "SUCCESS", Attempt: 1, Priority: 9}, true},
		{"the next", api.Task{Status: "SUCCESS", Attempt: 1}, api.Task{Status: "SUCCESS", Attempt: 2}, false},
	} {
		reply, err := submitAndWait(t, between{before: &c.before, after: &c.after})
		if err != nil || reply.TimedOut != c.timedOut {
			t.Errorf("%s: timed out %v, want %v (%v)", c.name, reply.TimedOut, c.timedOut, err)
		}
	}
}

// between is a Service that answers a submit with one state of a task, and a wait with another.
type between struct {
	api.Service

	before, after *api.Task
}

func (b between) Submit(context.Context, api.SubmitRequest) (*api.SubmitReply, error) {
	return &api.SubmitReply{Task: b.before}, nil
}

func (b between) Task(context.Context, string, string, api.GetOptions) (*api.Task, error) {
	return b.after, nil
}
