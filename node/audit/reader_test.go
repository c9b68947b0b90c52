package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/access"
)

// site is a state, and a gate that knows one token.
type site struct {
	mu      sync.Mutex
	m       *task.Machine
	looks   int
	revoked chan struct{}
}

func newSite() *site {
	s := &site{m: task.NewMachine(), revoked: make(chan struct{})}
	s.apply(task.Caller{}, task.RaiseLevel{Level: task.AccessLevel})
	return s
}

func (s *site) apply(by task.Caller, c task.Command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m.Apply(task.Header{Index: s.m.Index() + 1, Term: 1, Now: 1000}, []task.Proposal{{Caller: by, Command: c}})
}

// change leaves a record.
func (s *site) change(route, target string) {
	s.apply(task.Caller{Token: access.Root, From: "::1", Route: route, Target: target}, task.SetRoot{})
}

func (s *site) Local(fn func(*task.Machine)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	fn(s.m)
}

func (s *site) Read(_ context.Context, fn func(*task.Machine) bool) error {
	for more := true; more; {
		s.Local(func(m *task.Machine) { more = fn(m) })
	}
	return nil
}

var errRevoked = errors.New("revoked")

func (s *site) Still(*auth.Principal) error {
	select {
	case <-s.revoked:
		return errRevoked
	default:
		return nil
	}
}

func (s *site) Long(ctx context.Context, p *auth.Principal) (context.Context, func(), error) {
	long, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-s.revoked:
			cancel(errRevoked)
		case <-long.Done():
		}
	}()
	return long, func() { cancel(nil) }, s.Still(p)
}

// as returns a context of a token with a role.
func as(t *testing.T, role access.Roles) context.Context {
	return auth.WithPrincipal(t.Context(), &auth.Principal{Number: 2, Grant: access.Grant{Roles: role, Namespaces: []string{"*"}, Behaviors: []string{"*"}}})
}

// TestReader: who may read the audit, what a page has, and how a stream goes on and ends (SPEC A8, A4).
func TestReader(t *testing.T) {
	s := newSite()
	r := NewReader(s, s)
	const many = 3*lookedAt + 5
	for n := range many {
		s.change(fmt.Sprintf("PUT /v1/r%d", n%2), "team/")
	}
	s.apply(task.Caller{}, task.NoteRefusals{Refusals: []task.Refusal{{Token: 9, Route: "GET /v1/tasks", Namespace: "lab", Count: 3}}})
	boss := as(t, access.Admin)
	for name, ctx := range map[string]context.Context{"nobody": t.Context(), "everything but admin": as(t, access.All&^access.Admin)} {
		if _, err := r.Audit(ctx, auth.AuditRequest{}); api.ErrorOf(err) == nil {
			t.Errorf("%s reads: %v", name, err)
		}
		if _, err := r.FollowAudit(ctx, auth.AuditRequest{}); api.ErrorOf(err) == nil {
			t.Errorf("%s follows: %v", name, err)
		}
	}
	page, err := r.Audit(boss, auth.AuditRequest{Limit: 3, Route: "/v1/r1", HasAfter: true, After: 10})
	if err != nil || len(page.Records) != 3 || page.Records[2].Number != 16 || page.Records[2].Token != "root" || page.Records[0].At != api.TimeOf(1000) {
		t.Fatalf("%+v, %v", page, err)
	}
	if next, err := r.Audit(boss, auth.AuditRequest{Limit: 1, Route: "PUT /v1/r1", Cursor: page.Cursor}); err != nil || next.Records[0].Number != 18 {
		t.Errorf("%+v, %v", next, err)
	}
	s.looks = 0
	last, err := r.Audit(boss, auth.AuditRequest{Namespace: "lab"})
	if err != nil || len(last.Records) != 1 || last.Records[0].Requests != 3 || last.Records[0].Token != "token:9" || last.Cursor != "" || s.looks != 4 {
		t.Errorf("%+v, %v, in %d looks", last, err, s.looks)
	}
	for _, bad := range []auth.AuditRequest{{Limit: 1001}, {Limit: -1}, {Cursor: "a-"}, {Cursor: "b1"}, {Cursor: "a1", HasAfter: true}, {Refused: "no"}, {Namespace: "a b"}} {
		if _, err := r.Audit(boss, bad); api.CodeOf(err) != api.CodeInvalidField {
			t.Errorf("%+v: %v", bad, err)
		}
	}

	fresh, err := r.FollowAudit(boss, auth.AuditRequest{Refused: "false"})
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	old, err := r.FollowAudit(boss, auth.AuditRequest{HasAfter: true, After: many - 1})
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	want := func(stream api.EventStream, numbers ...uint64) {
		t.Helper()
		for _, n := range numbers {
			e, err := stream.Next(t.Context())
			var x auth.AuditRecord
			if err != nil || e.Kind != auth.AuditEvent || e.Rev != n || json.Unmarshal(e.Data, &x) != nil || x.Number != n {
				t.Fatalf("record %d: %+v, %v", n, e, err)
			}
		}
	}
	want(old, many, many+1)
	come := make(chan struct{})
	go func() { // while one waits for it
		defer close(come)
		s.change("PUT /v1/new", "team/")
		r.Wake()
	}()
	want(fresh, many+2)
	<-come
	want(old, many+2)
	if fresh.Position() != many+2 {
		t.Errorf("go on from %d", fresh.Position())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := fresh.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up: %v", err)
	}
	close(s.revoked)
	if _, err := fresh.Next(t.Context()); !errors.Is(err, errRevoked) {
		t.Errorf("the stream of a revoked token: %v", err)
	}
	if _, err := r.Audit(boss, auth.AuditRequest{}); !errors.Is(err, errRevoked) {
		t.Errorf("a page for a revoked token: %v", err)
	}
	if _, err := r.FollowAudit(boss, auth.AuditRequest{}); !errors.Is(err, errRevoked) {
		t.Errorf("a stream for a revoked token: %v", err)
	}
}
