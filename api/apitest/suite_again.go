package apitest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/client"
)

func (s *suite) retry(ctx context.Context, t *testing.T) {
	const name = "apitest.retry"
	b := s.external(ctx, t, name, "")
	x := s.run(ctx, t, name, "retry-1")
	_, err := s.Retry(ctx, api.RetryRequest{ID: x.ID})
	wantError(t, err, "not_final", "")
	if _, err := s.Heartbeat(ctx, api.HeartbeatRequest{ID: x.ID, Token: x.Lease.Token, Checkpoint: json.RawMessage(`"half"`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Finish(ctx, api.FinishRequest{ID: x.ID, Token: x.Lease.Token, Error: &api.ReportError{Code: "bad"}}); err != nil {
		t.Fatal(err)
	}
	// The outcome stays until the next run starts. That run finds the checkpoint.
	got, err := s.Retry(ctx, api.RetryRequest{ID: x.ID, Delay: duration(time.Hour)})
	if err != nil || got.Status != "FAILURE" || got.Final || got.Failures != 0 || got.Error == nil {
		t.Fatalf("retry: %+v, %v", got, err)
	}
	if got, err = s.Retry(ctx, api.RetryRequest{ID: x.ID}); err != nil || got.NotBefore == nil || got.NotBefore.After(time.Now().Add(time.Minute)) {
		t.Fatalf("retry now: %+v, %v", got, err)
	}
	x = s.acceptOne(ctx, t, name)
	if x.Attempt != 2 || string(x.Checkpoint) != `"half"` || x.Version != b.Version {
		t.Errorf("the retry runs as %+v", x)
	}
	if _, err := s.Finish(ctx, api.FinishRequest{ID: x.ID, Token: x.Lease.Token}); err != nil {
		t.Fatal(err)
	}
	s.must(ctx, t, api.SubmitRequest{Behavior: name, ID: "retry-waiting", Delay: duration(time.Hour)})
	for _, c := range []struct {
		code, field string
		r           api.RetryRequest
	}{
		{"not_final", "", api.RetryRequest{ID: "retry-waiting"}},
		{"task_not_found", "", api.RetryRequest{ID: "retry-nobody"}},
		{"version_not_found", "", api.RetryRequest{ID: x.ID, Version: strings.Repeat("0", 64)}},
		{"invalid_field", "version", api.RetryRequest{ID: x.ID, Version: "newest"}},
		{"invalid_field", "delay", api.RetryRequest{ID: x.ID, Delay: duration(1), NotBefore: after(0)}},
		{"invalid_field", "delay", api.RetryRequest{ID: x.ID, Delay: duration(-1)}},
		{"invalid_field", "not_before", api.RetryRequest{ID: x.ID, NotBefore: &api.Time{}}},
		{"invalid_field", "deadline", api.RetryRequest{ID: x.ID, Deadline: &api.Time{}}},
		{"invalid_field", "id", api.RetryRequest{ID: "x"}},
	} {
		_, err := s.Retry(ctx, c.r)
		wantError(t, err, c.code, fieldOr(err, c.field))
	}
}

// fieldOr returns the field to expect in an error: field, or for a refusal by the state whatever field the error names.
func fieldOr(err error, field string) string {
	if field == "" {
		return fieldOf(err)
	}
	return field
}

func (s *suite) repin(ctx context.Context, t *testing.T) {
	const name = "apitest.repin"
	old := s.external(ctx, t, name, `,"retry":{"max_attempts":9,"initial_interval":"1h"}`)
	x := s.run(ctx, t, name, "repin-1")
	if _, err := s.Finish(ctx, api.FinishRequest{ID: x.ID, Token: x.Lease.Token, Error: &api.ReportError{}}); err != nil {
		t.Fatal(err)
	}
	active := s.external(ctx, t, name, `,"description":"newer"`)
	if active.Version == old.Version || len(active.Versions) != 2 {
		t.Fatalf("versions %+v", active.Versions)
	}
	got, err := s.Retry(ctx, api.RetryRequest{ID: x.ID, Version: "active"})
	if err != nil || got.Version != "" {
		t.Fatalf("retry with the active version: %+v, %v", got, err)
	}
	if x = s.acceptOne(ctx, t, name); x.Version != active.Version {
		t.Errorf("runs with version %s, want %s", x.Version, active.Version)
	}
	if _, err := s.Finish(ctx, api.FinishRequest{ID: x.ID, Token: x.Lease.Token}); err != nil {
		t.Fatal(err)
	}
	if got, err = s.Retry(ctx, api.RetryRequest{ID: x.ID, Version: old.Version}); err != nil || got.Version != old.Version {
		t.Fatalf("retry with the former version: %+v, %v", got, err)
	}
	if x = s.acceptOne(ctx, t, name); x.Version != old.Version {
		t.Errorf("runs with version %s, want %s", x.Version, old.Version)
	}
}

func (s *suite) resubmit(ctx context.Context, t *testing.T) {
	const name = "apitest.resubmit"
	s.external(ctx, t, name, "")
	x := s.run(ctx, t, name, "resubmit-1")
	must := func(r api.ResubmitRequest) *api.SubmitReply {
		t.Helper()
		r.ID = x.ID
		reply, err := s.Resubmit(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	// A resubmit of a running task sets the flag, which the worker sees, and causes another run when this one ends.
	if reply := must(api.ResubmitRequest{}); reply.Task.Resubmit == nil || reply.Outcome != "updated" {
		t.Errorf("resubmit of a running task: %+v", reply)
	}
	if beat, err := s.Heartbeat(ctx, api.HeartbeatRequest{ID: x.ID, Token: x.Lease.Token}); err != nil || !beat.Resubmit {
		t.Errorf("the worker hears %+v, %v", beat, err)
	}
	if r, err := s.Finish(ctx, api.FinishRequest{ID: x.ID, Token: x.Lease.Token}); err != nil || r.Task.Final || r.Task.Resubmit != nil {
		t.Errorf("finished: %+v, %v", r, err)
	}
	x = s.acceptOne(ctx, t, name)
	if _, err := s.Finish(ctx, api.FinishRequest{ID: x.ID, Token: x.Lease.Token}); err != nil {
		t.Fatal(err)
	}
	// A resubmit of a final task makes it due at the given time, with the new params.
	at := after(time.Hour)
	if reply := must(api.ResubmitRequest{NotBefore: at, Params: json.RawMessage(`[ 1 ]`)}); reply.Task.Status != "SUCCESS" || reply.Task.Final || !reply.Task.NotBefore.Equal(at.Time) || string(reply.Task.Params) != `[1]` {
		t.Errorf("resubmit of a final task: %+v", reply.Task)
	}
	if reply := must(api.ResubmitRequest{NotBefore: at}); reply.Outcome == "updated" {
		t.Errorf("the same again: %+v", reply)
	}
	if reply := must(api.ResubmitRequest{Delay: duration(2 * time.Hour), ParamsBase64: []byte{7}}); string(reply.Task.ParamsBase64) != "\x07" || !reply.Task.NotBefore.After(at.Time) {
		t.Errorf("resubmit of a waiting task: %+v", reply.Task)
	}
	for _, c := range []struct {
		code, field string
		r           api.ResubmitRequest
	}{
		{"task_not_found", "", api.ResubmitRequest{ID: "resubmit-nobody"}},
		{"invalid_field", "delay", api.ResubmitRequest{ID: x.ID, Delay: duration(1), NotBefore: at}},
		{"invalid_field", "params_base64", api.ResubmitRequest{ID: x.ID, Params: json.RawMessage(`1`), ParamsBase64: []byte{1}}},
		{"invalid_field", "id", api.ResubmitRequest{ID: "x"}},
	} {
		_, err := s.Resubmit(ctx, c.r)
		wantError(t, err, c.code, fieldOr(err, c.field))
	}
}

// keyed returns a context with an idempotency key. For a Service in-process it gives the hashes; over HTTP the handler makes
// them from the key and the body.
func keyed(ctx context.Context, key string, body uint64) context.Context {
	sum := uint64(len(key))
	for _, c := range []byte(key) {
		sum = sum*31 + uint64(c)
	}
	return client.WithIdempotencyKey(api.WithOnce(ctx, api.Once{Key: sum, Body: body}), key)
}

// once: a request under a key is done once, however often it is sent (SPEC H4).
func (s *suite) once(ctx context.Context, t *testing.T) {
	const name = "apitest.once"
	s.external(ctx, t, name, "")
	first, err := s.Submit(keyed(ctx, "submit-1", 1), api.SubmitRequest{Behavior: name})
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Submit(keyed(ctx, "submit-1", 1), api.SubmitRequest{Behavior: name})
	if err != nil || again.Task.ID != first.Task.ID || again.Outcome != "created" {
		t.Errorf("the same again: %+v, %v; want task %s created", again, err, first.Task.ID)
	}
	_, err = s.Submit(keyed(ctx, "submit-1", 2), api.SubmitRequest{Behavior: name, Labels: map[string]string{"other": "body"}})
	wantError(t, err, "idempotency_mismatch", fieldOf(err))
	other, err := s.Submit(keyed(ctx, "submit-2", 1), api.SubmitRequest{Behavior: name})
	if err != nil || other.Task.ID == first.Task.ID {
		t.Errorf("another key: %+v, %v", other, err)
	}
	rs := []api.SubmitRequest{{Behavior: name}, {Behavior: "apitest.nobody"}, {Behavior: name}}
	batch, err := s.SubmitBatch(keyed(ctx, "batch", 1), rs)
	if err != nil || batch[0].Error != nil || batch[1].Error == nil || batch[2].Error != nil {
		t.Fatalf("batch: %+v, %v", batch, err)
	}
	repeated, err := s.SubmitBatch(keyed(ctx, "batch", 1), rs)
	if err != nil || repeated[0].Task.ID != batch[0].Task.ID || repeated[2].Task.ID != batch[2].Task.ID {
		t.Errorf("the batch again: %+v, %v", repeated, err)
	}
	// Without a key a snooze could not be sent again, because its token is dead.
	x := s.accept(ctx, t, api.AcceptRequest{Behavior: name})[0]
	snooze := api.SnoozeRequest{ID: x.ID, Token: x.Lease.Token, AgainAt: after(time.Hour)}
	for range 2 {
		if got, err := s.Snooze(keyed(ctx, "snooze", 1), snooze); err != nil || got.Status != "CREATED" {
			t.Errorf("snooze under a key: %+v, %v", got, err)
		}
	}
	if stats, err := s.BehaviorStats(ctx, "", name); err != nil || stats.Due+stats.Delayed != 4 {
		t.Errorf("stats %+v, %v; want the four tasks that were submitted", stats, err)
	}
}
