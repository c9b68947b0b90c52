package task_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// rig is a machine with a log that writes itself.
type rig struct {
	t testing.TB
	m *task.Machine
	h task.Header

	unchecked uint64 // how many entries go by between two checks of all invariants, which take as long as the machine is large
}

func newRig(t testing.TB, policy func(*task.Policy), options ...task.Option) *rig {
	r := &rig{t: t, m: task.NewMachine(options...), h: task.Header{Term: 1, Now: 1_000_000, LeaseNow: 1}}
	p := task.DefaultPolicy()
	p.Retry.JitterPercent = 0
	if policy != nil {
		policy(&p)
	}
	r.must(task.Activate{
		Namespace: task.DefaultNamespace, Module: task.Module{Digest: "module", Version: "v1"},
		Behaviors: []task.Activated{{Name: "echo", Policy: p}},
	})
	r.must(task.OpenSession{Worker: "w1", Slots: 100, TTL: 10_000, Proof: []byte("p")})
	return r
}

func (r *rig) propose(ps ...task.Proposal) ([]task.Result, []task.Event) {
	r.t.Helper()
	r.h.Index++
	results, events := r.m.Apply(r.h, ps)
	if r.h.Index%(r.unchecked+1) == 0 {
		if err := r.m.Check(); err != nil {
			r.t.Fatal(err)
		}
	}
	return results, events
}

func (r *rig) apply(c task.Command) task.Result {
	r.t.Helper()
	results, _ := r.propose(task.Proposal{Command: c})
	return results[0]
}

func (r *rig) must(c task.Command) task.Result {
	r.t.Helper()
	result := r.apply(c)
	if result.Code != task.OK {
		r.t.Fatalf("%T%+v: %s %s", c, c, result.Code, result.Message)
	}
	return result
}

func key(id string) task.Key { return task.Key{Namespace: task.DefaultNamespace, ID: id} }

func submit(id string) task.Submit {
	return task.Submit{Namespace: task.DefaultNamespace, ID: id, Behavior: "echo", Priority: 4}
}

// maintain begins a run of maintenance and returns its token.
func (r *rig) maintain() uint64 {
	r.must(task.Activate{
		Namespace: task.SystemNamespace, Module: task.Module{Digest: task.NativeMaintenance, Version: "n1"},
		Behaviors: []task.Activated{{Name: task.MaintenanceBehavior, Policy: task.DefaultPolicy()}},
	})
	k := task.MaintenanceKey()
	r.must(task.Submit{Namespace: k.Namespace, ID: k.ID, Behavior: task.MaintenanceBehavior, Priority: 4})
	return r.must(task.Assign{Key: k, Rev: r.m.Task(k).Rev, Session: 1}).Task.Lease.Token
}

func (r *rig) assign(id string) *task.Task {
	r.t.Helper()
	return r.must(task.Assign{Key: key(id), Rev: r.m.Task(key(id)).Rev, Session: 1}).Task
}

func (r *rig) finish(id string, e *task.Error) *task.Task {
	r.t.Helper()
	return r.must(task.Finish{Key: key(id), Token: r.m.Task(key(id)).Lease.Token, Error: e}).Task
}

// statuses makes a task in each state that SPEC T1 tells apart.
var statuses = map[string]func(r *rig){
	"CREATED": func(r *rig) { r.must(submit("one")) },
	"CREATED future": func(r *rig) {
		c := submit("one")
		c.Delay = 60_000
		r.must(c)
	},
	"RUNNING": func(r *rig) { r.must(submit("one")); r.assign("one") },
	"RUNNING cancelled": func(r *rig) {
		r.must(submit("one"))
		r.assign("one")
		r.must(task.Cancel{Key: key("one")})
	},
	"SUCCESS final": func(r *rig) { r.must(submit("one")); r.assign("one"); r.finish("one", nil) },
	"SUCCESS due": func(r *rig) {
		r.must(submit("one"))
		r.assign("one")
		c := submit("one")
		c.IfExists = task.Resubmit
		r.must(c)
		r.finish("one", nil)
	},
	"FAILURE final": func(r *rig) { r.must(submit("one")); r.assign("one"); r.finish("one", &task.Error{Code: "X"}) },
	"FAILURE due": func(r *rig) {
		r.must(submit("one"))
		r.assign("one")
		r.finish("one", &task.Error{Code: "X", Retryable: true})
		r.h.Now += 1000
		r.must(task.Tick{})
	},
	"CANCELLED": func(r *rig) { r.must(submit("one")); r.must(task.Cancel{Key: key("one")}) },
}

// TestTransitions is the table of SPEC T1: what each command makes of a task in each state. "-" is a refusal, which
// changes nothing; "=" an answer that changes nothing.
func TestTransitions(t *testing.T) {
	commands := map[string]func(x *task.Task) task.Command{
		"assign":  func(x *task.Task) task.Command { return task.Assign{Key: key("one"), Rev: x.Rev, Session: 1} },
		"succeed": func(x *task.Task) task.Command { return task.Finish{Key: key("one"), Token: token(x)} },
		"fail": func(x *task.Task) task.Command {
			return task.Finish{Key: key("one"), Token: token(x), Error: &task.Error{Code: "Y", Retryable: true}}
		},
		"snooze":   func(x *task.Task) task.Command { return task.Snooze{Key: key("one"), Token: token(x)} },
		"giveback": func(x *task.Task) task.Command { return task.GiveBack{Key: key("one"), Token: token(x)} },
		"cancel":   func(*task.Task) task.Command { return task.Cancel{Key: key("one")} },
		"rerun": func(*task.Task) task.Command {
			c := submit("one")
			c.IfExists = task.Rerun
			return c
		},
		"close": func(*task.Task) task.Command { return task.CloseSession{Session: 1} },
		"retry": func(*task.Task) task.Command { return task.RetryTask{Key: key("one")} },
	}
	order := []string{"assign", "succeed", "fail", "snooze", "giveback", "cancel", "rerun", "close", "retry"}
	want := map[string][]string{
		"CREATED":           {"RUNNING", "-", "-", "-", "-", "FAILURE final", "=", "=", "-"},
		"CREATED future":    {"-", "-", "-", "-", "-", "FAILURE final", "=", "=", "-"},
		"RUNNING":           {"-", "SUCCESS final", "FAILURE due", "CREATED", "CREATED", "RUNNING", "=", "CREATED", "-"},
		"RUNNING cancelled": {"-", "SUCCESS final", "FAILURE final", "FAILURE final", "FAILURE final", "=", "=", "FAILURE final", "-"},
		"SUCCESS final":     {"-", "=", "-", "-", "-", "-", "SUCCESS due", "=", "SUCCESS due"},
		"SUCCESS due":       {"RUNNING", "=", "-", "-", "-", "SUCCESS final", "=", "=", "-"},
		"FAILURE final":     {"-", "-", "-", "-", "-", "-", "FAILURE due", "=", "FAILURE due"},
		"FAILURE due":       {"RUNNING", "-", "-", "-", "-", "FAILURE final", "=", "=", "FAILURE due"},
		"CANCELLED":         {"-", "-", "-", "-", "-", "=", "FAILURE due", "=", "FAILURE due"},
	}
	for state, make := range statuses {
		for i, name := range order {
			t.Run(state+"/"+name, func(t *testing.T) {
				r := newRig(t, func(p *task.Policy) { p.Retry.MaxAttempts = 3 })
				make(r)
				before := r.m.Task(key("one"))
				result := r.apply(commands[name](before))
				after := r.m.Task(key("one"))
				got := after.Status.String()
				switch {
				case result.Code != task.OK:
					got = "-"
				case reflect.DeepEqual(after, before):
					got = "="
				case after.Final():
					got += " final"
				case after.Status == task.Success || after.Status == task.Failure:
					got += " due"
				}
				if got != want[state][i] {
					t.Errorf("%s, want %s (%s %s)", got, want[state][i], result.Code, result.Message)
				}
				if result.Code != task.OK && !reflect.DeepEqual(after, before) {
					t.Error("refused, but the record changed")
				}
			})
		}
	}
}

func TestImpossibleEntriesPanic(t *testing.T) {
	for name, f := range map[string]func(m *task.Machine){
		"same index":  func(m *task.Machine) { m.Apply(task.Header{Index: 5, Term: 2}, nil) },
		"lower index": func(m *task.Machine) { m.Apply(task.Header{Index: 4, Term: 2}, nil) },
		"lower term":  func(m *task.Machine) { m.Apply(task.Header{Index: 6, Term: 1}, nil) },
		"no command":  func(m *task.Machine) { m.Apply(task.Header{Index: 6, Term: 2}, make([]task.Proposal, 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			m := task.NewMachine()
			m.Apply(task.Header{Index: 5, Term: 2}, nil)
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f(m)
		})
	}
}

func TestNothingPendingAsksForNoTick(t *testing.T) {
	m := task.NewMachine()
	if wall, lease := m.NextTick(); wall != 0 || lease != 0 {
		t.Errorf("%d %d", wall, lease)
	}
	r := newRig(t, func(p *task.Policy) { p.KeepSuccess = 0 })
	r.must(submit("one"))
	r.assign("one")
	r.finish("one", nil) // kept for ever
	r.must(submit("two"))
	r.must(task.CloseSession{Session: 1})
	if wall, lease := r.m.NextTick(); wall != 0 || lease != 0 {
		t.Errorf("a due task and a final one: %d %d", wall, lease)
	}
}

func TestSweepIsBounded(t *testing.T) {
	r := newRig(t, nil, task.WithLimit(task.Limit{Finals: 1, Sweep: 3}))
	for i := range 8 {
		id := fmt.Sprintf("task-%d", i)
		r.must(submit(id))
		r.assign(id)
		r.finish(id, nil)
	}
	for _, left := range []int64{5, 2, 1} {
		if wall, _ := r.m.NextTick(); wall == 0 || wall > r.h.Now {
			t.Errorf("the next Tick is at %d, now is %d", wall, r.h.Now)
		}
		if r.must(task.Tick{}); r.m.Counts().Success != left {
			t.Errorf("%d left, want %d", r.m.Counts().Success, left)
		}
	}
	if r.must(task.Tick{}).Changed {
		t.Error("the fourth Tick changed something")
	}
}

func TestFinalTasksAreCapped(t *testing.T) {
	r := newRig(t, nil, task.WithLimit(task.Limit{Finals: 3, Sweep: 2}))
	for i := range 6 {
		id := fmt.Sprintf("task-%d", i)
		r.must(submit(id))
		if i%2 == 0 {
			r.must(task.Cancel{Key: key(id)})
		} else {
			r.assign(id)
			r.finish(id, nil)
		}
		r.h.Now += 10
	}
	restored, err := restore(r.m)
	if err != nil {
		t.Fatal(err)
	}
	r.m = restored // the cap is in the snapshot
	if wall, _ := r.m.NextTick(); wall != r.m.Now() {
		t.Errorf("the next Tick is at %d, want now", wall)
	}
	r.must(task.Tick{})
	r.must(task.Tick{})
	tasks, _ := r.m.Tasks(task.Filter{Limit: 10})
	if len(tasks) != 3 || tasks[0].ID != "task-3" {
		t.Errorf("%d kept, from %s: the oldest should have gone", len(tasks), tasks[0].ID)
	}
	if wall, _ := r.m.NextTick(); wall != 0 {
		t.Errorf("the next Tick is at %d: nothing is left to do", wall)
	}
}

func TestStrikesAreBounded(t *testing.T) {
	r := newRig(t, nil, task.WithLimit(task.Limit{StrikesATick: 2}))
	for i := range 5 {
		c := submit(fmt.Sprintf("task-%d", i))
		c.Deadline = r.h.Now + 10
		r.must(c)
	}
	r.h.Now += 10
	for _, left := range []int64{3, 1, 0} {
		r.must(task.Tick{})
		if r.m.Counts().Created != left {
			t.Errorf("%d wait, want %d", r.m.Counts().Created, left)
		}
	}
}

// TestAnswersAreBounded is H4's bound: what a process did not acknowledge in time is answered "unknown", never twice
// applied.
func TestAnswersAreBounded(t *testing.T) {
	r := newRig(t, nil, task.WithLimit(task.Limit{Answers: 3, Processes: 2}))
	send := func(process, seq, lowest uint64, c task.Command) task.Result {
		t.Helper()
		results, _ := r.propose(task.Proposal{Origin: task.Origin{Process: process, Seq: seq, Lowest: lowest}, Command: c})
		return results[0]
	}
	for seq := uint64(1); seq <= 5; seq++ {
		send(7, seq, 1, submit(fmt.Sprintf("task-%d", seq)))
		r.must(task.Remove{Key: key(fmt.Sprintf("task-%d", seq))})
	}
	for seq := uint64(1); seq <= 5; seq++ {
		want := task.OK
		if seq <= 2 {
			want = task.OriginForgotten
		}
		if got := send(7, seq, 1, submit(fmt.Sprintf("task-%d", seq))); got.Code != want {
			t.Errorf("seq %d: %q, want %q", seq, got.Code, want)
		}
	}
	if n := r.m.Counts().Created; n != 0 {
		t.Errorf("%d commands had a second effect", n)
	}
	// A third process displaces the one that was silent longest.
	r.h.LeaseNow += 5
	send(8, 1, 1, task.Tick{})
	r.h.LeaseNow += 5
	send(9, 1, 1, task.Tick{})
	if got := send(7, 6, 3, task.Tick{}); got.Code != task.OriginForgotten {
		t.Errorf("process 7: %q", got.Code)
	}
	if got := send(8, 2, 2, task.Tick{}); got.Code != task.OK {
		t.Errorf("process 8: %q", got.Code)
	}
}

func TestAnswersAreBoundedInBytes(t *testing.T) {
	for name, command := range map[string]func(id string) task.Command{
		"tasks": func(id string) task.Command {
			c := submit(id)
			c.Params = task.Payload{Encoding: task.Bytes, Data: make([]byte, 400)}
			return c
		},
		"operations": func(id string) task.Command {
			names := []string{strings.Repeat("a", 128), strings.Repeat("b", 128), strings.Repeat("c", 128)}
			return task.StartOperation{Namespace: task.DefaultNamespace, ID: id, Behavior: "echo", Partitions: 3, Names: names, Priority: 4}
		},
	} {
		t.Run(name, func(t *testing.T) { answersAreBoundedInBytes(t, command) })
	}
}

func answersAreBoundedInBytes(t *testing.T, command func(id string) task.Command) {
	fanOut := func(p *task.Policy) { p.Operation = &task.OperationPolicy{} }
	r := newRig(t, fanOut, task.WithLimit(task.Limit{AnswerBytes: 1000}))
	for seq := uint64(1); seq <= 5; seq++ {
		c := command(fmt.Sprintf("task-%d", seq))
		p := task.Proposal{Origin: task.Origin{Process: 7, Seq: seq, Lowest: 1}, Command: c}
		r.propose(p)
		if results, events := r.propose(p); results[0].Code != task.OK || len(events) != 0 {
			t.Errorf("seq %d sent again: %+v", seq, results[0])
		}
	}
	results, _ := r.propose(task.Proposal{Origin: task.Origin{Process: 7, Seq: 3, Lowest: 1}, Command: task.Tick{}})
	if results[0].Code != task.OriginForgotten {
		t.Errorf("%q", results[0].Code)
	}
}

// TestResendInOneEntry sends a command twice in the same entry, as a batcher may.
func TestResendInOneEntry(t *testing.T) {
	r := newRig(t, nil)
	p := task.Proposal{Origin: task.Origin{Process: 7, Seq: 1, Lowest: 1}, Command: task.OpenSession{Worker: "x", TTL: 1000, Proof: []byte("x")}}
	results, events := r.propose(p, p)
	if results[0].Session.ID != results[1].Session.ID || len(events) != 1 {
		t.Errorf("%+v %+v", results, events)
	}
}
