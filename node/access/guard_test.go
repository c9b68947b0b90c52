package access_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/apitest"
	"github.com/taskrt/taskrt/api/auth"
	"github.com/taskrt/taskrt/api/insight"
	"github.com/taskrt/taskrt/api/jobs"
	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/node/access"
	grants "github.com/taskrt/taskrt/task/access"
)

// site is a real Service behind a guard. Its tokens hold unless they are in revoked.
type site struct {
	t *testing.T
	*apitest.Fake
	guarded  api.Service
	gate     *access.Gate
	mu       sync.Mutex
	revoked  map[uint64]bool
	creators map[string]uint64 // by ID of a task or an operation
}

// The site's tokens and behaviors. The caller has number 2.
const (
	caller = 2
	mine   = "mail.send"
	others = "bill.run"
)

func (s *site) Rev() uint64                  { return 0 }
func (s *site) Now() int64                   { return 0 }
func (s *site) RootOff() bool                { return false }
func (s *site) Find([32]byte) *access.Token  { return nil }
func (s *site) Holds(number uint64) bool     { return !s.revoked[number] }
func (s *site) local(fn func(access.Tokens)) { s.mu.Lock(); defer s.mu.Unlock(); fn(s) }
func (s *site) look(fn func(access.Records)) { fn(records{s}) }
func (s *site) revoke(number uint64) {
	s.mu.Lock()
	s.revoked[number] = true
	s.mu.Unlock()
	s.gate.Changed()
}

// records are the records of the site's Service.
type records struct{ s *site }

func (r records) Task(namespace, id string) *access.Record {
	t, err := r.s.Task(context.Background(), namespace, id, api.GetOptions{})
	if err != nil {
		return nil
	}
	rec := &access.Record{Behavior: t.Behavior, Creator: r.s.creators[id]}
	if t.Lease != nil {
		rec.Lease = t.Lease.Token
	}
	return rec
}

func (r records) Operation(namespace, id string) *access.Record {
	o, err := r.s.Operation(context.Background(), namespace, id, api.OperationGet{})
	if err != nil {
		return nil
	}
	return &access.Record{Behavior: o.Behavior, Creator: r.s.creators[id]}
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, Fake: apitest.NewFake(), revoked: map[uint64]bool{}, creators: map[string]uint64{}}
	t.Cleanup(s.Close)
	if n := s.AddToken("caller"); n != caller {
		t.Fatalf("the caller has number %d", n)
	}
	changed, led, asked := make(chan struct{}), make(chan struct{}), 0
	close(changed)
	s.gate = access.New(access.Config{
		CatchUp: func(context.Context) error { return nil },
		Local:   s.local, Static: func() access.Static { return access.Static{} },
		Follow: func() (string, <-chan struct{}, <-chan struct{}) {
			if asked++; asked == 1 {
				return "n1", nil, changed // Run asks again when it has taken this in
			}
			if asked == 2 {
				close(led)
			}
			return "n1", nil, nil
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.gate.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	s.guarded = s.gate.Guard(s.Fake, access.Looks{Local: s.look, Read: func(_ context.Context, fn func(access.Records)) error { s.look(fn); return nil }})
	<-led
	for _, name := range []string{mine, others} {
		if _, err := s.PutBehavior(t.Context(), api.PutBehaviorRequest{Name: name, Policy: json.RawMessage(`{"kind":"external"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// task makes a task that a token has created.
func (s *site) task(id, behavior string, creator uint64) {
	s.t.Helper()
	s.creators[id] = creator
	if _, err := s.Submit(s.t.Context(), api.SubmitRequest{ID: id, Behavior: behavior}); err != nil {
		s.t.Fatal(err)
	}
}

// as returns a context of the caller with roles for a behavior, or for all.
func as(t *testing.T, behavior string, roles ...string) context.Context {
	t.Helper()
	p := &auth.Principal{Number: caller, Name: "caller", Grant: grants.Grant{Namespaces: []string{"default"}, Behaviors: []string{behavior}}}
	for _, name := range roles {
		role, ok := grants.Role(name)
		if !ok {
			t.Fatal(name)
		}
		p.Grant.Roles |= role
	}
	return auth.WithPrincipal(t.Context(), p)
}

// uses are the calls about one task, with the role by which one may make them for tasks of others, written by hand from SPEC A5.
var uses = []struct {
	name, role string
	call       func(ctx context.Context, s api.Service, id string) error
}{
	{"get", "read", func(ctx context.Context, s api.Service, id string) error {
		_, err := s.Task(ctx, "", id, api.GetOptions{})
		return err
	}},
	{"logs", "read", func(ctx context.Context, s api.Service, id string) error {
		_, err := s.Logs(ctx, "", id, api.LogsGet{})
		return err
	}},
	{"wait", "read", func(ctx context.Context, s api.Service, id string) error {
		_, err := s.WaitTasks(ctx, api.WaitRequest{IDs: []string{id}, Until: "waiting", Timeout: new(api.Duration)})
		return err
	}},
	{"update", "operate", func(ctx context.Context, s api.Service, id string) error {
		_, err := s.Txn(ctx, api.TxnRequest{Update: []api.TxnUpdate{{ID: id, Labels: map[string]string{}}}})
		return err
	}},
	{"resubmit", "operate", func(ctx context.Context, s api.Service, id string) error {
		_, err := s.Resubmit(ctx, api.ResubmitRequest{ID: id})
		return err
	}},
	{"retry", "operate", func(ctx context.Context, s api.Service, id string) error {
		_, err := s.Retry(ctx, api.RetryRequest{ID: id})
		return err
	}},
	{"cancel", "operate", func(ctx context.Context, s api.Service, id string) error { _, err := s.Cancel(ctx, "", id); return err }},
	{"delete", "operate", func(ctx context.Context, s api.Service, id string) error {
		_, err := s.Txn(ctx, api.TxnRequest{Delete: []api.TxnDelete{{ID: id, Rev: 1 << 40}}})
		return err
	}},
	{"report", "work", func(ctx context.Context, s api.Service, id string) error {
		_, err := s.Finish(ctx, api.FinishRequest{ID: id, Token: 1 << 40})
		return err
	}},
	{"beat", "work", func(ctx context.Context, s api.Service, id string) error {
		_, err := s.Heartbeat(ctx, api.HeartbeatRequest{ID: id, Token: 1 << 40})
		return err
	}},
	{"remove", "operate", func(ctx context.Context, s api.Service, id string) error { return s.Remove(ctx, "", id) }},
}

// TestRecords: who may do what with a task: by a role for its behavior, or because it is one's own (SPEC A5).
func TestRecords(t *testing.T) {
	s := newSite(t)
	for _, role := range []string{"read", "submit", "work", "deploy", "operate", "admin"} {
		for _, use := range uses {
			for _, x := range []struct {
				id, behavior string
				creator      uint64
			}{{"own-task", mine, caller}, {"own-other", others, caller}, {"met-task", mine, 3}, {"far-task", others, 3}} {
				s.task(x.id, x.behavior, x.creator)
				allowed := role == use.role && x.behavior == mine || role == "submit" && x.creator == caller && use.role != "work"
				err := use.call(as(t, mine, role), s.guarded, x.id)
				if forbidden := api.CodeOf(err) == api.CodeForbidden; forbidden == allowed {
					t.Errorf("%s, %s of %s: %v", role, use.name, x.id, err)
				}
				if err := use.call(as(t, "*", role), s.guarded, "nothing-here"); api.CodeOf(err) == api.CodeInternal {
					t.Errorf("%s, %s of nothing: %v", role, use.name, err)
				}
				foreign := as(t, mine, role)
				auth.PrincipalOf(foreign).Grant.Namespaces = []string{"elsewhere"}
				if err := use.call(foreign, s.guarded, x.id); api.CodeOf(err) != "namespace_not_found" {
					t.Errorf("%s of another namespace, %s of %s: %v", role, use.name, x.id, err)
				}
			}
		}
	}
}

// TestLists: lists and events name only what the caller may read (SPEC A5).
func TestLists(t *testing.T) {
	s := newSite(t)
	s.task("a-mine", mine, 3)
	s.task("b-other", others, 3)
	s.task("c-mine", mine, 3)
	for _, c := range []struct{ behavior, want string }{{mine, "a-mine c-mine"}, {"*", "a-mine b-other c-mine"}} {
		reply, err := s.guarded.Tasks(as(t, c.behavior, "read"), api.ListRequest{})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, x := range reply.Tasks {
			ids = append(ids, x.ID)
		}
		if strings.Join(ids, " ") != c.want {
			t.Errorf("%s: %v", c.behavior, ids)
		}
		behaviors, err := s.guarded.Behaviors(as(t, c.behavior, "work"), "")
		if err != nil || len(behaviors) != len(ids)-1 {
			t.Errorf("%s: %v, %v", c.behavior, behaviors, err)
		}
		stream, err := s.guarded.Events(as(t, c.behavior, "read"), api.EventsRequest{HasAfter: true})
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		told := map[string]bool{}
		for !told["c-mine"] { // the last; there may be a reset in between, with all of them again
			e, err := stream.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var about api.TaskEvent
			if err := json.Unmarshal(e.Data, &about); err != nil {
				t.Fatal(err)
			}
			if about.Task != nil {
				told[about.Task.ID] = true
			}
		}
		if got := slices.Sorted(maps.Keys(told)); !slices.Equal(got, ids) {
			t.Errorf("%s: told of %v", c.behavior, got)
		}
	}
	all, err := s.guarded.Namespaces(as(t, mine, "read"))
	if err != nil || len(all) != 1 || all[0].Name != "default" {
		t.Errorf("%v, %v", all, err)
	}
}

// TestJoin: who meets a task of somebody else, and may not read it, is told which it is and where it stands (SPEC A5). To make it run again
// needs operate.
func TestJoin(t *testing.T) {
	s := newSite(t)
	s.task("met-task", mine, 3)
	s.task("own-task", mine, caller)
	for id, whole := range map[string]bool{"met-task": false, "own-task": true} {
		reply, err := s.guarded.Submit(as(t, mine, "submit"), api.SubmitRequest{ID: id, Behavior: mine})
		if err != nil || reply.Outcome != "existing" || reply.Task.ID != id || reply.Task.Status != "CREATED" || (reply.Task.Rev != 0) != whole {
			t.Errorf("%s: %+v, %v", id, reply, err)
		}
		for _, how := range []string{"rerun", "resubmit"} {
			r := api.SubmitRequest{ID: id, Behavior: mine, IfExists: how}
			if _, err := s.guarded.Submit(as(t, mine, "submit"), r); (api.CodeOf(err) == api.CodeForbidden) == whole {
				t.Errorf("%s of %s: %v", how, id, err)
			}
			if _, err := s.guarded.Submit(as(t, mine, "submit", "operate"), r); err != nil {
				t.Errorf("%s of %s by an operator: %v", how, id, err)
			}
		}
	}
}

// TestBatches: of many each is looked at by itself, and keeps its place.
func TestBatches(t *testing.T) {
	s := newSite(t)
	out, err := s.guarded.SubmitBatch(as(t, mine, "submit"), []api.SubmitRequest{{ID: "task-0", Behavior: others}, {ID: "task-1", Behavior: mine}, {ID: "task-2", Namespace: "elsewhere", Behavior: mine}})
	if err != nil {
		t.Fatal(err)
	}
	if api.CodeOf(out[0].Error) != api.CodeForbidden || out[1].Error != nil || out[1].Task.ID != "task-1" || api.CodeOf(out[2].Error) != "namespace_not_found" {
		t.Errorf("%+v", out)
	}
	s.task("far-task", others, 3)
	answers, err := s.guarded.FinishMany(as(t, mine, "work"), []api.FinishRequest{{ID: "far-task", Token: 1}, {ID: "task-1", Token: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if api.CodeOf(answers[0].Error) != api.CodeForbidden || api.CodeOf(answers[1].Error) != api.CodeHalt {
		t.Errorf("%+v", answers)
	}
}

// TestPush: a module is pushed by who may deploy all of its behaviors.
func TestPush(t *testing.T) {
	s := newSite(t)
	push := func(ctx context.Context) error {
		_, err := s.guarded.Push(ctx, api.PushRequest{Name: "apitest.ok", Wasm: bytes.NewReader(apitest.ModuleOK(""))})
		return err
	}
	if err := push(as(t, mine, "deploy")); api.CodeOf(err) != api.CodeForbidden {
		t.Error(err)
	}
	if _, err := s.Behavior(t.Context(), "", "apitest.ok"); api.CodeOf(err) != api.CodeBehaviorNotFound {
		t.Errorf("it is there: %v", err)
	}
	if err := push(as(t, "apitest.*", "deploy")); err != nil {
		t.Error(err)
	}
	if err := s.guarded.DeleteBehavior(as(t, "*", "deploy"), "", mine, true); api.CodeOf(err) != api.CodeForbidden {
		t.Errorf("a purge by who may only deploy: %v", err)
	}
}

// TestRevoked: what a token waits for ends when the token is revoked, and what it asks for then is refused (SPEC A4).
func TestRevoked(t *testing.T) {
	s := newSite(t)
	s.task("own-task", mine, caller)
	ctx := as(t, "*", "read", "work")
	minute := api.Duration(time.Minute)
	waits := map[string]func() error{
		"get": func() error {
			_, err := s.guarded.Task(ctx, "", "own-task", api.GetOptions{Wait: time.Minute})
			return err
		},
		"wait": func() error {
			_, err := s.guarded.WaitTasks(ctx, api.WaitRequest{IDs: []string{"own-task"}, Timeout: &minute})
			return err
		},
		"accept": func() error {
			_, err := s.guarded.Accept(ctx, api.AcceptRequest{Behavior: others, Worker: "w", Wait: &minute})
			return err
		},
	}
	stream, err := s.guarded.Events(ctx, api.EventsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	waits["events"] = func() error { _, err := stream.Next(t.Context()); return err }
	ended := make(chan error, len(waits))
	for name, call := range waits {
		go func() {
			err := call()
			if api.CodeOf(err) != api.CodeUnauthenticated {
				ended <- errors.New(name + ": " + errorText(err))
				return
			}
			ended <- nil
		}()
	}
	s.revoke(caller) // some wait by now, others are about to: all end
	for range waits {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if _, err := s.guarded.Tasks(ctx, api.ListRequest{}); api.CodeOf(err) != api.CodeUnauthenticated {
		t.Errorf("a list: %v", err)
	}
	if _, err := s.guarded.ExportNamespace(ctx, api.ExportRequest{Name: "default"}); api.CodeOf(err) != api.CodeUnauthenticated {
		t.Errorf("an export: %v", err)
	}
}

func errorText(err error) string {
	if err == nil {
		return "it ended well"
	}
	return err.Error()
}

// TestDepends: what a transaction depends on must be readable, besides what its other parts need (SPEC A5).
func TestDepends(t *testing.T) {
	s := newSite(t)
	s.task("met-task", mine, 3)
	s.task("own-task", mine, caller)
	for _, c := range []struct {
		id, roles string
		forbidden bool
	}{{"met-task", "operate", true}, {"met-task", "operate read", false}, {"own-task", "submit", false}, {"met-task", "submit", true}} {
		_, err := s.guarded.Txn(as(t, mine, strings.Fields(c.roles)...), api.TxnRequest{Depends: []api.TxnDepend{{ID: c.id}}, Delete: []api.TxnDelete{{ID: "nothing-there"}}})
		if (api.CodeOf(err) == api.CodeForbidden) != c.forbidden || err == nil {
			t.Errorf("%s with %s: %v", c.id, c.roles, err)
		}
	}
}

// TestWorkerSecret: with a worker secret's token one learns where the members are, and nothing else (SPEC A4).
func TestWorkerSecret(t *testing.T) {
	s := newSite(t)
	ctx := auth.WithPrincipal(t.Context(), &auth.Principal{Name: "worker", Members: true})
	c, err := s.guarded.Cluster(ctx)
	if err != nil || len(c.Nodes) != 1 || c.Workers != nil || c.Tasks != (api.Totals{}) {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := s.guarded.Namespaces(ctx); api.CodeOf(err) != api.CodeForbidden {
		t.Error(err)
	}
	if _, err := s.guarded.Tasks(ctx, api.ListRequest{}); api.CodeOf(err) != api.CodeForbidden {
		t.Error(err)
	}
}

// TestNobodyAsked: without a caller the guard changes nothing: the whole suite passes through it.
func TestNobodyAsked(t *testing.T) {
	apitest.Run(t, func(t *testing.T) api.Service { return newSite(t).guarded })
}

// TestRecorded: a call is recorded if it is made with deploy, operate or admin, and not if it is about the caller's own (SPEC A8). The rule that
// lets it pass decides, where it is applied.
func TestRecorded(t *testing.T) {
	s := newSite(t)
	stranger := s.AddToken("stranger")
	made := 0
	for _, use := range uses {
		for _, c := range []struct {
			behavior, roles, of string
			recorded            bool
		}{
			{mine, "operate", "met", true}, {"*", "operate", "met", true}, {"*", "operate submit", "met", true},
			{"*", "operate", "own", true}, {"*", "operate submit", "own", false}, {mine, "submit", "own", false},
			{"*", "operate submit", "nobody", true}, {mine, "operate submit", "own", false}, {mine, "submit", "met", false},
		} {
			made++
			ctx := as(t, c.behavior, strings.Fields(c.roles)...)
			p := auth.PrincipalOf(ctx)
			p.Number = s.AddTokenFor(fmt.Sprintf("token-%d", made), p.Grant)
			id := fmt.Sprintf("%s-%d", c.of, made)
			if creator := map[string]uint64{"own": p.Number, "met": stranger}[c.of]; creator != 0 {
				s.creators[id] = creator
				if _, err := s.Submit(auth.WithPrincipal(t.Context(), &auth.Principal{Number: creator}), api.SubmitRequest{ID: id, Behavior: mine}); err != nil {
					t.Fatal(err)
				}
			}
			before := s.Audited()
			_ = use.call(auth.WithTrail(ctx, &auth.Trail{Route: "r"}), s.guarded, id)
			want := uint64(0)
			if c.recorded && use.role == "operate" {
				want = 1
			}
			if got := s.Audited() - before; got != want {
				t.Errorf("%s of %s with %s for %s: %d records, want %d", use.name, id, c.roles, c.behavior, got, want)
			}
		}
	}
	s.task("met-task", mine, stranger)
	before := s.Audited()
	r := api.SubmitRequest{ID: "met-task", Behavior: mine, IfExists: "rerun"}
	if _, err := s.guarded.Submit(auth.WithTrail(as(t, mine, "submit", "operate"), &auth.Trail{Route: "r"}), r); err != nil || s.Audited() != before+1 {
		t.Errorf("another's task runs again: %v, %d records", err, s.Audited()-before)
	}
}

// TestFailures: failures are grouped of the behaviors whose tasks the caller may read, and of no others (SPEC A5, Q2).
func TestFailures(t *testing.T) {
	s := newSite(t)
	for _, x := range []struct{ id, behavior string }{{"a-mine", mine}, {"b-other", others}, {"c-mine", mine}} {
		s.task(x.id, x.behavior, caller)
		if _, err := s.Cancel(t.Context(), "", x.id); err != nil {
			t.Fatal(err)
		}
	}
	guarded := s.gate.GuardInsight(s.Insight(), access.Looks{})
	for _, c := range []struct {
		behavior, role, want string
	}{
		{mine, "read", "[mail.send 2]"}, {"*", "read", "[mail.send 2 bill.run 1]"}, {"no.such", "read", "[]"},
		{mine, "submit", "forbidden"}, {"*", "operate", "forbidden"},
	} {
		reply, err := guarded.Failures(as(t, c.behavior, c.role), insight.FailuresRequest{})
		got := api.CodeOf(err)
		if err == nil {
			groups := []string{}
			for _, g := range reply.Groups {
				groups = append(groups, fmt.Sprint(g.Behavior, " ", g.Final))
			}
			got = fmt.Sprint(groups)
		}
		if got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.role, c.behavior, got, c.want)
		}
	}
	ctx := as(t, mine, "read")
	auth.PrincipalOf(ctx).Grant.Namespaces = []string{"elsewhere"}
	if _, err := guarded.Failures(ctx, insight.FailuresRequest{}); api.CodeOf(err) != "namespace_not_found" {
		t.Error(err)
	}
}

// TestJobs: a job is about tasks that its creator may steer, and says of no others how many there are (SPEC A5, Q3).
func TestJobs(t *testing.T) {
	s := newSite(t)
	stranger := s.AddToken("stranger")
	for _, x := range []struct {
		id, behavior string
		creator      uint64
	}{{"a-mine", mine, stranger}, {"b-other", others, stranger}, {"c-own", others, caller}} {
		ctx := auth.WithPrincipal(t.Context(), &auth.Principal{Number: x.creator})
		if _, err := s.Submit(ctx, api.SubmitRequest{ID: x.id, Behavior: x.behavior}); err != nil {
			t.Fatal(err)
		}
	}
	guarded := s.gate.GuardJobs(s.Jobs(), access.Looks{})
	for _, c := range []struct{ behavior, role, want string }{
		{mine, "operate", "1"}, {"*", "operate", "3"}, {"*", "submit", "1"}, {"no.such", "submit", "1"}, {mine, "read", "forbidden"}, {"*", "work", "forbidden"},
	} {
		r, err := guarded.Start(as(t, c.behavior, c.role), jobs.Cancel, jobs.JobRequest{All: true, DryRun: true})
		got := api.CodeOf(err)
		if err == nil {
			got = fmt.Sprint(*r.Matches)
		}
		if got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.role, c.behavior, got, c.want)
		}
	}
	narrow := &auth.Principal{Name: "narrow", Grant: grants.Grant{Roles: grants.Operate, Namespaces: []string{"default"}, Behaviors: []string{mine}}}
	narrow.Number = s.AddTokenFor(narrow.Name, narrow.Grant)
	ctx := auth.WithPrincipal(t.Context(), narrow)
	r, err := guarded.Start(ctx, jobs.Cancel, jobs.JobRequest{All: true})
	for err == nil && !r.Job.Ended() && idle.For(t.Context(), time.Millisecond) {
		r, err = guarded.Job(ctx, r.Job.ID)
	}
	if err != nil || r.Job.Selected != 1 || r.Job.Done != 1 || r.Job.Creator != "narrow" {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := guarded.Job(as(t, mine, "submit"), r.Job.ID); api.CodeOf(err) != api.CodeJobNotFound {
		t.Errorf("another's job: %v", err)
	}
	if _, err := guarded.Cancel(as(t, "*", "read"), r.Job.ID); api.CodeOf(err) != api.CodeForbidden {
		t.Errorf("to cancel another's job: %v", err)
	}
}

// unready is an Insight that knows why modules are not ready.
type unready struct{ insight.Insight }

// Why implements insight.Insight.
func (unready) Why(context.Context, string, string) (*insight.WhyReply, error) {
	ps := []insight.Preparation{{Worker: "w", Step: "failed", Failed: 3, Error: "n2:7071: no"}}
	return &insight.WhyReply{Namespace: "default", Behavior: mine, Reasons: []insight.WaitReason{{Code: insight.ModuleNotReady, Preparing: ps}}}, nil
}

// TestWhyOfUnreadyModules: what goes wrong on workers is told to whoever may read of all workers; others are told that it does (SPEC A5, Q4).
func TestWhyOfUnreadyModules(t *testing.T) {
	s := newSite(t)
	s.task("b-mine", mine, caller)
	guarded := s.gate.GuardInsight(unready{}, access.Looks{Local: s.look, Read: func(_ context.Context, fn func(access.Records)) error { s.look(fn); return nil }})
	everything := &auth.Principal{Name: "all", Grant: grants.Grant{Roles: grants.Read, Namespaces: []string{"*"}, Behaviors: []string{"*"}}}
	for want, ctx := range map[string]context.Context{"": as(t, "*", "read"), "n2:7071: no": auth.WithPrincipal(t.Context(), everything)} {
		r, err := guarded.Why(ctx, "", "b-mine")
		if err != nil || len(r.Reasons[0].Preparing) != 1 || r.Reasons[0].Preparing[0].Failed != 3 || r.Reasons[0].Preparing[0].Error != want {
			t.Errorf("want %q: %+v %v", want, r, err)
		}
	}
}

// TestWhy: whoever may see a task may know why it waits, and who created it is not told of others (SPEC A5, Q4).
func TestWhy(t *testing.T) {
	s := newSite(t)
	if _, err := s.PutBehavior(t.Context(), api.PutBehaviorRequest{Name: mine, Policy: json.RawMessage(`{"kind":"external","max_concurrent":1}`)}); err != nil {
		t.Fatal(err)
	}
	s.task("a-first", mine, 3)
	if _, err := s.Accept(t.Context(), api.AcceptRequest{Behavior: mine, Worker: "w"}); err != nil {
		t.Fatal(err)
	}
	s.task("b-mine", mine, caller)
	guarded := s.gate.GuardInsight(s.Insight(), access.Looks{Local: s.look, Read: func(_ context.Context, fn func(access.Records)) error { s.look(fn); return nil }})
	for _, c := range []struct{ behavior, role, want string }{
		{mine, "read", "behavior_limit [a-first]"}, {"*", "read", "behavior_limit [a-first]"}, {mine, "submit", "behavior_limit []"}, {others, "read", "forbidden"},
	} {
		r, err := guarded.Why(as(t, c.behavior, c.role), "", "b-mine")
		got := api.CodeOf(err)
		if err == nil {
			got = fmt.Sprint(r.Reasons[0].Code, " ", r.Reasons[0].By)
		}
		if got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.role, c.behavior, got, c.want)
		}
	}
}
