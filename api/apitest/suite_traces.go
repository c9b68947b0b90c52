package apitest

import (
	"context"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/tracing"
)

const (
	oneTrace   = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	otherTrace = "00-11111111111111111111111111111111-2222222222222222-00"
)

// traces: what a call makes due has the traceparent of the call, and an accepted task that of its attempt (SPEC U2).
func (s *suite) traces(ctx context.Context, t *testing.T) {
	const name = "apitest.traces"
	s.external(ctx, t, name, "")
	one, other := tracing.WithParent(ctx, oneTrace), tracing.WithParent(ctx, otherTrace)
	has := func(what string, x *api.Task, want string) {
		t.Helper()
		if x == nil || x.Traceparent != want {
			t.Errorf("%s: %+v, want the traceparent %q", what, x, want)
		}
	}
	has("submit", s.must(one, t, api.SubmitRequest{ID: "trace-one", Behavior: name}), oneTrace)
	const state = "congo=t61,rojo=00f067aa0ba902b7"
	stated := s.must(tracing.WithState(one, " congo=t61,rojo=00f067aa0ba902b7"), t, api.SubmitRequest{ID: "trace-state", Behavior: name, Priority: new(9)})
	has("with a state", stated, oneTrace)
	if x := s.accept(ctx, t, api.AcceptRequest{Behavior: name, Max: 1})[0]; stated.Tracestate != state || x.ID != stated.ID || x.Tracestate != state || x.Traceparent == oneTrace {
		t.Errorf("with a state: %+v, accepted as %+v", stated, x)
	}
	for what, ctx := range map[string]context.Context{"an invalid state": tracing.WithState(one, "congo"), "a state alone": tracing.WithState(ctx, state)} {
		x := s.must(ctx, t, api.SubmitRequest{Behavior: name, NotBefore: &api.Time{Time: time.Now().Add(time.Hour)}})
		if x.Tracestate != "" || (x.Traceparent == "") != (what == "a state alone") {
			t.Errorf("%s: %+v", what, x)
		}
	}
	has("an invalid one", s.must(tracing.WithParent(ctx, oneTrace+"x"), t, api.SubmitRequest{ID: "trace-not", Behavior: name}), "")
	batch, err := s.SubmitBatch(other, []api.SubmitRequest{{ID: "trace-two", Behavior: name}, {ID: "trace-one", Behavior: name}})
	if err != nil || len(batch) != 2 || batch[0].SubmitReply == nil || batch[1].SubmitReply == nil {
		t.Fatalf("batch: %+v, %v", batch, err)
	}
	has("batch", batch[0].Task, otherTrace)
	has("joined", batch[1].Task, oneTrace)
	s.tracesOfEntries(one, t, name)
	txn, err := s.Txn(one, api.TxnRequest{Submit: []api.SubmitRequest{{ID: "trace-three", Behavior: name}, {ID: "trace-four", Behavior: name, Traceparent: otherTrace}}})
	if err != nil || len(txn.Tasks) != 2 {
		t.Fatalf("txn: %+v, %v", txn, err)
	}
	has("txn", txn.Tasks[0], oneTrace)
	has("one of a txn", txn.Tasks[1], otherTrace)

	accepted := s.accept(ctx, t, api.AcceptRequest{Behavior: name, Max: 1})[0]
	if p := accepted.Traceparent; accepted.ID != "trace-one" || len(p) != len(oneTrace) || p[:36] != oneTrace[:36] || p[36:52] == oneTrace[36:52] || p[52:] != oneTrace[52:] {
		t.Errorf("accepted %s with the traceparent %q", accepted.ID, accepted.Traceparent)
	}
	if _, err := s.Finish(ctx, api.FinishRequest{ID: accepted.ID, Token: accepted.Lease.Token}); err != nil {
		t.Error(err)
	}
	has("finished", s.final(ctx, t, "trace-one"), oneTrace)
	again, err := s.Resubmit(other, api.ResubmitRequest{ID: "trace-one"})
	if err != nil {
		t.Fatal(err)
	}
	has("resubmitted", again.Task, otherTrace)

	s.pushOperations(ctx, t)
	if o := s.start(tracing.WithState(one, state), t, api.StartOperationRequest{ID: "trace-op", Behavior: "apitest.op.fast", Partitions: api.Partitions{Count: 1}}); o.Traceparent != oneTrace || o.Tracestate != state {
		t.Errorf("operation: %+v", o)
	}
	s.ended(ctx, t, "trace-op")
	part, err := s.Task(ctx, "", "trace-op:0", api.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	has("partition", part, oneTrace)
	if part.Tracestate != state {
		t.Errorf("partition: %+v", part)
	}
}

// tracesOfEntries: an entry of a batch may name a trace of its own.
func (s *suite) tracesOfEntries(ctx context.Context, t *testing.T, name string) {
	each, err := s.SubmitBatch(ctx, []api.SubmitRequest{
		{ID: "trace-own", Behavior: name, Traceparent: otherTrace, Tracestate: " a=1"},
		{ID: "trace-bad", Behavior: name, Traceparent: "00-x", Tracestate: "a=1"},
		{ID: "trace-call", Behavior: name, Tracestate: "a=1"},
	})
	if err != nil || len(each) != 3 || each[0].SubmitReply == nil || each[1].SubmitReply == nil || each[2].SubmitReply == nil {
		t.Fatalf("batch of traces: %+v, %v", each, err)
	}
	for i, want := range [][2]string{{otherTrace, "a=1"}, {oneTrace, ""}, {oneTrace, ""}} {
		if x := each[i].Task; x.Traceparent != want[0] || x.Tracestate != want[1] {
			t.Errorf("%d of a batch: %+v, want %q", i, x, want)
		}
	}
}
