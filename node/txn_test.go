package node_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/clustertest"
)

const hour = api.Duration(time.Hour)

func TestTxn(t *testing.T) {
	clustertest.Run(t, 3, clustertest.Options{NoWorkers: true}, func(t *testing.T, c *clustertest.Cluster) {
		if _, err := put(t, c, 0, "mail", `{"kind":"external","concurrency_key":"/to","params_schema":{"type":"object"}}`); err != nil {
			t.Fatal(err)
		}
		n, ctx := c.Node(c.Followers()[0]), t.Context()
		mail := func(id, params string) *api.Task {
			return c.SubmitRequest(0, api.SubmitRequest{Behavior: "mail", ID: id, Params: []byte(params)}).Task
		}
		one, two, old := mail("one", `{"to":"ann"}`), mail("two", `{"to":"bob"}`), mail("old", `{}`)
		accepted, err := n.Accept(ctx, api.AcceptRequest{Behavior: "mail", Worker: "w"})
		if err != nil || len(accepted.Tasks) != 1 || accepted.Tasks[0].ID != one.ID {
			t.Fatalf("%+v, %v", accepted, err)
		}
		token := accepted.Tasks[0].Lease.Token

		_, err = n.Txn(ctx, api.TxnRequest{
			Depends: []api.TxnDepend{{ID: one.ID, Token: token}, {ID: two.ID, Rev: two.Rev}},
			Submit:  []api.SubmitRequest{{Behavior: "mail", Params: []byte(`{"to":"eve"}`), Delay: new(hour)}, {Behavior: "mail", ID: "two"}},
			Update:  []api.TxnUpdate{{ID: "old", Params: []byte(`{"to":"ann"}`), Delay: new(hour), Labels: map[string]string{"a": "b"}}},
			Finish:  []api.FinishRequest{{ID: one.ID, Token: token, Result: []byte(`{"sent":true}`)}},
		})
		wantError(t, err, 422, api.CodeParamsSchema, "submit[1].params") // "two" has no params, and the schema wants an object
		reply, err := n.Txn(ctx, api.TxnRequest{
			Depends: []api.TxnDepend{{ID: one.ID, Token: token}},
			Submit:  []api.SubmitRequest{{Behavior: "mail", Params: []byte(`{"to":"eve"}`), Delay: new(hour)}, {Behavior: "mail", ID: "two", Params: []byte(`{}`)}},
			Update:  []api.TxnUpdate{{ID: "old", Params: []byte(`{"to":"ann"}`), Delay: new(hour), Labels: map[string]string{"a": "b"}}},
			Finish:  []api.FinishRequest{{ID: one.ID, Token: token, Result: []byte(`{"sent":true}`)}},
		})
		if err != nil || len(reply.Tasks) != 4 {
			t.Fatalf("%+v, %v", reply, err)
		}
		made, joined, updated, finished := reply.Tasks[0], reply.Tasks[1], reply.Tasks[2], reply.Tasks[3]
		if made.Status != "CREATED" || string(made.Params) != `{"to":"eve"}` || joined.ID != "two" || joined.Params != nil ||
			updated.ID != old.ID || updated.Labels["a"] != "b" || string(updated.Params) != `{"to":"ann"}` ||
			finished.Status != "SUCCESS" || string(finished.Result) != `{"sent":true}` || finished.Params != nil {
			t.Errorf("%s\n%s\n%s\n%s", clustertest.Show(made), clustertest.Show(joined), clustertest.Show(updated), clustertest.Show(finished))
		}

		// A field that an answer leaves out is not shown as null.
		reply, err = n.Txn(ctx, api.TxnRequest{Submit: []api.SubmitRequest{{Behavior: "mail", ID: one.ID, Params: []byte(`{}`)}}})
		if err != nil || reply.Tasks[0].Status != "SUCCESS" || reply.Tasks[0].Result != nil {
			t.Errorf("%+v, %v", reply, err)
		}

		// The answer has all reasons, and nothing is done.
		_, err = n.Txn(ctx, api.TxnRequest{
			Depends: []api.TxnDepend{{ID: "nobody"}, {ID: two.ID, Rev: two.Rev + 1000}, {ID: "done", Token: 1}},
			Submit:  []api.SubmitRequest{{Behavior: "mail", ID: "two", Params: []byte(`{}`), IfExists: "fail"}, {Behavior: "mail", ID: "fresh", Params: []byte(`{}`)}},
			Update:  []api.TxnUpdate{{ID: "ghost", Params: []byte(`{}`)}},
			Delete:  []api.TxnDelete{{ID: "old", Rev: 1}},
		})
		wantError(t, err, 409, "conflict", "")
		e, _ := errors.AsType[*api.Error](err)
		want := []api.Reason{{Kind: "missing", ID: "nobody"}, {Kind: "changed", ID: "two"}, {Kind: "missing", ID: "done"}, {Kind: "exists", ID: "two"}, {Kind: "missing", ID: "ghost"}, {Kind: "changed", ID: "old"}}
		slices.SortFunc(e.Reasons, func(a, b api.Reason) int { return strings.Compare(a.ID+a.Kind, b.ID+b.Kind) })
		slices.SortFunc(want, func(a, b api.Reason) int { return strings.Compare(a.ID+a.Kind, b.ID+b.Kind) })
		if !slices.Equal(e.Reasons, want) {
			t.Errorf("reasons %+v, want %+v", e.Reasons, want)
		}
		_, err = n.Task(ctx, "", "fresh", api.GetOptions{})
		wantError(t, err, 404, api.CodeTaskNotFound, "")

		// The parts of a transaction are checked like requests of their own.
		for _, x := range []struct {
			name   string
			r      api.TxnRequest
			status int
			code   string
			field  string
		}{
			{"unknown behavior", api.TxnRequest{Submit: []api.SubmitRequest{{Behavior: "nobody"}}}, 404, api.CodeBehaviorNotFound, "submit[0].behavior"},
			{"update against the schema", api.TxnRequest{Update: []api.TxnUpdate{{ID: "old", Params: []byte(`1`)}}}, 422, api.CodeParamsSchema, "update[0].params"},
			{"key too long", api.TxnRequest{Update: []api.TxnUpdate{{ID: "old", Params: []byte(`{"to":"` + strings.Repeat("x", 257) + `"}`)}}}, 422, api.CodeInvalidParams, "update[0].params/to"},
			{"nothing", api.TxnRequest{}, 400, api.CodeBadRequest, ""},
			{"twice", api.TxnRequest{Delete: []api.TxnDelete{{ID: "old"}, {ID: "old"}}}, 400, api.CodeInvalidField, "delete[1].id"},
			{"too many", api.TxnRequest{Depends: make([]api.TxnDepend, api.MaxTxnParts+1)}, 413, api.CodeTooLarge, ""},
			{"rerun", api.TxnRequest{Submit: []api.SubmitRequest{{Behavior: "mail", IfExists: "rerun"}}}, 400, api.CodeInvalidField, "submit[0].if_exists"},
		} {
			t.Log(x.name)
			_, err := n.Txn(ctx, x.r)
			wantError(t, err, x.status, x.code, x.field)
		}
	})
}

func TestRetryAndResubmit(t *testing.T) {
	clustertest.Run(t, 1, clustertest.Options{NoWorkers: true}, func(t *testing.T, c *clustertest.Cluster) {
		if _, err := put(t, c, 0, "mail", `{"kind":"external","params_schema":{"type":"object"}}`); err != nil {
			t.Fatal(err)
		}
		n, ctx := c.Node(0), t.Context()
		c.SubmitRequest(0, api.SubmitRequest{Behavior: "mail", ID: "one", Params: []byte(`{}`)})
		_, err := n.Retry(ctx, api.RetryRequest{ID: "one"})
		wantError(t, err, 409, "not_final", "")
		_, err = n.Retry(ctx, api.RetryRequest{ID: "nobody"})
		wantError(t, err, 404, api.CodeTaskNotFound, "")
		_, err = n.Retry(ctx, api.RetryRequest{ID: "one", Delay: new(-hour)})
		wantError(t, err, 400, api.CodeInvalidField, "delay")

		a, err := n.Accept(ctx, api.AcceptRequest{Behavior: "mail", Worker: "w"})
		if err != nil || len(a.Tasks) != 1 {
			t.Fatalf("%+v, %v", a, err)
		}
		// The task runs, so the resubmit is a flag (SPEC J5, I3). The outcome stands until the next run begins.
		if r, err := n.Resubmit(ctx, api.ResubmitRequest{ID: "one", Delay: new(hour)}); err != nil || r.Task.Resubmit == nil || r.Task.Status != "RUNNING" {
			t.Errorf("%+v, %v", r, err)
		}
		f, err := n.Finish(ctx, api.FinishRequest{ID: "one", Token: a.Tasks[0].Lease.Token, Error: &api.ReportError{Code: "no_such_box"}})
		if err != nil || f.Task.Status != "FAILURE" || f.Task.NotBefore == nil || f.Task.Final {
			t.Fatalf("%+v, %v", f, err)
		}
		again, err := n.Retry(ctx, api.RetryRequest{ID: "one", Deadline: &api.Time{Time: time.Now().Add(2 * time.Hour)}})
		if err != nil || again.Status != "FAILURE" || again.Final || again.Failures != 0 || again.Deadline == nil || again.NotBefore.After(time.Now()) {
			t.Errorf("%s, %v", clustertest.Show(again), err)
		}

		// The task's behavior checks the params. A deleted behavior takes no resubmit, as it takes no submit (SPEC B8).
		_, err = n.Resubmit(ctx, api.ResubmitRequest{ID: "one", Params: []byte(`1`)})
		wantError(t, err, 422, api.CodeParamsSchema, "params")
		if r, err := n.Resubmit(ctx, api.ResubmitRequest{ID: "one", Params: []byte(`{"new":1}`), Delay: new(hour)}); err != nil || r.Outcome != "updated" || string(r.Task.Params) != `{"new":1}` {
			t.Errorf("%+v, %v", r, err)
		}
		if err := n.DeleteBehavior(ctx, "", "mail", false); err != nil {
			t.Fatal(err)
		}
		_, err = n.Resubmit(ctx, api.ResubmitRequest{ID: "one"})
		wantError(t, err, 404, api.CodeBehaviorNotFound, "behavior")
		_, err = n.Resubmit(ctx, api.ResubmitRequest{ID: "one", Params: []byte(`{}`)})
		wantError(t, err, 404, api.CodeBehaviorNotFound, "behavior")
		_, err = n.Resubmit(ctx, api.ResubmitRequest{ID: "nobody"})
		wantError(t, err, 404, api.CodeTaskNotFound, "")
		_, err = n.Resubmit(ctx, api.ResubmitRequest{ID: "nobody", Params: []byte(`{}`)})
		wantError(t, err, 404, api.CodeTaskNotFound, "")
	})
}
