package apitest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/cursor"
)

// These are the behaviors of operations. Behaviors of ModuleOdd fail if their index is odd. Behaviors of ModuleSpin end when
// they are cancelled.
const (
	oddManifest = `{"schema":1,"behaviors":[
		{"name":"apitest.op","operation":{"concurrency":"one_per_target","complete":"apitest.op.done","cleanup":"apitest.op.clean"}},
		{"name":"apitest.op.fails","operation":{"on_failure":"run_all","complete":"apitest.op.done","cleanup":"apitest.op.clean"}},
		{"name":"apitest.op.done"},
		{"name":"apitest.op.bad"},
		{"name":"apitest.op.unsure","operation":{"complete":"apitest.op.bad"}},
		{"name":"apitest.op.fast","operation":{}},
		{"name":"apitest.op.clean"},
		{"name":"apitest.op.unused"},
		{"name":"apitest.op.other","operation":{"incompatible_with":["apitest.op"]}},
		{"name":"apitest.op.unused2"},
		{"name":"apitest.op.each","operation":{"concurrency":"one_per_object"}}]}`
	spinOperation = `{"schema":1,"behaviors":[{"name":"apitest.op.spin","cancel_grace":"50ms","operation":{}}]}`
)

func (s *suite) pushOperations(ctx context.Context, t *testing.T) {
	t.Helper()
	for _, r := range []api.PushRequest{pushRequest("", oddManifest, ModuleOdd("ops")), pushRequest("", spinOperation, ModuleSpin("ops"))} {
		if _, err := s.Push(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
}

// start starts an operation. The Service must accept it.
func (s *suite) start(ctx context.Context, t *testing.T, r api.StartOperationRequest) *api.Operation {
	t.Helper()
	o, err := s.StartOperation(ctx, r)
	if err != nil {
		t.Fatalf("start %+v: %v", r, err)
	}
	return o
}

// ended waits for the end of an operation.
func (s *suite) ended(ctx context.Context, t *testing.T, id string) *api.Operation {
	t.Helper()
	o, err := s.Operation(ctx, "", id, api.OperationGet{Wait: patience})
	if err != nil || !o.Final() || o.FinishedAt == nil || o.Stopping {
		t.Fatalf("the end of %s: %+v, %v", id, o, err)
	}
	return o
}

func some(n int64) api.Partitions { return api.Partitions{Count: n} }

func (s *suite) operation(ctx context.Context, t *testing.T) {
	s.pushOperations(ctx, t)
	priority := 6
	o := s.start(ctx, t, api.StartOperationRequest{
		ID: "op-1", Behavior: "apitest.op", Target: "table <1>", Object: "ix", Partitions: api.Partitions{Names: []string{"a-f", "g m", "ü"}},
		Arg: json.RawMessage(`{ "deep": [1, "<b>"] }`), Labels: map[string]string{"team": "x"}, Priority: &priority,
	})
	if o.ID != "op-1" || o.Namespace != "default" || o.Behavior != "apitest.op" || o.Version == "" || o.Target != "table <1>" || o.Object != "ix" ||
		o.Instance != 1 || o.Partitions != 3 || string(o.Arg) != `{"deep":[1,"<b>"]}` || o.Rev == 0 || o.CreatedAt.IsZero() || o.Priority != 6 || o.Labels["team"] != "x" {
		t.Errorf("started %+v with arg %s", o, o.Arg)
	}
	done := s.ended(ctx, t, o.ID)
	if done.Status != "SUCCESS" || done.Counts != (api.OperationCounts{Success: 3}) || done.Completion != "op-1:complete" || done.Error != nil || done.Rev <= o.Rev {
		t.Errorf("ended %+v", done)
	}
	page := s.partitions(ctx, t, api.PartitionsRequest{ID: o.ID})
	if ids(page.Tasks) != "op-1:0 op-1:1 op-1:2" || page.Cursor != "" {
		t.Fatalf("partitions %s, cursor %q", ids(page.Tasks), page.Cursor)
	}
	for i, x := range page.Tasks {
		name := []string{"a-f", "g m", "ü"}[i]
		if x.Parent != o.ID || x.Partition != name || x.Status != "SUCCESS" || x.Version != o.Version || x.Labels["team"] != "x" || x.Priority != 6 {
			t.Errorf("partition %+v", x)
		}
		sameJSON(t, x.Params, `{"operation":"op-1","partition":"`+name+`","target":"table <1>","object":"ix","arg":{"deep":[1,"<b>"]}}`)
		got, err := s.Task(ctx, "", x.ID, api.GetOptions{})
		if err != nil || asJSON(t, got) != asJSON(t, x) {
			t.Errorf("get %s: %s, %v; listed as %s", x.ID, asJSON(t, got), err, asJSON(t, x))
		}
	}
	c, err := s.Task(ctx, "", done.Completion, api.GetOptions{})
	if err != nil || c.Behavior != "apitest.op.done" || c.Status != "SUCCESS" || c.Parent != o.ID {
		t.Fatalf("completion %+v, %v", c, err)
	}
	sameJSON(t, c.Params, `{"operation":"op-1","success":true,"target":"table <1>","object":"ix","arg":{"deep":[1,"<b>"]},
		"counts":{"waiting":0,"running":0,"retrying":0,"success":3,"failure":0}}`)
	all, err := s.Tasks(ctx, api.ListRequest{Parent: o.ID})
	if err != nil || ids(all.Tasks) != "op-1:0 op-1:1 op-1:2 op-1:complete" {
		t.Errorf("tasks of the operation: %s, %v", ids(all.Tasks), err)
	}
	if next := s.start(ctx, t, api.StartOperationRequest{Behavior: "apitest.op", Target: "table <1>", Partitions: some(1)}); next.Instance != 2 || next.ID == "" {
		t.Errorf("the next on the target: %+v", next)
	}
	if other := s.start(ctx, t, api.StartOperationRequest{Behavior: "apitest.op", Target: "another", Partitions: some(1)}); other.Instance != 1 {
		t.Errorf("the first on another target: %+v", other)
	}
}

// sameJSON compares texts as values.
func sameJSON(t *testing.T, got json.RawMessage, want string) {
	t.Helper()
	var a, b any
	if err := errors.Join(json.Unmarshal(got, &a), json.Unmarshal([]byte(want), &b)); err != nil || asJSON(t, a) != asJSON(t, b) {
		t.Errorf("got %s, want %s (%v)", got, want, err)
	}
}

func (s *suite) operationFails(ctx context.Context, t *testing.T) {
	s.pushOperations(ctx, t)
	// With run_all all partitions run, then the completion, and then the operation has failed.
	s.start(ctx, t, api.StartOperationRequest{ID: "op-all", Behavior: "apitest.op.fails", Partitions: some(3)})
	o := s.ended(ctx, t, "op-all")
	if o.Status != "FAILURE" || o.Counts != (api.OperationCounts{Failure: 3}) || o.Error == nil || o.Error.Code != "HANDLER_ERROR" || o.Result != nil {
		t.Errorf("run_all: %+v, %+v", o, o.Error)
	}
	if c, err := s.Task(ctx, "", o.Completion, api.GetOptions{}); err != nil || c.Status != "SUCCESS" || !strings.Contains(string(c.Params), `"success":false`) {
		t.Errorf("its completion: %+v, %v", c, err)
	}
	// There is one cleanup for each partition, by the worker that ran the partition.
	if o.Cleanups.Made+o.Cleanups.Dropped != 3 {
		t.Errorf("cleanups %+v", o.Cleanups)
	}
	// With fail_fast the first failure cancels the others.
	s.start(ctx, t, api.StartOperationRequest{ID: "op-fast", Behavior: "apitest.op.fast", Partitions: some(200)})
	if o = s.ended(ctx, t, "op-fast"); o.Status != "FAILURE" || o.Counts.Failure != 200 || o.Error.Code != "HANDLER_ERROR" || o.Completion != "" {
		t.Errorf("fail_fast: %+v, %+v", o, o.Error)
	}
	cancelled := s.partitions(ctx, t, api.PartitionsRequest{ID: "op-fast", Status: "FAILURE", Limit: 200}).Tasks
	if !slices.ContainsFunc(cancelled, func(x *api.Task) bool { return x.Error.Code == "CANCELLED" && x.Attempt == 0 }) {
		t.Error("fail_fast has cancelled nothing")
	}
	// The completion of this operation fails.
	s.start(ctx, t, api.StartOperationRequest{ID: "op-unsure", Behavior: "apitest.op.unsure", Partitions: some(2)})
	o = s.ended(ctx, t, "op-unsure")
	if o.Status != "FAILURE" || o.Counts.Success != 2 || o.Error == nil || o.Error.Code != "COMPLETION_FAILED" {
		t.Errorf("its completion fails: %+v, %+v", o, o.Error)
	}
	// Retry runs again what failed: here only the completion.
	again, err := s.RetryOperation(ctx, "", "op-unsure")
	if err != nil || again.Rev <= o.Rev {
		t.Fatalf("retry: %+v, %v", again, err)
	}
	o = s.ended(ctx, t, "op-unsure")
	if c, err := s.Task(ctx, "", o.Completion, api.GetOptions{}); o.Error.Code != "COMPLETION_FAILED" || err != nil || c.Attempt != 2 {
		t.Errorf("retried: %+v, completion %+v, %v", o, c, err)
	}
	if x, err := s.Task(ctx, "", "op-unsure:0", api.GetOptions{}); err != nil || x.Attempt != 1 {
		t.Errorf("a partition that had succeeded: %+v, %v", x, err)
	}
	if _, err = s.RetryOperation(ctx, "", "op-fast"); err != nil {
		t.Fatal(err)
	}
	if o = s.ended(ctx, t, "op-fast"); o.Status != "FAILURE" || o.Counts.Failure != 200 {
		t.Errorf("retried: %+v", o)
	}
}

func (s *suite) operationExcludes(ctx context.Context, t *testing.T) {
	s.pushOperations(ctx, t)
	for _, name := range []string{"apitest.op", "apitest.op.each", "apitest.op.other"} { // while they are paused their operations do not end
		if _, err := s.PauseBehavior(ctx, "", name, true); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := s.PauseBehavior(ctx, "", name, false); err != nil {
				t.Error(err)
			}
		}()
	}
	start := func(behavior, target, object string) (*api.Operation, error) {
		return s.StartOperation(ctx, api.StartOperationRequest{Behavior: behavior, Target: target, Object: object, Partitions: some(1)})
	}
	refused := func(by *api.Operation, behavior, target, object string) {
		t.Helper()
		_, err := start(behavior, target, object)
		wantError(t, err, "operation_conflict", fieldOf(err))
		if e, _ := errors.AsType[*api.Error](err); e.Operation == nil || e.Operation.ID != by.ID || e.Operation.Instance != by.Instance ||
			e.Operation.Status != "RUNNING" || e.Operation.Counts.Waiting != 1 || !strings.Contains(e.Detail, by.ID) {
			t.Errorf("the refusal names %+v: %s", e.Operation, e.Detail)
		}
	}
	begun := func(behavior, target, object string) *api.Operation {
		t.Helper()
		o, err := start(behavior, target, object)
		if err != nil {
			t.Fatalf("%s on %q, %q: %v", behavior, target, object, err)
		}
		return o
	}
	one := begun("apitest.op", "ex", "a")
	refused(one, "apitest.op", "ex", "b")
	refused(one, "apitest.op.other", "ex", "") // it is incompatible with the one that runs
	begun("apitest.op", "ex2", "a")
	other := begun("apitest.op.other", "ex3", "")
	refused(other, "apitest.op", "ex3", "") // the other way round
	begun("apitest.op.other", "ex3", "")
	each := begun("apitest.op.each", "ex", "a")
	refused(each, "apitest.op.each", "ex", "a")
	begun("apitest.op.each", "ex", "b")
	// The end of an operation frees the target.
	if _, err := s.CancelOperation(ctx, "", one.ID); err != nil {
		t.Fatal(err)
	}
	if o := s.ended(ctx, t, one.ID); o.Error == nil || o.Error.Code != "CANCELLED" {
		t.Errorf("cancelled while it waits: %+v", o)
	}
	next := begun("apitest.op", "ex", "a")
	if next.Instance <= one.Instance {
		t.Errorf("instance %d after %d", next.Instance, one.Instance)
	}
	_, err := s.RetryOperation(ctx, "", one.ID) // this would need the target again
	wantError(t, err, "operation_conflict", fieldOf(err))
}

func (s *suite) operationCancel(ctx context.Context, t *testing.T) {
	s.pushOperations(ctx, t)
	o := s.start(ctx, t, api.StartOperationRequest{ID: "op-spin", Behavior: "apitest.op.spin", Partitions: some(50)})
	s.until(ctx, t, "op-spin:0", "running")
	if got, err := s.Operation(ctx, "", o.ID, api.OperationGet{Wait: 20 * time.Millisecond}); err != nil || got.Status != "RUNNING" || got.Counts.Running == 0 || got.Completion != "" {
		t.Errorf("at the end of a wait: %+v, %v", got, err)
	}
	_, err := s.RetryOperation(ctx, "", o.ID)
	wantError(t, err, "operation_state", fieldOf(err))
	got, err := s.CancelOperation(ctx, "", o.ID)
	if err != nil || got.Rev <= o.Rev || !got.Final() && !got.Stopping {
		t.Errorf("cancel: %+v, %v", got, err)
	}
	got = s.ended(ctx, t, o.ID)
	if got.Status != "FAILURE" || got.Error == nil || got.Error.Code != "CANCELLED" || got.Counts.Failure != 50 {
		t.Errorf("cancelled: %+v, %+v", got, got.Error)
	}
	if again, err := s.CancelOperation(ctx, "", o.ID); err != nil || again.Rev != got.Rev {
		t.Errorf("cancel again: %+v, %v", again, err)
	}
	s.start(ctx, t, api.StartOperationRequest{ID: "op-over", Behavior: "apitest.op.other", Target: "over", Partitions: some(1)})
	s.ended(ctx, t, "op-over")
	_, err = s.CancelOperation(ctx, "", "op-over")
	wantError(t, err, "not_cancellable", fieldOf(err))
	_, err = s.RetryOperation(ctx, "", "op-over")
	wantError(t, err, "operation_state", fieldOf(err))
}

func (s *suite) operationList(ctx context.Context, t *testing.T) {
	s.pushOperations(ctx, t)
	var want []string
	for i := range 5 {
		id := fmt.Sprintf("op-list-%d", i)
		behavior := "apitest.op.other"
		if i == 4 {
			behavior = "apitest.op.fast"
		}
		s.start(ctx, t, api.StartOperationRequest{ID: id, Behavior: behavior, Target: "list", Partitions: some(3)})
		s.ended(ctx, t, id)
		want = append(want, id)
	}
	list := func(r api.OperationsRequest) (all []string) {
		t.Helper()
		for r.Target = "list"; ; {
			page, err := s.Operations(ctx, r)
			if err != nil {
				t.Fatalf("%+v: %v", r, err)
			}
			for _, o := range page.Operations {
				all = append(all, o.ID)
			}
			if r.Limit > 0 && len(page.Operations) > r.Limit {
				t.Errorf("%d on a page of %d", len(page.Operations), r.Limit)
			}
			if r.Cursor = page.Cursor; r.Cursor == "" {
				return all
			}
		}
	}
	if got := list(api.OperationsRequest{}); !slices.Equal(got, want) {
		t.Errorf("all: %v", got)
	}
	if got := list(api.OperationsRequest{Limit: 2}); !slices.Equal(got, want) {
		t.Errorf("in pages: %v", got)
	}
	if got := list(api.OperationsRequest{Status: "FAILURE"}); !slices.Equal(got, want[4:]) {
		t.Errorf("that failed: %v", got)
	}
	if got := list(api.OperationsRequest{Behavior: "apitest.op.other", Limit: 3}); !slices.Equal(got, want[:4]) {
		t.Errorf("of a behavior: %v", got)
	}
	first := s.partitions(ctx, t, api.PartitionsRequest{ID: want[0], Limit: 2})
	rest := s.partitions(ctx, t, api.PartitionsRequest{ID: want[0], Limit: 2, Cursor: first.Cursor})
	if ids(first.Tasks) != "op-list-0:0 op-list-0:1" || ids(rest.Tasks) != "op-list-0:2" || first.Cursor == "" || rest.Cursor != "" {
		t.Errorf("pages %s %q and %s %q", ids(first.Tasks), first.Cursor, ids(rest.Tasks), rest.Cursor)
	}
	if none := s.partitions(ctx, t, api.PartitionsRequest{ID: want[0], Status: "FAILURE"}); len(none.Tasks) != 0 {
		t.Errorf("that failed: %s", ids(none.Tasks))
	}
}

func (s *suite) operationWait(ctx context.Context, t *testing.T) {
	s.pushOperations(ctx, t)
	if _, err := s.PauseBehavior(ctx, "", "apitest.op.done", true); err != nil {
		t.Fatal(err)
	}
	o := s.start(ctx, t, api.StartOperationRequest{ID: "op-wait", Behavior: "apitest.op", Target: "wait", Partitions: some(2)})
	got, err := s.Operation(ctx, "", o.ID, api.OperationGet{Wait: patience, Until: "completing"})
	if err != nil || got.Status != "COMPLETING" || got.Counts.Success != 2 || got.Completion == "" {
		t.Errorf("until completing: %+v, %v", got, err)
	}
	_, err = s.CancelOperation(ctx, "", o.ID) // too late (SPEC O3)
	wantError(t, err, "operation_state", fieldOf(err))
	if got, err = s.Operation(ctx, "", o.ID, api.OperationGet{Wait: patience, Until: fmt.Sprintf("rev:%d", got.Rev)}); err != nil || got.Status != "COMPLETING" {
		t.Errorf("until a rev that it has: %+v, %v", got, err)
	}
	ended := make(chan *api.Operation, 1)
	go func() {
		o, err := s.Operation(ctx, "", o.ID, api.OperationGet{Wait: patience, Until: fmt.Sprintf("rev:%d", got.Rev+1)})
		if err != nil {
			t.Error(err)
		}
		ended <- o
	}()
	if _, err := s.PauseBehavior(ctx, "", "apitest.op.done", false); err != nil {
		t.Fatal(err)
	}
	if o := <-ended; o == nil || o.Status != "SUCCESS" {
		t.Errorf("until the next rev: %+v", o)
	}
	if o, err := s.Operation(ctx, "", o.ID, api.OperationGet{Wait: patience, Until: "rev:999999999999"}); err != nil || o.Status != "SUCCESS" {
		t.Errorf("a final state ends every wait: %+v, %v", o, err)
	}
}

func (s *suite) operationRefused(ctx context.Context, t *testing.T) {
	s.pushOperations(ctx, t)
	good := func(change func(*api.StartOperationRequest)) api.StartOperationRequest {
		r := api.StartOperationRequest{Behavior: "apitest.op.other", Target: "refused", Partitions: some(1)}
		change(&r)
		return r
	}
	s.start(ctx, t, good(func(r *api.StartOperationRequest) { r.ID = "op-exists" }))
	for _, c := range []struct {
		code, field string
		r           api.StartOperationRequest
	}{
		{"behavior_not_found", "behavior", good(func(r *api.StartOperationRequest) { r.Behavior = "apitest.nobody" })},
		{"not_an_operation", "behavior", good(func(r *api.StartOperationRequest) { r.Behavior = okBehavior })},
		{"namespace_not_found", "namespace", good(func(r *api.StartOperationRequest) { r.Namespace = "nowhere" })},
		{"already_exists", "id", good(func(r *api.StartOperationRequest) { r.ID = "op-exists" })},
		{"invalid_field", "id", good(func(r *api.StartOperationRequest) { r.ID = "op:1" })},
		{"invalid_field", "partitions", good(func(r *api.StartOperationRequest) { r.Partitions = some(api.MaxPartitions + 1) })},
		{"invalid_field", "partitions[1]", good(func(r *api.StartOperationRequest) { r.Partitions = api.Partitions{Names: []string{"a", "a"}} })},
		{"too_large", "arg", good(func(r *api.StartOperationRequest) { r.Arg = huge() })},
	} {
		_, err := s.StartOperation(ctx, c.r)
		wantError(t, err, c.code, c.field)
		if e, _ := errors.AsType[*api.Error](err); c.code == "already_exists" && (e.Operation == nil || e.Operation.ID != c.r.ID) {
			t.Errorf("the refusal shows %+v", e.Operation)
		}
	}
	for _, id := range []string{"op-nobody", "op:1"} {
		code, field := "operation_not_found", ""
		if id == "op:1" {
			code, field = "invalid_field", "id"
		}
		_, err := s.Operation(ctx, "", id, api.OperationGet{})
		wantError(t, err, code, field)
		_, err = s.Operation(ctx, "", id, api.OperationGet{Wait: time.Second})
		wantError(t, err, code, field)
		_, err = s.CancelOperation(ctx, "", id)
		wantError(t, err, code, field)
		_, err = s.RetryOperation(ctx, "", id)
		wantError(t, err, code, field)
		_, err = s.Partitions(ctx, api.PartitionsRequest{ID: id})
		wantError(t, err, code, field)
		wantError(t, s.RemoveOperation(ctx, "", id), code, field)
	}
	_, err := s.Operation(ctx, "nowhere", "op-exists", api.OperationGet{})
	wantError(t, err, "namespace_not_found", "namespace")
	_, err = s.Operation(ctx, "", "op-exists", api.OperationGet{Until: "soon"})
	wantError(t, err, "invalid_field", "until")
	for _, c := range []string{"zzz", "100000", cursor.Tasks.Text(1)} { // no cursors, and a cursor of another list
		_, err := s.Operations(ctx, api.OperationsRequest{Cursor: c})
		wantError(t, err, "invalid_field", "cursor")
		_, err = s.Partitions(ctx, api.PartitionsRequest{ID: "op-exists", Cursor: c})
		wantError(t, err, "invalid_field", "cursor")
	}
	for field, r := range map[string]api.OperationsRequest{
		"status": {Status: "DONE"}, "limit": {Limit: -1}, "cursor": {Cursor: "no cursor!"}, "namespace": {Namespace: "/"},
	} {
		_, err := s.Operations(ctx, r)
		wantError(t, err, "invalid_field", field)
	}
	for field, r := range map[string]api.PartitionsRequest{"status": {Status: "DONE"}, "limit": {Limit: 1001}, "cursor": {Cursor: "100000"}} {
		r.ID = "op-exists"
		_, err := s.Partitions(ctx, r)
		wantError(t, err, "invalid_field", field)
	}
}

// operationOnce: a start under a key is done once; an ID that the server draws is drawn once.
func (s *suite) operationOnce(ctx context.Context, t *testing.T) {
	s.pushOperations(ctx, t)
	r := api.StartOperationRequest{Behavior: "apitest.op", Target: "once", Partitions: some(2)}
	first, err := s.StartOperation(keyed(ctx, "op-start", 1), r)
	if err != nil {
		t.Fatal(err)
	}
	s.ended(ctx, t, first.ID)
	again, err := s.StartOperation(keyed(ctx, "op-start", 1), r)
	if err != nil || again.ID != first.ID || again.Instance != first.Instance {
		t.Errorf("the same again: %+v, %v; want %s", again, err, first.ID)
	}
	r.Arg = json.RawMessage(`2`)
	_, err = s.StartOperation(keyed(ctx, "op-start", 2), r)
	wantError(t, err, "idempotency_mismatch", fieldOf(err))
	all, err := s.Operations(ctx, api.OperationsRequest{Target: "once"})
	if err != nil || len(all.Operations) != 1 {
		t.Errorf("started %d, %v", len(all.Operations), err)
	}
}

// operationEvents: whoever watches the ID of an operation as a parent sees the changes of its tasks (SPEC W3).
func (s *suite) operationEvents(ctx context.Context, t *testing.T) {
	s.pushOperations(ctx, t)
	events, err := s.Events(ctx, api.EventsRequest{Parent: "op-events"})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	s.start(ctx, t, api.StartOperationRequest{ID: "op-elsewhere", Behavior: "apitest.op.other", Target: "events", Partitions: some(3)})
	s.start(ctx, t, api.StartOperationRequest{ID: "op-events", Behavior: "apitest.op", Target: "events2", Partitions: some(3), Arg: json.RawMessage(`7`)})
	final := map[string]bool{}
	for len(final) < 4 {
		e, err := events.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var x api.TaskEvent
		if err := json.Unmarshal(e.Data, &x); err != nil || x.Task == nil || x.Task.Parent != "op-events" {
			t.Fatalf("event %s %s: %v", e.Kind, e.Data, err)
		}
		if x.Task.Final {
			final[x.Task.ID] = true
		}
		if x.Task.Partition == "1" {
			sameJSON(t, x.Task.Params, `{"operation":"op-events","partition":"1","target":"events2","object":"","arg":7}`)
		}
	}
}
