package access_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/apitest"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/node/access"
)

// swapped are the changes of one task, or one operation, between whose look and whose command the ID goes to somebody else.
var swapped = []struct {
	name, role string // the role by which the caller passes the look
	call       func(ctx context.Context, s api.Service, id string, lease uint64) error
}{
	{"cancel", "submit", func(ctx context.Context, s api.Service, id string, _ uint64) error {
		_, err := s.Cancel(ctx, "", id)
		return err
	}},
	{"remove", "submit", func(ctx context.Context, s api.Service, id string, _ uint64) error { return s.Remove(ctx, "", id) }},
	{"retry", "submit", func(ctx context.Context, s api.Service, id string, _ uint64) error {
		_, err := s.Retry(ctx, api.RetryRequest{ID: id})
		return err
	}},
	{"resubmit", "submit", func(ctx context.Context, s api.Service, id string, _ uint64) error {
		_, err := s.Resubmit(ctx, api.ResubmitRequest{ID: id})
		return err
	}},
	{"submit again", "submit", func(ctx context.Context, s api.Service, id string, _ uint64) error {
		_, err := s.Submit(ctx, api.SubmitRequest{ID: id, Behavior: mine, IfExists: "rerun"})
		return err
	}},
	{"submit of many", "submit", func(ctx context.Context, s api.Service, id string, _ uint64) error {
		out, err := s.SubmitBatch(ctx, []api.SubmitRequest{{ID: id, Behavior: mine, IfExists: "resubmit"}})
		if err == nil && out[0].Error != nil {
			return out[0].Error
		}
		return err
	}},
	{"update", "submit", func(ctx context.Context, s api.Service, id string, _ uint64) error {
		_, err := s.Txn(ctx, api.TxnRequest{Update: []api.TxnUpdate{{ID: id, Labels: map[string]string{"a": "b"}}}})
		return err
	}},
	{"delete", "submit", func(ctx context.Context, s api.Service, id string, _ uint64) error {
		_, err := s.Txn(ctx, api.TxnRequest{Delete: []api.TxnDelete{{ID: id}}})
		return err
	}},
	{"depend", "submit", func(ctx context.Context, s api.Service, id string, _ uint64) error {
		_, err := s.Txn(ctx, api.TxnRequest{Depends: []api.TxnDepend{{ID: id}}, Submit: []api.SubmitRequest{{ID: "made-of-it", Behavior: mine}}})
		return err
	}},
	{"heartbeat", "work", func(ctx context.Context, s api.Service, id string, lease uint64) error {
		_, err := s.Heartbeat(ctx, api.HeartbeatRequest{ID: id, Token: lease})
		return err
	}},
	{"finish", "work", func(ctx context.Context, s api.Service, id string, lease uint64) error {
		_, err := s.Finish(ctx, api.FinishRequest{ID: id, Token: lease, Result: []byte("1")})
		return err
	}},
	{"finish of many", "work", func(ctx context.Context, s api.Service, id string, lease uint64) error {
		out, err := s.FinishMany(ctx, []api.FinishRequest{{ID: id, Token: lease, Result: []byte("1")}})
		if err == nil && out[0].Error != nil {
			return out[0].Error
		}
		return err
	}},
	{"finish of a transaction", "work", func(ctx context.Context, s api.Service, id string, lease uint64) error {
		_, err := s.Txn(ctx, api.TxnRequest{Finish: []api.FinishRequest{{ID: id, Token: lease, Result: []byte("1")}}})
		return err
	}},
	{"snooze", "work", func(ctx context.Context, s api.Service, id string, lease uint64) error {
		_, err := s.Snooze(ctx, api.SnoozeRequest{ID: id, Token: lease})
		return err
	}},
}

// TestSwapped: between the guard's look and the log the task goes, and its ID to a stranger's task of another behavior. Apply refuses the command
// with the words of the look, and the stranger's task stays as it is (SPEC A5).
func TestSwapped(t *testing.T) {
	for _, use := range swapped {
		t.Run(use.name, func(t *testing.T) {
			s := newSite(t)
			stranger := auth.WithPrincipal(t.Context(), &auth.Principal{Number: s.AddToken("stranger")})
			ctx := as(t, mine, use.role)
			p := auth.PrincipalOf(ctx)
			p.Number = s.AddTokenFor("swapper", p.Grant)
			const id = "swapped"
			s.creators[id] = p.Number
			if _, err := s.Submit(ctx, api.SubmitRequest{ID: id, Behavior: mine}); err != nil {
				t.Fatal(err)
			}
			swap := func() (lease uint64) {
				if err := s.Remove(t.Context(), "", id); err != nil {
					t.Fatal(err)
				}
				if _, err := s.Submit(stranger, api.SubmitRequest{ID: id, Behavior: others}); err != nil {
					t.Fatal(err)
				}
				s.creators[id] = auth.PrincipalOf(stranger).Number
				taken, err := s.Accept(t.Context(), api.AcceptRequest{Behavior: others, Worker: "w"})
				if err != nil || len(taken.Tasks) != 1 {
					t.Fatal(taken, err)
				}
				return taken.Tasks[0].Lease.Token
			}
			var lease, rev uint64
			look := func(_ context.Context, fn func(access.Records)) error {
				s.look(fn)
				if lease == 0 {
					lease = swap()
					x, err := s.Task(t.Context(), "", id, api.GetOptions{})
					if err != nil {
						t.Fatal(err)
					}
					rev = x.Rev
				}
				return nil
			}
			guarded := s.gate.Guard(s.Fake, access.Looks{Local: func(fn func(access.Records)) {}, Read: look})
			err := use.call(ctx, guarded, id, 1) // the first lease there is: the stranger's, once it is there
			if lease != 1 {
				t.Fatalf("the stranger's task has lease %d", lease)
			}
			again := use.call(ctx, s.guarded, id, lease)
			if api.CodeOf(err) != api.CodeForbidden || again == nil || err.Error() != again.Error() {
				t.Errorf("%v\nand to whoever asks after that: %v", err, again)
			}
			x, err := s.Task(t.Context(), "", id, api.GetOptions{})
			if err != nil || x.Rev != rev || x.Status != "RUNNING" || x.Behavior != others {
				t.Errorf("%+v, %v", x, err)
			}
		})
	}
}

// formerly are the records as they were when the caller had created all of them.
type formerly struct{ creator uint64 }

func (f formerly) Task(string, string) *access.Record {
	return &access.Record{Behavior: mine, Creator: f.creator}
}

func (f formerly) Operation(string, string) *access.Record {
	return &access.Record{Behavior: mine, Creator: f.creator}
}

// TestSwappedOperations is TestSwapped for an operation: the look finds the caller's, and the log a stranger's.
func TestSwappedOperations(t *testing.T) {
	s := newSite(t)
	manifest := `{"schema":1,"behaviors":[{"name":"swap.op","operation":{}}]}`
	if _, err := s.Push(t.Context(), api.PushRequest{Wasm: bytes.NewReader(apitest.ModuleSpin("swap")), Manifest: []byte(manifest)}); err != nil {
		t.Fatal(err)
	}
	stranger := auth.WithPrincipal(t.Context(), &auth.Principal{Number: s.AddToken("stranger")})
	ctx := as(t, mine, "submit")
	p := auth.PrincipalOf(ctx)
	p.Number = s.AddTokenFor("swapper", p.Grant)
	o, err := s.StartOperation(stranger, api.StartOperationRequest{Behavior: "swap.op", Partitions: api.Partitions{Count: 1}})
	if err != nil {
		t.Fatal(err)
	}
	s.creators[o.ID] = auth.PrincipalOf(stranger).Number
	look := func(_ context.Context, fn func(access.Records)) error { fn(formerly{p.Number}); return nil }
	guarded := s.gate.Guard(s.Fake, access.Looks{Local: func(func(access.Records)) {}, Read: look})
	for name, call := range map[string]func(s api.Service) error{
		"cancel": func(s api.Service) error { _, err := s.CancelOperation(ctx, "", o.ID); return err },
		"retry":  func(s api.Service) error { _, err := s.RetryOperation(ctx, "", o.ID); return err },
		"remove": func(s api.Service) error { return s.RemoveOperation(ctx, "", o.ID) },
	} {
		err, again := call(guarded), call(s.guarded)
		if api.CodeOf(err) != api.CodeForbidden || again == nil || err.Error() != again.Error() {
			t.Errorf("%s: %v\nand to whoever asks after that: %v", name, err, again)
		}
	}
	x, err := s.Operation(t.Context(), "", o.ID, api.OperationGet{})
	if err != nil || x.Status != "RUNNING" || x.Stopping {
		t.Errorf("%+v, %v", x, err)
	}
}
