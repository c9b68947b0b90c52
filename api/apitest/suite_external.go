package apitest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
)

// external defines an external behavior with a lease of a minute. more has the other fields of its policy: `,"name":value`.
func (s *suite) external(ctx context.Context, t *testing.T, name, more string) *api.BehaviorDetail {
	t.Helper()
	reply, err := s.PutBehavior(ctx, api.PutBehaviorRequest{Name: name, Policy: json.RawMessage(`{"kind":"external","lease":"1m"` + more + `}`)})
	if err != nil {
		t.Fatalf("put %s: %v", name, err)
	}
	return reply.Behavior
}

// accept takes tasks of a behavior. It waits for the first.
func (s *suite) accept(ctx context.Context, t *testing.T, r api.AcceptRequest) []*api.Task {
	t.Helper()
	if r.Wait == nil {
		r.Wait = duration(patience)
	}
	if r.Worker == "" {
		r.Worker = "suite"
	}
	reply, err := s.Accept(ctx, r)
	if err != nil {
		t.Fatalf("accept %+v: %v", r, err)
	}
	for _, x := range reply.Tasks {
		l := x.Lease
		if x.Status != "RUNNING" || x.Behavior != r.Behavior || l == nil || l.Token == 0 || !l.External || l.Worker != r.Worker || l.LeaseMS <= 0 || l.LostNotBefore == nil {
			t.Errorf("accepted %+v with lease %+v", x, l)
		}
	}
	return reply.Tasks
}

// acceptOne takes one task, and there must be exactly one.
func (s *suite) acceptOne(ctx context.Context, t *testing.T, behavior string) *api.Task {
	t.Helper()
	tasks := s.accept(ctx, t, api.AcceptRequest{Behavior: behavior, Max: 2})
	if len(tasks) != 1 {
		t.Fatalf("accepted %d tasks, want 1", len(tasks))
	}
	return tasks[0]
}

// none checks that there is nothing to accept now.
func (s *suite) none(ctx context.Context, t *testing.T, behavior string) {
	t.Helper()
	if tasks := s.accept(ctx, t, api.AcceptRequest{Behavior: behavior, Wait: duration(0)}); tasks == nil || len(tasks) != 0 {
		t.Errorf("accepted %v, want an empty list", tasks)
	}
}

func duration(d time.Duration) *api.Duration { return new(api.Duration(d)) }

// after returns a time in the future, with the precision of times on the wire.
func after(d time.Duration) *api.Time { return new(api.TimeOf(time.Now().Add(d).UnixMilli())) }

func (s *suite) acceptTasks(ctx context.Context, t *testing.T) {
	const name = "apitest.accept"
	s.external(ctx, t, name, "")
	s.none(ctx, t, name)
	// A submit wakes an accept that waits. The params come along.
	got := make(chan []*api.Task, 1)
	go func() {
		reply, err := s.Accept(ctx, api.AcceptRequest{Behavior: name, Worker: "waiting", Wait: duration(patience)})
		if err != nil {
			t.Error(err)
			reply = &api.AcceptReply{}
		}
		got <- reply.Tasks
	}()
	s.must(ctx, t, api.SubmitRequest{Behavior: name, ID: "accept-1", Params: json.RawMessage(`{"n":1}`)})
	woken := <-got
	if len(woken) != 1 || woken[0].ID != "accept-1" || string(woken[0].Params) != `{"n":1}` || woken[0].Attempt != 1 || woken[0].Version == "" {
		t.Fatalf("the one who waited got %+v", woken)
	}
	s.none(ctx, t, name) // because every task goes to one acceptor
	// A repeated request gets the same tasks. Another request gets tasks that are left, in order, and no more than it asks for.
	for i := 2; i <= 5; i++ {
		s.must(ctx, t, api.SubmitRequest{Behavior: name, ID: fmt.Sprintf("accept-%d", i)})
	}
	request := api.AcceptRequest{Behavior: name, Max: 2, RequestID: "once", Lease: duration(10 * time.Minute)}
	first, again := s.accept(ctx, t, request), s.accept(ctx, t, request)
	if ids(first) != "accept-2 accept-3" || ids(again) != ids(first) || first[0].Lease.Token != again[0].Lease.Token {
		t.Errorf("first %s, again %s", ids(first), ids(again))
	}
	if ms := first[0].Lease.LeaseMS; ms < 9*60_000 || ms > 10*60_000 {
		t.Errorf("a lease of 10m has %d ms left", ms)
	}
	if rest := s.accept(ctx, t, api.AcceptRequest{Behavior: name, Max: 10}); ids(rest) != "accept-4 accept-5" {
		t.Errorf("the rest: %s", ids(rest))
	}
	workers, err := s.Workers(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if w := workerOf(workers, "waiting"); w.Kind != "external" || w.Running != 1 {
		t.Errorf("workers %+v", workers)
	}
}

func workerOf(all []api.Worker, id string) api.Worker {
	for _, w := range all {
		if w.ID == id {
			return w
		}
	}
	return api.Worker{}
}

func ids(tasks []*api.Task) string {
	var all []string
	for _, t := range tasks {
		all = append(all, t.ID)
	}
	return strings.Join(all, " ")
}

func (s *suite) acceptEarly(ctx context.Context, t *testing.T) {
	const name = "apitest.early"
	s.external(ctx, t, name, "")
	s.must(ctx, t, api.SubmitRequest{Behavior: name, ID: "early-1", Delay: duration(time.Hour)})
	s.none(ctx, t, name)
	if tasks := s.accept(ctx, t, api.AcceptRequest{Behavior: name, MaxNotBefore: after(2 * time.Hour)}); ids(tasks) != "early-1" {
		t.Errorf("accepted %s, want early-1 before its time", ids(tasks))
	}
	// A task that becomes due wakes an accept that waits.
	s.must(ctx, t, api.SubmitRequest{Behavior: name, ID: "early-2", Delay: duration(50 * time.Millisecond)})
	if got := s.acceptOne(ctx, t, name); got.ID != "early-2" {
		t.Errorf("accepted %s, want early-2 at its time", got.ID)
	}
	// A client that hung up waits no longer. A server may see this a moment too late: then the task comes back when its lease
	// ends.
	gone, hangUp := context.WithCancel(ctx)
	time.AfterFunc(20*time.Millisecond, hangUp)
	if _, err := s.Accept(gone, api.AcceptRequest{Behavior: name, Worker: "gone", Wait: duration(patience), Lease: duration(time.Second)}); err == nil {
		t.Error("an accept whose caller has gone returns no error")
	}
	s.must(ctx, t, api.SubmitRequest{Behavior: name, ID: "early-3"})
	if got := s.acceptOne(ctx, t, name); got.ID != "early-3" || got.Lease.Worker != "suite" {
		t.Errorf("accepted %+v, want early-3 for who is still there", got)
	}
}

func (s *suite) acceptRefused(ctx context.Context, t *testing.T) {
	const name = "apitest.refuse"
	s.external(ctx, t, name, "")
	ok := func(change func(r *api.AcceptRequest)) api.AcceptRequest {
		r := api.AcceptRequest{Behavior: name, Worker: "w"}
		change(&r)
		return r
	}
	for _, c := range []struct {
		code, field string
		r           api.AcceptRequest
	}{
		{"invalid_field", "worker", ok(func(r *api.AcceptRequest) { r.Worker = "" })},
		{"invalid_field", "worker", ok(func(r *api.AcceptRequest) { r.Worker = strings.Repeat("w", api.MaxWorker+1) })},
		{"invalid_field", "worker", ok(func(r *api.AcceptRequest) { r.Worker = "a\nb" })},
		{"invalid_field", "max", ok(func(r *api.AcceptRequest) { r.Max = -1 })},
		{"invalid_field", "max", ok(func(r *api.AcceptRequest) { r.Max = api.MaxAccept + 1 })},
		{"invalid_field", "wait", ok(func(r *api.AcceptRequest) { r.Wait = duration(-time.Second) })},
		{"invalid_field", "lease", ok(func(r *api.AcceptRequest) { r.Lease = duration(time.Second - 1) })},
		{"invalid_field", "lease", ok(func(r *api.AcceptRequest) { r.Lease = duration(time.Hour + 1) })},
		{"invalid_field", "request_id", ok(func(r *api.AcceptRequest) { r.RequestID = strings.Repeat("r", api.MaxWorker+1) })},
		{"invalid_field", "max_not_before", ok(func(r *api.AcceptRequest) { r.MaxNotBefore = &api.Time{} })},
		{"invalid_field", "name", ok(func(r *api.AcceptRequest) { r.Behavior = "A B" })},
		{"namespace_not_found", "namespace", ok(func(r *api.AcceptRequest) { r.Namespace = "nowhere" })},
		{"behavior_not_found", "", ok(func(r *api.AcceptRequest) { r.Behavior = "apitest.nobody" })},
		{"not_external", "", ok(func(r *api.AcceptRequest) { r.Behavior = okBehavior })},
	} {
		_, err := s.Accept(ctx, c.r)
		wantError(t, err, c.code, c.field)
	}
}

// heartbeat: a heartbeat keeps the lease, stores what it brings, and is refused if the token is not current (SPEC J3, L3).
func (s *suite) heartbeat(ctx context.Context, t *testing.T) {
	const name = "apitest.beat"
	s.external(ctx, t, name, "")
	s.must(ctx, t, api.SubmitRequest{Behavior: name, ID: "beat-1"})
	x := s.acceptOne(ctx, t, name)
	beat := api.HeartbeatRequest{ID: x.ID, Token: x.Lease.Token}
	with := func(change func(r *api.HeartbeatRequest)) api.HeartbeatRequest {
		r := beat
		change(&r)
		return r
	}
	must := func(r api.HeartbeatRequest) *api.HeartbeatReply {
		t.Helper()
		reply, err := s.Heartbeat(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	before, _ := s.Task(ctx, "", x.ID, api.GetOptions{})
	if reply := must(beat); reply.LeaseMS < 30_000 || reply.LeaseMS > 60_000 || reply.LostNotBefore.IsZero() || reply.Resubmit || reply.Cancel {
		t.Errorf("heartbeat %+v", reply)
	}
	if got, err := s.Task(ctx, "", x.ID, api.GetOptions{}); err != nil || got.Rev != before.Rev {
		t.Errorf("a heartbeat that only renews made rev %d of %d, %v", got.Rev, before.Rev, err)
	}
	if reply := must(with(func(r *api.HeartbeatRequest) { r.Extend = duration(time.Hour) })); reply.LeaseMS < 59*60_000 {
		t.Errorf("extended by an hour: %+v", reply)
	}
	must(with(func(r *api.HeartbeatRequest) {
		r.Seq, r.Progress, r.Checkpoint = 2, json.RawMessage(`{ "done": 0.5 }`), json.RawMessage(`"here"`)
	}))
	must(with(func(r *api.HeartbeatRequest) { r.Seq, r.Progress = 1, json.RawMessage(`"late"`) }))
	if got, _ := s.Task(ctx, "", x.ID, api.GetOptions{}); string(got.Progress) != `{"done":0.5}` || string(got.Checkpoint) != `"here"` {
		t.Errorf("progress %s, checkpoint %s", got.Progress, got.Checkpoint)
	}
	must(with(func(r *api.HeartbeatRequest) { r.CheckpointBase64 = []byte{0, 255} }))
	if got, _ := s.Task(ctx, "", x.ID, api.GetOptions{}); string(got.CheckpointBase64) != "\x00\xff" {
		t.Errorf("checkpoint %q", got.CheckpointBase64)
	}
	for _, c := range []struct {
		code, field string
		r           api.HeartbeatRequest
	}{
		{"invalid_field", "token", with(func(r *api.HeartbeatRequest) { r.Token = 0 })},
		{"invalid_field", "id", with(func(r *api.HeartbeatRequest) { r.ID = "x" })},
		{"invalid_field", "progress", with(func(r *api.HeartbeatRequest) { r.Progress = json.RawMessage(`{`) })},
		{"invalid_field", "progress", with(func(r *api.HeartbeatRequest) { r.Progress = json.RawMessage("\"\xff\"") })},
		{"too_large", "progress", with(func(r *api.HeartbeatRequest) { r.Progress = huge() })},
		{"invalid_field", "checkpoint_base64", with(func(r *api.HeartbeatRequest) { r.Checkpoint, r.CheckpointBase64 = json.RawMessage(`1`), []byte{1} })},
		{"invalid_field", "extend", with(func(r *api.HeartbeatRequest) { r.Extend = duration(2 * time.Hour) })},
		{"halt", "", with(func(r *api.HeartbeatRequest) { r.Token++ })},
		{"halt", "", with(func(r *api.HeartbeatRequest) { r.ID = "beat-nobody" })},
	} {
		_, err := s.Heartbeat(ctx, c.r)
		wantError(t, err, c.code, c.field)
	}
}

// huge returns a JSON text with one byte more than fits where no blob may stand.
func huge() json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", api.MaxInline-1) + `"`) }

// notExternal: nobody can report over HTTP on a task that a session runs.
func (s *suite) notExternal(ctx context.Context, t *testing.T) {
	spin := s.must(ctx, t, api.SubmitRequest{Behavior: spinBehavior, ID: "not-external"})
	x := s.until(ctx, t, spin.ID, "running")
	_, err := s.Heartbeat(ctx, api.HeartbeatRequest{ID: x.ID, Token: x.Lease.Token})
	wantError(t, err, "not_external", "")
	_, err = s.Finish(ctx, api.FinishRequest{ID: x.ID, Token: x.Lease.Token})
	wantError(t, err, "not_external", "")
	_, err = s.Snooze(ctx, api.SnoozeRequest{ID: x.ID, Token: x.Lease.Token})
	wantError(t, err, "not_external", "")
	if got, err := s.Task(ctx, "", x.ID, api.GetOptions{}); err != nil || got.Status != "RUNNING" || got.Attempt != x.Attempt {
		t.Errorf("after the reports: %+v, %v", got, err)
	}
	if _, err := s.Cancel(ctx, "", x.ID); err != nil {
		t.Fatal(err)
	}
	s.final(ctx, t, x.ID)
}

func (s *suite) leaseLost(ctx context.Context, t *testing.T) {
	const name = "apitest.lost"
	s.external(ctx, t, name, "")
	s.must(ctx, t, api.SubmitRequest{Behavior: name, ID: "lost-1"})
	tasks := s.accept(ctx, t, api.AcceptRequest{Behavior: name, Lease: duration(time.Second)})
	// Nobody renews the lease. So somebody else gets the task, and the old token is dead (SPEC J6, L4).
	x := s.acceptOne(ctx, t, name)
	if x.LostCount != 1 || x.Failures != 0 || x.Attempt != 2 || len(x.History) == 0 || x.History[0].Outcome != "LOST" {
		t.Errorf("accepted again %+v", x)
	}
	old := tasks[0].Lease.Token
	if x.Lease.Token <= old {
		t.Errorf("token %d after %d", x.Lease.Token, old)
	}
	_, err := s.Heartbeat(ctx, api.HeartbeatRequest{ID: x.ID, Token: old})
	wantError(t, err, "halt", "")
	_, err = s.Finish(ctx, api.FinishRequest{ID: x.ID, Token: old})
	wantError(t, err, "halt", "")
	if _, err := s.Finish(ctx, api.FinishRequest{ID: x.ID, Token: x.Lease.Token}); err != nil {
		t.Fatal(err)
	}
}

func (s *suite) cancelExternal(ctx context.Context, t *testing.T) {
	const name = "apitest.cancel"
	s.external(ctx, t, name, `,"cancel_grace":"300ms"`)
	for _, id := range []string{"cancelled-1", "cancelled-2", "cancelled-3"} {
		s.must(ctx, t, api.SubmitRequest{Behavior: name, ID: id})
	}
	tasks := s.accept(ctx, t, api.AcceptRequest{Behavior: name, Max: 3})
	if len(tasks) != 3 {
		t.Fatalf("accepted %s", ids(tasks))
	}
	cancel := func(x *api.Task) {
		t.Helper()
		if reply, err := s.Cancel(ctx, "", x.ID); err != nil || !reply.Told {
			t.Fatalf("cancel: %+v, %v", reply, err)
		}
	}
	// A success within the grace is honoured. A failure counts as the cancel. The grace is short: a report that comes late gets
	// halt.
	cancel(tasks[0])
	reply, err := s.Finish(ctx, api.FinishRequest{ID: tasks[0].ID, Token: tasks[0].Lease.Token, Result: json.RawMessage(`"done"`)})
	if err == nil && (reply.Task.Status != "SUCCESS" || string(reply.Task.Result) != `"done"`) || err != nil && api.CodeOf(err) != "halt" {
		t.Errorf("a success within the grace: %+v, %v", reply, err)
	}
	cancel(tasks[1])
	beat, err := s.Heartbeat(ctx, api.HeartbeatRequest{ID: tasks[1].ID, Token: tasks[1].Lease.Token, Extend: duration(time.Minute)})
	if err == nil && (!beat.Cancel || beat.LeaseMS > 300) || err != nil && api.CodeOf(err) != "halt" {
		t.Errorf("a heartbeat within the grace: %+v, %v", beat, err)
	}
	failed, err := s.Finish(ctx, api.FinishRequest{ID: tasks[1].ID, Token: tasks[1].Lease.Token, Error: &api.ReportError{Message: "stopped"}})
	if err == nil && (failed.Task.Error == nil || failed.Task.Error.Code != "CANCELLED") || err != nil && api.CodeOf(err) != "halt" {
		t.Errorf("a failure within the grace: %+v, %v", failed, err)
	}
	// A worker that says nothing loses the token at the end of the grace.
	cancel(tasks[2])
	if done := s.final(ctx, t, tasks[2].ID); done.Error == nil || done.Error.Code != "CANCELLED" {
		t.Errorf("after the grace: %+v", done)
	}
	_, err = s.Finish(ctx, api.FinishRequest{ID: tasks[2].ID, Token: tasks[2].Lease.Token})
	wantError(t, err, "halt", "")
}

// limits: a task that a behavior's limits hold up is not handed out (SPEC L11).
func (s *suite) limits(ctx context.Context, t *testing.T) {
	const name = "apitest.limits"
	s.external(ctx, t, name, `,"max_concurrent":2,"concurrency_key":"/k","max_per_key":1`)
	for i, key := range []string{"a", "a", "b", "c"} {
		s.must(ctx, t, api.SubmitRequest{Behavior: name, ID: fmt.Sprintf("limit-%d", i), Params: json.RawMessage(`{"k":"` + key + `"}`)})
	}
	first := s.accept(ctx, t, api.AcceptRequest{Behavior: name, Max: 10})
	if ids(first) != "limit-0 limit-2" {
		t.Fatalf("accepted %s, want one per key and two in all", ids(first))
	}
	s.none(ctx, t, name)
	if _, err := s.Finish(ctx, api.FinishRequest{ID: "limit-0", Token: first[0].Lease.Token}); err != nil {
		t.Fatal(err)
	}
	if next := s.acceptOne(ctx, t, name); next.ID != "limit-1" {
		t.Errorf("accepted %s, want limit-1, whose key is free now", next.ID)
	}
}

func isError(err error, code string) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && e.Code == code
}
