package insight_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	contract "github.com/taskrt/taskrt/api/insight"
	"github.com/taskrt/taskrt/node/insight"
	"github.com/taskrt/taskrt/node/lead"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// scene is a machine with one task, "its", that may wait.
type scene struct {
	t    *testing.T
	m    *task.Machine
	head task.Header
	loop lead.Stand
}

func (s *scene) apply(c task.Command) *task.Task {
	s.t.Helper()
	s.head.Index++
	s.head.Now++
	s.head.LeaseNow++
	rs, _ := s.m.Apply(s.head, []task.Proposal{{Command: c}})
	if rs[0].Code != task.OK {
		s.t.Fatalf("%T: %s %s", c, rs[0].Code, rs[0].Message)
	}
	return rs[0].Task
}

// obstacle is what keeps it waiting. before comes before the task is submitted.
type obstacle struct {
	code          string
	policy        func(*task.Policy)
	submit        func(*task.Submit)
	before, after func(*scene)
	external      bool // it makes sense for external behaviors only
	worker        bool // for those that a module runs only
}

// run lets another task of the behavior run.
func (s *scene) run(key string) {
	s.apply(task.Submit{Namespace: task.DefaultNamespace, ID: "other", Behavior: "mail", ConcurrencyKey: key})
	x := s.m.Task(task.Key{Namespace: task.DefaultNamespace, ID: "other"})
	if s.m.Version(task.DefaultNamespace, "mail", "").Module == "" {
		s.apply(task.Assign{Key: x.Key(), Rev: x.Rev, External: &task.Acceptor{Worker: "w"}})
		return
	}
	s.head.Index++
	rs, _ := s.m.Apply(s.head, []task.Proposal{{Command: task.OpenSession{Worker: "other", Slots: 9, TTL: 10_000, Proof: []byte("x")}}})
	s.apply(task.Assign{Key: x.Key(), Rev: x.Rev, Session: rs[0].Session.ID})
}

var obstacles = []obstacle{
	{code: contract.DeadlinePassed, submit: func(c *task.Submit) { c.Deadline = 1_000_005 }, after: func(s *scene) { s.head.Now = 1_000_100; s.head.Index++; s.m.Apply(s.head, nil) }},
	{code: contract.DueLater, submit: func(c *task.Submit) { c.Delay = 1_000_000 }},
	{code: contract.SpaceInactive, after: func(s *scene) {
		s.apply(task.SetNamespaceStatus{Name: task.DefaultNamespace, Status: task.NamespaceIsInactive})
	}},
	{code: contract.SpaceLimit, before: func(s *scene) { s.runOnce() }, after: func(s *scene) {
		s.apply(task.PutNamespace{Name: task.DefaultNamespace, Share: &task.Share{MaxRunning: 1}})
	}},
	{code: contract.BehaviorPaused, after: func(s *scene) {
		s.apply(task.PauseBehavior{Namespace: task.DefaultNamespace, Name: "mail", Paused: true})
	}},
	{code: contract.BehaviorLimit, policy: func(p *task.Policy) { p.MaxConcurrent = 1 }, before: func(s *scene) { s.runOnce() }},
	{code: contract.KeyLimit, policy: func(p *task.Policy) { p.MaxPerKey = 1 }, submit: func(c *task.Submit) { c.ConcurrencyKey = "k" }, before: func(s *scene) { s.runOnce() }},
	{code: contract.NoAcceptor, external: true, after: func(s *scene) { s.loop.Acceptors = 0 }},
	{code: contract.NoWorker, worker: true, after: func(s *scene) { s.loop.Workers = nil }},
	{code: contract.ModuleNotReady, worker: true, after: func(s *scene) { s.only(lead.Unready) }},
	{code: contract.NoSuitedWorker, worker: true, after: func(s *scene) { s.only(lead.Unsuited) }},
	{code: contract.WorkerDrained, worker: true, after: func(s *scene) { s.only(lead.Drained) }},
	{code: contract.SlotsTaken, worker: true, after: func(s *scene) { s.only(lead.Full) }},
	{code: contract.Behind, after: func(s *scene) { s.loop.Next = false }},
}

// runOnce is run for obstacles that come together.
func (s *scene) runOnce() {
	if s.m.Task(task.Key{Namespace: task.DefaultNamespace, ID: "other"}) == nil {
		s.run("k")
	}
}

// only lets all workers stand so with the task, beside those that stand otherwise already.
func (s *scene) only(f lead.Fit) {
	delete(s.loop.Workers, lead.Fits)
	s.loop.Workers[f] = append(s.loop.Workers[f], fmt.Sprint("w", f))
}

// stage makes a scene with some obstacles, and returns the codes that are said.
func stage(t *testing.T, external bool, with ...obstacle) []string {
	t.Helper()
	s := &scene{t: t, m: task.NewMachine(), head: task.Header{Term: 1, Now: 1_000_000, LeaseNow: 1}}
	s.loop = lead.Stand{Workers: map[lead.Fit][]string{lead.Fits: {"w"}}, Acceptors: 1, Next: true}
	p := task.DefaultPolicy()
	c := task.Submit{Namespace: task.DefaultNamespace, ID: "its", Behavior: "mail"}
	for _, o := range with {
		if o.policy != nil {
			o.policy(&p)
		}
		if o.submit != nil {
			o.submit(&c)
		}
	}
	if external {
		s.apply(task.PutBehavior{Namespace: task.DefaultNamespace, Name: "mail", Version: "v", Policy: p})
	} else {
		digest := fmt.Sprintf("%064x", 1)
		s.apply(task.Activate{Namespace: task.DefaultNamespace, Module: task.Module{Digest: digest, Size: 1, Version: "v"}, Behaviors: []task.Activated{{Name: "mail", Policy: p}}})
	}
	for _, o := range with {
		if o.before != nil {
			o.before(s)
		}
	}
	s.apply(c)
	for _, o := range with {
		if o.after != nil {
			o.after(s)
		}
	}
	r := insight.Explain(s.m, task.Key{Namespace: task.DefaultNamespace, ID: "its"}, &s.loop)
	if !r.Waits {
		t.Fatalf("%+v", r)
	}
	codes := []string{}
	for _, x := range r.Reasons {
		if x.Text == "" {
			t.Errorf("%s has no words", x.Code)
		}
		codes = append(codes, x.Code)
	}
	return codes
}

// TestReasons provokes each reason, alone and two at once (SPEC Q4): all of them are said, and what decides is said first.
func TestReasons(t *testing.T) {
	for _, external := range []bool{true, false} {
		if got := stage(t, external); !slices.Equal(got, []string{contract.Assigning}) {
			t.Errorf("with nothing in the way: %v", got)
		}
		fits := func(o obstacle) bool { return !o.external && !o.worker || o.external == external }
		for i, first := range obstacles {
			if !fits(first) {
				continue
			}
			if got := stage(t, external, first); !slices.Equal(got, []string{first.code}) {
				t.Errorf("%s: %v", first.code, got)
			}
			for _, second := range obstacles[i+1:] {
				if !fits(second) || alone(first, second) {
					continue
				}
				if got := stage(t, external, first, second); !slices.Equal(got, []string{first.code, second.code}) {
					t.Errorf("%s and %s: %v", first.code, second.code, got)
				}
			}
		}
	}
}

// alone reports whether one of two reasons makes the other void: without a worker none is busy, a reason for nobody hides who comes first, and what
// is said of workers that cannot run it is not said while others could.
func alone(a, b obstacle) bool {
	for _, x := range []obstacle{a, b} {
		if x.code == contract.NoWorker || x.code == contract.NoAcceptor {
			other := a
			if x.code == a.code {
				other = b
			}
			if other.worker || other.external || other.code == contract.Behind {
				return true
			}
		}
	}
	busy := a.code == contract.SlotsTaken || b.code == contract.SlotsTaken
	return busy && a.worker && b.worker || b.code == contract.Behind // see TestBehind
}

// TestUnreadyWorkers: of workers that have not the module, it is said how far how many are; the first of them say it themselves.
func TestUnreadyWorkers(t *testing.T) {
	s := &scene{t: t, m: task.NewMachine(), head: task.Header{Term: 1, Now: 1_000_000, LeaseNow: 1}}
	s.apply(task.Activate{
		Namespace: task.DefaultNamespace, Module: task.Module{Digest: strings.Repeat("ab", 32), Size: 1, Version: "v"},
		Behaviors: []task.Activated{{Name: "mail", Policy: task.DefaultPolicy()}},
	})
	s.apply(task.Submit{Namespace: task.DefaultNamespace, ID: "its", Behavior: "mail"})
	workers := []string{"a-old", "b-fails"}
	s.loop.Preparing = []lead.Preparation{{Worker: "b-fails", Since: time.UnixMilli(5), Unready: stream.Unready{Step: stream.Pausing, Failed: 3, Error: "n2: no"}}}
	for i := range 12 {
		workers = append(workers, fmt.Sprint("w", i))
		s.loop.Preparing = append(s.loop.Preparing, lead.Preparation{Worker: fmt.Sprint("w", i), Since: time.UnixMilli(7), Unready: stream.Unready{Step: stream.Compiling}})
	}
	s.loop.Workers = map[lead.Fit][]string{lead.Unready: workers}
	r := insight.Explain(s.m, task.Key{Namespace: task.DefaultNamespace, ID: "its"}, &s.loop)
	if len(r.Reasons) != 1 {
		t.Fatalf("%+v", r)
	}
	x := r.Reasons[0]
	want := "no worker has the module abababababab ready: 1 failed to make it ready and will try again, 12 compiling it, 1 not saying how far it is"
	if x.Code != contract.ModuleNotReady || x.Text != want || len(x.Workers) != contract.MaxBy || len(x.Preparing) != contract.MaxBy {
		t.Errorf("%+v", x)
	}
	if p := x.Preparing[0]; p.Worker != "b-fails" || p.Step != "failed" || p.Since.UnixMilli() != 5 || p.Failed != 3 || p.Error != "n2: no" {
		t.Errorf("%+v", p)
	}
}

// TestBehind: who has no turn is told how many of its behavior come first; without any it is others.
func TestBehind(t *testing.T) {
	for others, want := range map[int]int64{3: 3, 0: 0} {
		s := &scene{t: t, m: task.NewMachine(), head: task.Header{Term: 1, Now: 1_000_000, LeaseNow: 1}, loop: lead.Stand{Acceptors: 1}}
		s.apply(task.PutBehavior{Namespace: task.DefaultNamespace, Name: "mail", Version: "v", Policy: task.DefaultPolicy()})
		for i := range others + 1 {
			s.apply(task.Submit{Namespace: task.DefaultNamespace, ID: fmt.Sprint("task-", i), Behavior: "mail"})
		}
		r := insight.Explain(s.m, task.Key{Namespace: task.DefaultNamespace, ID: fmt.Sprint("task-", others)}, &s.loop)
		if len(r.Reasons) != 1 || r.Reasons[0].Code != contract.Behind || r.Reasons[0].Before != want {
			t.Errorf("%d before it: %+v", others, r.Reasons)
		}
	}
}

// log is a state that can be read, or cannot.
type log struct {
	m   *task.Machine
	err error
}

func (l log) Local(fn func(*task.Machine)) { fn(l.m) }
func (l log) Read(_ context.Context, fn func(*task.Machine) bool) error {
	if l.err == nil {
		fn(l.m)
	}
	return l.err
}

// TestWithoutLeader: without a leader that is the first reason, whether the node knows that there is none or finds out; and when the leader does not
// answer that is said, too.
func TestWithoutLeader(t *testing.T) {
	s := &scene{t: t, m: task.NewMachine(), head: task.Header{Term: 1, Now: 1_000_000, LeaseNow: 1}}
	s.apply(task.PutBehavior{Namespace: task.DefaultNamespace, Name: "mail", Version: "v", Policy: task.DefaultPolicy()})
	s.apply(task.Submit{Namespace: task.DefaultNamespace, ID: "its", Behavior: "mail", Delay: 1000})
	for _, c := range []struct {
		leads bool
		read  error
		want  []string
	}{
		{false, nil, []string{contract.NoLeader, contract.DueLater}},
		{true, api.NewError(api.CodeNoLeader, "gone"), []string{contract.NoLeader, contract.DueLater}},
		{true, nil, []string{contract.DueLater, contract.Unknown}},
	} {
		x := insight.New(insight.Config{
			Log: log{s.m, c.read}, Leads: func() bool { return c.leads },
			Leader: func(context.Context, task.Key) (*contract.WhyReply, error) { return nil, errors.New("no answer") },
		})
		r, err := x.Why(t.Context(), "", "its")
		if err != nil {
			t.Fatal(err)
		}
		codes := []string{}
		for _, x := range r.Reasons {
			codes = append(codes, x.Code)
		}
		if !slices.Equal(codes, c.want) {
			t.Errorf("%+v: %v", c, codes)
		}
		if _, err := x.Why(t.Context(), "", "nobody"); api.CodeOf(err) != api.CodeTaskNotFound {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
