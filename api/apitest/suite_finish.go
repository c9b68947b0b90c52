package apitest

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
)

// run submits a task of an external behavior and accepts it.
func (s *suite) run(ctx context.Context, t *testing.T, behavior, id string) *api.Task {
	t.Helper()
	s.must(ctx, t, api.SubmitRequest{Behavior: behavior, ID: id})
	x := s.acceptOne(ctx, t, behavior)
	if x.ID != id {
		t.Fatalf("accepted %s, want %s", x.ID, id)
	}
	return x
}

func (s *suite) finish(ctx context.Context, t *testing.T) {
	const name = "apitest.finish"
	s.external(ctx, t, name, `,"retry":{"max_attempts":2,"initial_interval":"10ms"}`)
	must := func(r api.FinishRequest) *api.FinishReply {
		t.Helper()
		reply, err := s.Finish(ctx, r)
		if err != nil {
			t.Fatalf("finish %+v: %v", r, err)
		}
		return reply
	}
	x := s.run(ctx, t, name, "finish-1")
	good := api.FinishRequest{ID: x.ID, Token: x.Lease.Token, Result: json.RawMessage(`{ "n": 1 }`)}
	if r := must(good); r.Repeated || r.Task.Status != "SUCCESS" || !r.Task.Final || string(r.Task.Result) != `{"n":1}` || r.Task.Lease != nil {
		t.Errorf("finished %+v", r.Task)
	}
	if r := must(good); !r.Repeated || r.Task.Status != "SUCCESS" {
		t.Errorf("the same again: %+v", r)
	}
	short := good
	short.Minimal = true
	if r := must(short); !r.Repeated || r.Task.ID != x.ID || r.Task.Status != "SUCCESS" || !reflect.DeepEqual(r.Task, r.Task.Minimal()) {
		t.Errorf("the short answer: %+v", r.Task)
	}
	if rs, err := s.FinishMany(ctx, []api.FinishRequest{short}); err != nil || rs[0].Error != nil || !rs[0].Repeated || !reflect.DeepEqual(rs[0].Task, rs[0].Task.Minimal()) {
		t.Errorf("the short answer of many: %v, %+v", err, rs)
	}
	other := good
	other.Result = json.RawMessage(`2`)
	_, err := s.Finish(ctx, other)
	wantError(t, err, "halt", "")

	x = s.run(ctx, t, name, "finish-bytes")
	if r := must(api.FinishRequest{ID: x.ID, Token: x.Lease.Token, ResultBase64: []byte{0, 255}}); string(r.Task.ResultBase64) != "\x00\xff" || r.Task.Result != nil {
		t.Errorf("bytes: %+v", r.Task)
	}
	// Without a result the last progress is the result. Without progress the result is null.
	x = s.run(ctx, t, name, "finish-progress")
	if _, err := s.Heartbeat(ctx, api.HeartbeatRequest{ID: x.ID, Token: x.Lease.Token, Progress: json.RawMessage(`"half"`)}); err != nil {
		t.Fatal(err)
	}
	if r := must(api.FinishRequest{ID: x.ID, Token: x.Lease.Token}); string(r.Task.Result) != `"half"` {
		t.Errorf("the progress as result: %s", r.Task.Result)
	}
	x = s.run(ctx, t, name, "finish-nothing")
	if r := must(api.FinishRequest{ID: x.ID, Token: x.Lease.Token}); string(r.Task.Result) != `null` || r.Task.Status != "SUCCESS" {
		t.Errorf("nothing as result: %+v", r.Task)
	}
	// again_at with a result makes a SUCCESS that runs once more at this time (SPEC R4).
	x = s.run(ctx, t, name, "finish-again")
	again := after(time.Hour)
	if r := must(api.FinishRequest{ID: x.ID, Token: x.Lease.Token, AgainAt: again}); r.Task.Status != "SUCCESS" || r.Task.Final || !r.Task.NotBefore.Equal(again.Time) {
		t.Errorf("again: %+v", r.Task)
	}
}

func (s *suite) finishError(ctx context.Context, t *testing.T) {
	const name = "apitest.failing"
	s.external(ctx, t, name, `,"retry":{"max_attempts":2,"initial_interval":"10ms"}`)
	fail := func(x *api.Task, e api.ReportError, again *api.Time) *api.Task {
		t.Helper()
		reply, err := s.Finish(ctx, api.FinishRequest{ID: x.ID, Token: x.Lease.Token, Error: &e, AgainAt: again})
		if err != nil {
			t.Fatal(err)
		}
		return reply.Task
	}
	x := s.run(ctx, t, name, "failing-1")
	got := fail(x, api.ReportError{Code: "no.disk", Message: "full", Details: json.RawMessage(`{"left":0}`)}, nil)
	if got.Status != "FAILURE" || got.Final || got.Error.Code != "no.disk" || got.Error.Message != "full" || !got.Error.Retryable || string(got.Error.Details) != `{"left":0}` {
		t.Errorf("failed %+v, error %+v", got, got.Error)
	}
	x = s.acceptOne(ctx, t, name) // its retry
	if got := fail(x, api.ReportError{}, nil); !got.Final || got.Error.Code != "HANDLER_ERROR" || got.Failures != 2 {
		t.Errorf("failed for good %+v, error %+v", got, got.Error)
	}
	x = s.run(ctx, t, name, "failing-2")
	if got := fail(x, api.ReportError{Code: "bad", Retryable: new(bool)}, nil); !got.Final || got.Error.Retryable {
		t.Errorf("not retryable: %+v", got)
	}
	x = s.run(ctx, t, name, "failing-3")
	again := after(time.Hour)
	if got := fail(x, api.ReportError{Code: "later"}, again); got.Final || got.Status != "FAILURE" || got.Failures != 1 || !got.NotBefore.Equal(again.Time) {
		t.Errorf("again later: %+v", got)
	}
}

// finishProgress: a task that has ended shows how far its run had come, also if no heartbeat told it (SPEC J4).
func (s *suite) finishProgress(ctx context.Context, t *testing.T) {
	const name = "apitest.progress"
	s.external(ctx, t, name, "")
	x := s.run(ctx, t, name, "progress-1")
	snoozed, err := s.Snooze(ctx, api.SnoozeRequest{ID: x.ID, Token: x.Lease.Token, Progress: json.RawMessage(`{"at":1}`), AgainAt: new(api.TimeOf(1))})
	if err != nil || string(snoozed.Progress) != `{"at":1}` {
		t.Errorf("snoozed: %+v, %v", snoozed, err)
	}
	x = s.accept(ctx, t, api.AcceptRequest{Behavior: name})[0]
	if _, err := s.Heartbeat(ctx, api.HeartbeatRequest{ID: x.ID, Token: x.Lease.Token, Progress: json.RawMessage(`{"at":2}`)}); err != nil {
		t.Fatal(err)
	}
	done, err := s.Finish(ctx, api.FinishRequest{ID: x.ID, Token: x.Lease.Token, Result: json.RawMessage(`"r"`), Progress: json.RawMessage(`{"at":3}`)})
	if err != nil || string(done.Task.Progress) != `{"at":3}` || string(done.Task.Result) != `"r"` {
		t.Errorf("finished: %+v, %v", done, err)
	}
	x = s.run(ctx, t, name, "progress-2") // without a result, the progress in the finish is the result
	if done, err = s.Finish(ctx, api.FinishRequest{ID: x.ID, Token: x.Lease.Token, Progress: json.RawMessage(`4`)}); err != nil || string(done.Task.Result) != `4` {
		t.Errorf("without a result: %+v, %v", done, err)
	}
	x = s.run(ctx, t, name, "progress-3")
	done, err = s.Finish(ctx, api.FinishRequest{ID: x.ID, Token: x.Lease.Token, Progress: json.RawMessage(`5`), Error: &api.ReportError{Retryable: new(bool)}})
	if err != nil || string(done.Task.Progress) != `5` || done.Task.Status != "FAILURE" {
		t.Errorf("failed: %+v, %v", done, err)
	}
	x = s.run(ctx, t, name, "progress-4")
	_, err = s.Finish(ctx, api.FinishRequest{ID: x.ID, Token: x.Lease.Token, Progress: huge()})
	wantError(t, err, "too_large", "progress")
}

// finishRefused: a report that is wrong changes nothing. A program gives codes of its own, in lower case. Of the host's codes
// it may give only the codes of runs (SPEC J4, T5).
func (s *suite) finishRefused(ctx context.Context, t *testing.T) {
	const name = "apitest.refused"
	s.external(ctx, t, name, "")
	x := s.run(ctx, t, name, "refused-1")
	with := func(change func(r *api.FinishRequest)) api.FinishRequest {
		r := api.FinishRequest{ID: x.ID, Token: x.Lease.Token}
		change(&r)
		return r
	}
	failing := func(e api.ReportError) api.FinishRequest {
		return with(func(r *api.FinishRequest) { r.Error = &e })
	}
	for _, c := range []struct {
		code, field string
		r           api.FinishRequest
	}{
		{"invalid_field", "token", with(func(r *api.FinishRequest) { r.Token = 0 })},
		{"invalid_field", "result_base64", with(func(r *api.FinishRequest) { r.Result, r.ResultBase64 = json.RawMessage(`1`), []byte{1} })},
		{"invalid_field", "error", with(func(r *api.FinishRequest) { r.Result, r.Error = json.RawMessage(`1`), &api.ReportError{} })},
		{"invalid_field", "result", with(func(r *api.FinishRequest) { r.Result = json.RawMessage(`nothing`) })},
		{"invalid_field", "error.code", failing(api.ReportError{Code: "Not Good"})},
		{"invalid_field", "error.code", failing(api.ReportError{Code: strings.Repeat("c", api.MaxCode+1)})},
		{"invalid_field", "error.code", failing(api.ReportError{Code: "CANCELLED"})},
		{"too_large", "error.details", failing(api.ReportError{Details: huge()})},
		{"invalid_field", "again_at", with(func(r *api.FinishRequest) {
			r.Error, r.AgainAt = &api.ReportError{Retryable: new(bool)}, after(time.Hour)
		})},
		{"invalid_field", "again_at", with(func(r *api.FinishRequest) { r.AgainAt = new(api.TimeOf(-1)) })},
		{"halt", "", with(func(r *api.FinishRequest) { r.Token++ })},
		{"halt", "", with(func(r *api.FinishRequest) { r.ID = "refused-nobody" })},
	} {
		_, err := s.Finish(ctx, c.r)
		wantError(t, err, c.code, c.field)
	}
	if got, err := s.Task(ctx, "", x.ID, api.GetOptions{}); err != nil || got.Status != "RUNNING" {
		t.Errorf("after what was refused: %+v, %v", got, err)
	}
	long := &api.ReportError{Code: strings.Repeat("c", api.MaxCode), Message: strings.Repeat("日", api.MaxMessage)}
	got, err := s.Finish(ctx, api.FinishRequest{ID: x.ID, Token: x.Lease.Token, Error: long})
	if err != nil || !strings.HasPrefix(got.Task.Error.Message, "日日") || len(got.Task.Error.Message) > api.MaxMessage ||
		!strings.HasSuffix(got.Task.Error.Message, "日… (clipped: 12288 bytes)") {
		t.Errorf("the longest code, and a message that is clipped: %+v, %v", got, err)
	}
}

func (s *suite) finishMany(ctx context.Context, t *testing.T) {
	const name = "apitest.bulk"
	s.external(ctx, t, name, "")
	for _, id := range []string{"bulk-0", "bulk-1", "bulk-2"} {
		s.must(ctx, t, api.SubmitRequest{Behavior: name, ID: id})
	}
	x := s.accept(ctx, t, api.AcceptRequest{Behavior: name, Max: 3})
	if len(x) != 3 {
		t.Fatalf("accepted %s", ids(x))
	}
	reports := []api.FinishRequest{
		{ID: x[0].ID, Token: x[0].Lease.Token, Result: json.RawMessage(`0`)},
		{ID: x[1].ID, Token: x[1].Lease.Token + 1000},
		{ID: x[1].ID, Token: 0},
		{ID: x[2].ID, Token: x[2].Lease.Token, Error: &api.ReportError{Code: "bad", Retryable: new(bool)}},
		{ID: x[0].ID, Token: x[0].Lease.Token, Result: json.RawMessage(`1`)},
	}
	results, err := s.FinishMany(ctx, reports)
	if err != nil || len(results) != len(reports) {
		t.Fatalf("%d results, %v", len(results), err)
	}
	if r := results[0]; r.Error != nil || string(r.Task.Result) != `0` || r.Task.Status != "SUCCESS" {
		t.Errorf("first %+v", r)
	}
	if r := results[3]; r.Error != nil || r.Task.Error.Code != "bad" || !r.Task.Final {
		t.Errorf("fourth %+v", r)
	}
	for i, code := range map[int]string{1: "halt", 2: "invalid_field"} {
		if r := results[i]; r.Error == nil || r.Error.Code != code || r.Error.Status == 0 || r.FinishReply != nil {
			t.Errorf("result %d: %+v, want %s", i, r, code)
		}
	}
	if r := results[4]; r.Error == nil || r.Error.Code != "invalid_field" || r.Error.Field != "id" || r.FinishReply != nil {
		t.Errorf("a second report of one task: %+v", r)
	}
	if _, err := s.FinishMany(ctx, make([]api.FinishRequest, api.MaxReports+1)); !isError(err, "too_large") {
		t.Errorf("too many: %v", err)
	}
	if results, err := s.FinishMany(ctx, nil); err != nil || len(results) != 0 {
		t.Errorf("none: %v, %v", results, err)
	}
}

func (s *suite) snooze(ctx context.Context, t *testing.T) {
	const name = "apitest.snooze"
	s.external(ctx, t, name, "")
	x := s.run(ctx, t, name, "snooze-1")
	got, err := s.Snooze(ctx, api.SnoozeRequest{ID: x.ID, Token: x.Lease.Token, Checkpoint: json.RawMessage(`{"at":1}`)})
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != "CREATED" || got.Lease != nil || string(got.Checkpoint) != `{"at":1}` || got.Failures != 0 || got.LostCount != 0 {
		t.Errorf("snoozed %+v", got)
	}
	x = s.acceptOne(ctx, t, name) // a second later
	if string(x.Checkpoint) != `{"at":1}` || x.Attempt != 2 {
		t.Errorf("accepted after the snooze: %+v", x)
	}
	at := after(time.Hour)
	if got, err = s.Snooze(ctx, api.SnoozeRequest{ID: x.ID, Token: x.Lease.Token, AgainAt: at}); err != nil || !got.NotBefore.Equal(at.Time) {
		t.Errorf("snoozed until %v: %+v, %v", at, got, err)
	}
	_, err = s.Snooze(ctx, api.SnoozeRequest{ID: x.ID, Token: x.Lease.Token, AgainAt: at})
	wantError(t, err, "halt", "")
	_, err = s.Snooze(ctx, api.SnoozeRequest{ID: x.ID})
	wantError(t, err, "invalid_field", "token")
	_, err = s.Snooze(ctx, api.SnoozeRequest{ID: x.ID, Token: 1, AgainAt: new(api.TimeOf(-1))})
	wantError(t, err, "invalid_field", "again_at")
}

// fuel: the entry of an attempt says how much fuel and memory its guest used (SPEC U1), the same for the same work. An attempt that is reported over
// HTTP has none, because nobody metered it.
func (s *suite) fuel(ctx context.Context, t *testing.T) {
	used := func(id string) int64 {
		t.Helper()
		done := s.final(ctx, t, s.must(ctx, t, api.SubmitRequest{Behavior: okBehavior, ID: id}).ID)
		if len(done.History) != 1 {
			t.Fatalf("history %+v", done.History)
		}
		if peak := done.History[0].PeakMemoryBytes; peak <= 0 || peak%(64<<10) != 0 {
			t.Errorf("%d bytes of memory", peak)
		}
		return done.History[0].FuelUsed
	}
	if one, two := used("fuel-1"), used("fuel-2"); one != two || one <= 0 {
		t.Errorf("%d units used, then %d for the same", one, two)
	}
	const name = "apitest.fuel"
	s.external(ctx, t, name, "")
	x := s.run(ctx, t, name, "fuel-external")
	r, err := s.Finish(ctx, api.FinishRequest{ID: x.ID, Token: x.Lease.Token})
	if err != nil {
		t.Fatal(err)
	}
	if h := r.Task.History; len(h) != 1 || h[0].FuelUsed != 0 || h[0].PeakMemoryBytes != 0 {
		t.Errorf("history of what was run over HTTP: %+v", h)
	}
}
