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
)

// txn: all parts happen in one step, and the answer has the records of submits, updates and finishes (SPEC X1).
func (s *suite) txn(ctx context.Context, t *testing.T) {
	const name = "apitest.txn"
	s.external(ctx, t, name, "")
	x := s.run(ctx, t, name, "txn-running")
	waiting := s.must(ctx, t, api.SubmitRequest{Behavior: name, ID: "txn-waiting", Delay: duration(time.Hour), Labels: map[string]string{"a": "1"}})
	s.must(ctx, t, api.SubmitRequest{Behavior: name, ID: "txn-deleted", Delay: duration(time.Hour)})
	at := after(2 * time.Hour)
	reply, err := s.Txn(ctx, api.TxnRequest{
		Depends: []api.TxnDepend{{ID: waiting.ID, Rev: waiting.Rev}, {ID: x.ID, Token: x.Lease.Token}, {ID: "txn-deleted"}},
		Submit: []api.SubmitRequest{
			{Behavior: name, ID: "txn-new", Params: json.RawMessage(`{ "next": 1 }`), Delay: duration(time.Hour)},
			{Behavior: name, Delay: duration(time.Hour)},
		},
		Update: []api.TxnUpdate{{
			ID: waiting.ID, Rev: waiting.Rev, NotBefore: at, Priority: new(9), Labels: map[string]string{}, Params: json.RawMessage(`[ 2 ]`),
		}},
		Finish: []api.FinishRequest{{ID: x.ID, Token: x.Lease.Token, Result: json.RawMessage(`"done"`)}},
		Delete: []api.TxnDelete{{ID: "txn-deleted"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(reply.Tasks) != 4 {
		t.Fatalf("%d tasks, want two submits, an update and a finish: %s", len(reply.Tasks), ids(reply.Tasks))
	}
	if n := reply.Tasks[0]; n.ID != "txn-new" || n.Status != "CREATED" || string(n.Params) != `{"next":1}` {
		t.Errorf("submitted %+v", n)
	}
	if n := reply.Tasks[1]; n.ID == "" || n.Behavior != name {
		t.Errorf("submitted without an ID: %+v", n)
	}
	if n := reply.Tasks[2]; n.ID != waiting.ID || !n.NotBefore.Equal(at.Time) || n.Priority != 9 || len(n.Labels) != 0 {
		t.Errorf("updated %+v", n)
	}
	if n := reply.Tasks[3]; n.ID != x.ID || n.Status != "SUCCESS" || string(n.Result) != `"done"` {
		t.Errorf("finished %+v", n)
	}
	if got, err := s.Task(ctx, "", waiting.ID, api.GetOptions{}); err != nil || string(got.Params) != `[2]` || got.Rev <= waiting.Rev {
		t.Errorf("the updated task is %+v, %v", got, err)
	}
	_, err = s.Task(ctx, "", "txn-deleted", api.GetOptions{})
	wantError(t, err, "task_not_found", "")
	// With join a submit meets a task that exists.
	reply, err = s.Txn(ctx, api.TxnRequest{Submit: []api.SubmitRequest{{Behavior: name, ID: "txn-new"}}})
	if err != nil || ids(reply.Tasks) != "txn-new" {
		t.Errorf("joined %+v, %v", reply, err)
	}
}

// txnConflict: nothing happens, and the error has every reason.
func (s *suite) txnConflict(ctx context.Context, t *testing.T) {
	const name = "apitest.conflict"
	s.external(ctx, t, name, "")
	x := s.run(ctx, t, name, "conflict-running")
	s.must(ctx, t, api.SubmitRequest{Behavior: name, ID: "conflict-waiting", Delay: duration(time.Hour)})
	_, err := s.Txn(ctx, api.TxnRequest{
		Depends: []api.TxnDepend{{ID: "conflict-nobody"}, {ID: "conflict-waiting", Rev: 1}, {ID: x.ID, Token: x.Lease.Token + 1000}},
		Submit: []api.SubmitRequest{
			{Behavior: name, ID: "conflict-new"},
			{Behavior: name, ID: "conflict-waiting", IfExists: "fail"},
		},
		Update: []api.TxnUpdate{{ID: x.ID, Priority: new(1)}, {ID: "conflict-gone", Priority: new(1)}},
		Delete: []api.TxnDelete{{ID: "conflict-none"}},
	})
	wantError(t, err, "conflict", fieldOf(err))
	e, _ := errors.AsType[*api.Error](err)
	var got []string
	for _, r := range e.Reasons {
		got = append(got, r.Kind+" "+r.ID)
	}
	slices.Sort(got)
	want := []string{
		"changed " + x.ID, "changed conflict-waiting", "exists conflict-waiting", "leased " + x.ID,
		"missing conflict-gone", "missing conflict-nobody", "missing conflict-none",
	}
	if !slices.Equal(got, want) {
		t.Errorf("reasons %q, want %q", got, want)
	}
	_, err = s.Task(ctx, "", "conflict-new", api.GetOptions{})
	wantError(t, err, "task_not_found", "")
	// A dead token is a reason, too, and the other half of the transaction does not happen.
	_, err = s.Txn(ctx, api.TxnRequest{
		Submit: []api.SubmitRequest{{Behavior: name, ID: "conflict-new"}},
		Finish: []api.FinishRequest{{ID: x.ID, Token: x.Lease.Token + 1000}},
	})
	if e, _ := errors.AsType[*api.Error](err); e == nil || len(e.Reasons) != 1 || e.Reasons[0] != (api.Reason{Kind: "changed", ID: x.ID}) {
		t.Errorf("finish with another token: %+v", err)
	}
	_, err = s.Task(ctx, "", "conflict-new", api.GetOptions{})
	wantError(t, err, "task_not_found", "")
}

func (s *suite) txnRefused(ctx context.Context, t *testing.T) {
	many := make([]api.TxnDepend, api.MaxTxnParts+1)
	for i := range many {
		many[i].ID = fmt.Sprintf("many-%d", i)
	}
	var large []api.SubmitRequest
	for i := range api.MaxTxnBytes/api.MaxInline + 1 {
		large = append(large, api.SubmitRequest{Behavior: okBehavior, ID: fmt.Sprintf("large-%d", i), Params: json.RawMessage(`"` + strings.Repeat("x", api.MaxInline-2) + `"`)})
	}
	ok := api.SubmitRequest{Behavior: okBehavior, ID: "refused-by-txn"}
	for name, c := range map[string]struct {
		code, field string
		r           api.TxnRequest
	}{
		"empty":            {"bad_request", "", api.TxnRequest{}},
		"too many":         {"too_large", "", api.TxnRequest{Depends: many}},
		"too large":        {"too_large", "", api.TxnRequest{Submit: large}},
		"bad ID":           {"invalid_field", "depends[0].id", api.TxnRequest{Depends: []api.TxnDepend{{ID: "x"}}}},
		"rev and token":    {"invalid_field", "depends[0].token", api.TxnRequest{Depends: []api.TxnDepend{{ID: "abc", Rev: 1, Token: 1}}}},
		"twice":            {"invalid_field", "delete[0].id", api.TxnRequest{Submit: []api.SubmitRequest{ok}, Delete: []api.TxnDelete{{ID: ok.ID}}}},
		"bad submit":       {"invalid_field", "submit[1].priority", api.TxnRequest{Submit: []api.SubmitRequest{ok, {Behavior: okBehavior, Priority: new(10)}}}},
		"unknown behavior": {"behavior_not_found", "submit[1].behavior", api.TxnRequest{Submit: []api.SubmitRequest{ok, {Behavior: "apitest.nobody"}}}},
		"rerun":            {"invalid_field", "submit[0].if_exists", api.TxnRequest{Submit: []api.SubmitRequest{{Behavior: okBehavior, ID: "abc", IfExists: "rerun"}}}},
		"other namespace":  {"invalid_field", "submit[0].namespace", api.TxnRequest{Submit: []api.SubmitRequest{{Namespace: "other", Behavior: okBehavior}}}},
		"both times":       {"invalid_field", "update[0].delay", api.TxnRequest{Update: []api.TxnUpdate{{ID: "abc", NotBefore: after(0), Delay: duration(0)}}}},
		"no token":         {"invalid_field", "finish[0].token", api.TxnRequest{Finish: []api.FinishRequest{{ID: "abc"}}}},
		"unknown space":    {"namespace_not_found", "", api.TxnRequest{Namespace: "nowhere", Delete: []api.TxnDelete{{ID: "abc"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Txn(ctx, c.r)
			wantError(t, err, c.code, fieldOr(err, c.field))
		})
	}
	_, err := s.Task(ctx, "", ok.ID, api.GetOptions{})
	wantError(t, err, "task_not_found", "")
}
