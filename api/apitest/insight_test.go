package apitest_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/apitest"
	"github.com/taskrt/taskrt/api/client"
	"github.com/taskrt/taskrt/api/insight"
	"github.com/taskrt/taskrt/api/server"
)

// explained is a cluster with what it explains, over HTTP.
type explained struct {
	t *testing.T
	api.Service
	insight.Insight
}

func explain(t *testing.T) *explained {
	f := apitest.NewFake()
	t.Cleanup(f.Close)
	s := httptest.NewServer(server.New(f, server.Config{Logger: slog.New(slog.DiscardHandler), Insight: f.Insight()}))
	t.Cleanup(s.Close)
	c, err := client.New(client.Config{URLs: []string{s.URL}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &explained{t, c, client.NewInsight(c)}
}

// external defines an external behavior.
func (x *explained) external(name string, attempts int64) {
	x.t.Helper()
	r := api.PutBehaviorRequest{Name: name, Policy: json.RawMessage(fmt.Sprintf(`{"kind":"external","retry":{"max_attempts":%d}}`, attempts))}
	if _, err := x.PutBehavior(x.t.Context(), r); err != nil {
		x.t.Fatal(err)
	}
}

// fail lets a new task fail.
func (x *explained) fail(behavior, id, code string) {
	x.t.Helper()
	ctx := x.t.Context()
	if _, err := x.Submit(ctx, api.SubmitRequest{Behavior: behavior, ID: id}); err != nil {
		x.t.Fatal(err)
	}
	got, err := x.Accept(ctx, api.AcceptRequest{Behavior: behavior, Worker: "w"})
	if err != nil || len(got.Tasks) != 1 {
		x.t.Fatal(got, err)
	}
	if _, err := x.Finish(ctx, api.FinishRequest{ID: id, Token: got.Tasks[0].Lease.Token, Error: &api.ReportError{Code: code}}); err != nil {
		x.t.Fatal(err)
	}
}

// groups returns what is answered, in a few words, and whether other is there.
func (x *explained) groups(r insight.FailuresRequest) (all []string) {
	x.t.Helper()
	reply, err := x.Failures(x.t.Context(), r)
	if err != nil {
		x.t.Fatal(err)
	}
	for _, g := range reply.Groups {
		if g.FirstAt.IsZero() || g.LastAt.Before(g.FirstAt.Time) {
			x.t.Errorf("%+v", g)
		}
		all = append(all, fmt.Sprintf("%s %s %d %d %s", g.Behavior, g.Code, g.Retrying, g.Final, g.Sample))
	}
	if o := reply.Other; o != nil {
		all = append(all, fmt.Sprintf("other %d %d", o.Retrying, o.Final))
	}
	return all
}

// TestFailures: what failed is grouped, whether it is tried again or not; a retry and a removal take it out (SPEC Q2).
func TestFailures(t *testing.T) {
	x := explain(t)
	ctx := t.Context()
	x.external("mail.send", 2)
	x.external("mail.sort", 1)
	for i := range 3 {
		x.fail("mail.send", fmt.Sprintf("send-%d", i), "bounced")
	}
	x.fail("mail.sort", "sort-0", "bounced")
	x.fail("mail.sort", "sort-1", "refused")
	want := func(r insight.FailuresRequest, want ...string) {
		t.Helper()
		if got := x.groups(r); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%+v: %q, want %q", r, got, want)
		}
	}
	want(insight.FailuresRequest{}, "mail.send bounced 3 0 send-2", "mail.sort refused 0 1 sort-1", "mail.sort bounced 0 1 sort-0")
	want(insight.FailuresRequest{Behaviors: []string{"*.sort"}}, "mail.sort refused 0 1 sort-1", "mail.sort bounced 0 1 sort-0")
	want(insight.FailuresRequest{Errors: []string{"bounced"}, Limit: 1}, "mail.send bounced 3 0 send-2", "other 0 1")
	if err := x.Remove(ctx, "", "send-2"); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Cancel(ctx, "", "send-0"); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Retry(ctx, api.RetryRequest{ID: "sort-1"}); err != nil {
		t.Fatal(err)
	}
	got := x.groups(insight.FailuresRequest{}) // all groups have one failure, and their last may be of one millisecond
	slices.Sort(got)
	if last := []string{"mail.send CANCELLED 0 1 send-0", "mail.send bounced 1 0 send-1", "mail.sort bounced 0 1 sort-0", "mail.sort refused 1 0 sort-1"}; !slices.Equal(got, last) {
		t.Errorf("%q, want %q", got, last)
	}
}

// TestFailuresRefused: a request that makes no sense names the field.
func TestFailuresRefused(t *testing.T) {
	x := explain(t)
	for _, c := range []struct {
		r           insight.FailuresRequest
		code, field string
	}{
		{insight.FailuresRequest{Limit: insight.MaxGroups + 1}, api.CodeInvalidField, "limit"},
		{insight.FailuresRequest{Namespace: "a b"}, api.CodeInvalidField, "namespace"},
		{insight.FailuresRequest{Namespace: "elsewhere"}, "namespace_not_found", "namespace"},
		{insight.FailuresRequest{Behaviors: named(65)}, api.CodeInvalidField, "behavior"},
	} {
		_, err := x.Failures(t.Context(), c.r)
		if e := api.ErrorOf(err); e == nil || e.Code != c.code || e.Field != c.field {
			t.Errorf("%+v: %v", c.r, err)
		}
	}
}

func named(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint("b.", i))
	}
	return names
}

// TestWhy: over HTTP, by the leader's own loop: nobody accepts, a limit is reached and by whom, it runs, it has ended (SPEC Q4).
func TestWhy(t *testing.T) {
	x := explain(t)
	ctx := t.Context()
	r := api.PutBehaviorRequest{Name: "mail.send", Policy: json.RawMessage(`{"kind":"external","max_concurrent":1}`)}
	if _, err := x.PutBehavior(ctx, r); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"first", "second"} {
		if _, err := x.Submit(ctx, api.SubmitRequest{Behavior: "mail.send", ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(id string, waits bool, want ...string) []insight.WaitReason {
		t.Helper()
		r, err := x.Why(ctx, "", id)
		if err != nil {
			t.Fatal(err)
		}
		codes := []string{}
		for _, x := range r.Reasons {
			codes = append(codes, x.Code)
		}
		if r.Waits != waits || fmt.Sprint(codes) != fmt.Sprint(want) || r.Behavior != "mail.send" || r.ID != id {
			t.Errorf("%s: %+v, want %v", id, r, want)
		}
		return r.Reasons
	}
	want("first", true, insight.NoAcceptor)
	got, err := x.Accept(ctx, api.AcceptRequest{Behavior: "mail.send", Worker: "w"})
	if err != nil || len(got.Tasks) != 1 {
		t.Fatal(got, err)
	}
	if r := want("first", false, insight.Running); fmt.Sprint(r[0].Workers) != "[w]" || r[0].At == nil {
		t.Errorf("%+v", r[0])
	}
	if r := want("second", true, insight.BehaviorLimit, insight.NoAcceptor); fmt.Sprint(r[0].By) != "[first]" || r[0].Limit != 1 {
		t.Errorf("%+v", r[0])
	}
	if _, err := x.Finish(ctx, api.FinishRequest{ID: "first", Token: got.Tasks[0].Lease.Token}); err != nil {
		t.Fatal(err)
	}
	want("first", false, insight.Final)
	want("second", true, insight.NoAcceptor)
	if _, err := x.Why(ctx, "", "nobody"); api.CodeOf(err) != api.CodeTaskNotFound {
		t.Error(err)
	}
}
