package task_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// world is everything small: one task, two sessions, and few commands in every order. After every step the machine
// that applied the whole log is compared with one that was restored from a snapshot before the step, all invariants
// are checked, and the step itself must be one that the SPEC allows.
type world struct {
	t     *testing.T
	steps []step
	seen  map[string]int // state: depth that was left when it was explored
	nodes int

	rival, both int // see TestSmallWorldExternal
}

// step is one log entry; the command may depend on the record, as a worker's reports do.
type step struct {
	name    string
	command func(*task.Task) task.Command
	now     task.Time
	lease   task.LeaseTime
	term    uint64
}

const smallWorldDepth = 6

var worldKey = task.Key{Namespace: task.DefaultNamespace, ID: "one"}

func TestSmallWorld(t *testing.T) {
	w := &world{t: t, seen: map[string]int{}, steps: smallWorldSteps()}
	depth := smallWorldDepth
	if testing.Short() || raceEnabled {
		depth--
	}
	policy := task.DefaultPolicy()
	policy.Retry = task.Retry{MaxAttempts: 2, InitialInterval: 100, MultiplierThousandth: 2000, MaxInterval: 1000}
	policy.MaxLost = 2
	policy.KeepSuccess, policy.KeepFailure = 500, 500
	log := []entry{
		{task.Header{Index: 1, Term: 1, Now: 1000}, task.Activate{
			Namespace: task.DefaultNamespace, Module: task.Module{Digest: "m", Version: "v"},
			Behaviors: []task.Activated{{Name: "echo", Policy: policy}},
		}},
		{task.Header{Index: 2, Term: 1, Now: 1000}, task.OpenSession{Worker: "w1", Slots: 1, TTL: 1000, Proof: []byte("1")}},
		{task.Header{Index: 3, Term: 1, Now: 1000}, task.OpenSession{Worker: "w2", Slots: 1, TTL: 2000, Proof: []byte("2")}},
	}
	w.explore(log, replay(log), depth)
	t.Logf("%d steps, %d states", w.nodes, len(w.seen))
	if w.nodes < 1000 {
		t.Errorf("only %d steps: the world has shrunk", w.nodes)
	}
}

type entry struct {
	h task.Header
	c task.Command
}

func replay(log []entry) *task.Machine {
	m := task.NewMachine()
	for _, e := range log {
		m.Apply(e.h, []task.Proposal{{Command: e.c}})
	}
	return m
}

func token(t *task.Task) uint64 {
	if t != nil && t.Lease != nil {
		return t.Lease.Token
	}
	if t != nil && t.Ended != nil {
		return t.Ended.Token
	}
	return 1
}

func rev(t *task.Task) uint64 {
	if t == nil {
		return 0
	}
	return t.Rev
}

func smallWorldSteps() []step {
	submit := func(c task.Submit) func(*task.Task) task.Command {
		c.Namespace, c.ID, c.Behavior, c.Priority = worldKey.Namespace, worldKey.ID, "echo", 4
		return func(*task.Task) task.Command { return c }
	}
	return []step{
		{name: "submit", command: submit(task.Submit{Deadline: 1250})},
		{name: "rerun", command: submit(task.Submit{IfExists: task.Rerun})},
		{name: "resubmit", command: submit(task.Submit{IfExists: task.Resubmit, Delay: 50})},
		{name: "assign 1", command: func(t *task.Task) task.Command { return task.Assign{Key: worldKey, Rev: rev(t), Session: 1} }},
		{name: "assign 2", command: func(t *task.Task) task.Command { return task.Assign{Key: worldKey, Rev: rev(t), Session: 2} }},
		{name: "succeed", command: func(t *task.Task) task.Command {
			return task.Finish{Key: worldKey, Token: token(t), Result: task.Payload{Encoding: task.JSON, Data: []byte("1")}}
		}},
		{name: "fail", command: func(t *task.Task) task.Command {
			return task.Finish{Key: worldKey, Token: token(t), Error: &task.Error{Code: "X", Retryable: true}}
		}},
		{name: "late report", command: func(t *task.Task) task.Command {
			return task.Finish{Key: worldKey, Token: token(t) - 1}
		}},
		{name: "beat", command: func(t *task.Task) task.Command {
			return task.Beat{Key: worldKey, Token: token(t), Seq: 1, Checkpoint: &task.Payload{Encoding: task.Bytes, Data: []byte("c")}}
		}},
		{name: "snooze", command: func(t *task.Task) task.Command {
			return task.Snooze{Key: worldKey, Token: token(t), At: 1150}
		}},
		{name: "give back", command: func(t *task.Task) task.Command { return task.GiveBack{Key: worldKey, Token: token(t)} }},
		{name: "cancel", command: func(*task.Task) task.Command { return task.Cancel{Key: worldKey} }},
		{name: "remove", command: func(*task.Task) task.Command { return task.Remove{Key: worldKey} }},
		{name: "close 1", command: func(*task.Task) task.Command { return task.CloseSession{Session: 1} }},
		{name: "renew 2", command: func(*task.Task) task.Command { return task.RenewSession{Session: 2} }, lease: 600},
		{name: "replace 2", command: func(*task.Task) task.Command {
			return task.OpenSession{Worker: "w2", Slots: 1, TTL: 2000, Proof: []byte("2")}
		}},
		{name: "tick", command: func(*task.Task) task.Command { return task.Tick{} }, now: 150, lease: 600},
		{name: "elect", command: func(*task.Task) task.Command { return task.Tick{} }, now: 500, lease: 900, term: 1},
	}
}

func (w *world) explore(log []entry, m *task.Machine, depth int) {
	if depth == 0 {
		return
	}
	state := describe(m)
	if w.seen[state] >= depth {
		return
	}
	w.seen[state] = depth
	w.mustNotSpin(log, m)
	before := m.Task(worldKey)
	for _, s := range w.steps {
		last := log[len(log)-1].h
		e := entry{task.Header{
			Index: last.Index + 1, Term: last.Term + s.term, Now: last.Now + s.now, LeaseNow: last.LeaseNow + s.lease,
		}, s.command(before)}
		path := append(log[:len(log):len(log)], e)
		w.nodes++
		live := replay(log)
		results, events := live.Apply(e.h, []task.Proposal{{Command: e.c}})
		if results[0].Code != task.OK && len(events) == 0 && s.now+task.Time(s.lease) == 0 {
			if got := describe(live); got != state {
				w.t.Fatalf("%s: refused, but\n%s became\n%s", w.story(path), state, got)
			}
			continue
		}
		w.compare(path, m, live, results, events)
		if err := allowed(before, live.Task(worldKey), e.c, results[0], live.Now()); err != nil {
			w.t.Fatalf("%s: %v\nbefore %+v\nafter  %+v", w.story(path), err, before, live.Task(worldKey))
		}
		w.count(live)
		w.explore(path, live, depth-1)
	}
}

// compare applies the last entry of path to a copy of m that was restored from a snapshot, and expects what live did.
func (w *world) compare(path []entry, m, live *task.Machine, results []task.Result, events []task.Event) {
	restored, err := restoreShared(m)
	if err != nil {
		w.t.Fatalf("%s: restore: %v", w.story(path), err)
	}
	e := path[len(path)-1]
	results2, events2 := restored.Apply(e.h, []task.Proposal{{Command: e.c}})
	if !reflect.DeepEqual(results, results2) || !reflect.DeepEqual(events, events2) || live.Digest() != restored.Digest() {
		w.t.Fatalf("%s: the restored machine answers differently:\n%+v\n%+v", w.story(path), results, results2)
	}
	if err := errors.Join(live.Check(), restored.Check()); err != nil {
		w.t.Fatalf("%s: %v", w.story(path), err)
	}
}

// mustNotSpin proposes a Tick at the time that NextTick names: it must change something (SPEC, no hot loop).
func (w *world) mustNotSpin(path []entry, m *task.Machine) {
	wall, lease := m.NextTick()
	for _, at := range []task.Header{{Now: wall}, {LeaseNow: lease}} {
		if at.Now == 0 && at.LeaseNow == 0 {
			continue
		}
		c, err := restoreShared(m)
		if err != nil {
			w.t.Fatal(err)
		}
		at.Index, at.Term = c.Index()+1, path[len(path)-1].h.Term
		results, _ := c.Apply(at, []task.Proposal{{Command: task.Tick{}}})
		if !results[0].Changed {
			w.t.Fatalf("%s: NextTick says %d/%d, but a Tick then changes nothing", w.story(path), wall, lease)
		}
	}
}

func restoreShared(m *task.Machine) (*task.Machine, error) {
	f := m.Freeze()
	return task.Restore(func(yield func(task.Record, error) bool) {
		f.Records(func(r task.Record) bool { return yield(r, nil) })
	})
}

func (w *world) story(log []entry) string {
	var names []string
	for _, e := range log {
		names = append(names, fmt.Sprintf("%T%+v", e.c, e.c))
	}
	return strings.Join(names, "\n")
}

// describe is what decides the future: everything but the index.
func describe(m *task.Machine) string {
	var b strings.Builder
	fmt.Fprintln(&b, m.Now(), m.LeaseNow())
	if t := m.Task(worldKey); t != nil {
		fmt.Fprintln(&b, formatTask(t))
	}
	for _, s := range m.Sessions() {
		fmt.Fprintln(&b, formatSession(s))
	}
	for _, x := range m.Behaviors(task.DefaultNamespace) {
		fmt.Fprintln(&b, x.Name, x.Paused, x.Active, len(x.Versions))
	}
	for _, t := range []*task.Task{m.Task(worldKey), m.Task(rivalKey)} {
		if t != nil && t.Key() == rivalKey {
			fmt.Fprintln(&b, formatTask(t))
		}
		if t != nil {
			fmt.Fprintln(&b, m.LeaseEnd(t))
		}
	}
	return b.String()
}

// allowed says whether the SPEC allows one command to lead from one record to another. It knows nothing of how the
// machine decides.
func allowed(a, b *task.Task, c task.Command, r task.Result, now task.Time) error {
	if a == nil || b == nil {
		_, submit := c.(task.Submit)
		_, remove := c.(task.Remove)
		_, tick := c.(task.Tick) // retention
		switch {
		case a == nil && b != nil && !submit, a == nil && b != nil && b.Status != task.Created:
			return fmt.Errorf("appeared by %T", c)
		case a != nil && !remove && (!tick || !a.Final()):
			return fmt.Errorf("disappeared by %T", c)
		}
		return nil
	}
	if a.Rev == b.Rev {
		if beat, ok := c.(task.Beat); ok && beat.External && a.Lease != nil && b.Lease != nil { // a renewal
			renewed, lease := *b, *b.Lease
			renewed.Lease, lease.TTL, lease.Expires = &lease, a.Lease.TTL, a.Lease.Expires
			b = &renewed
		}
		if !reflect.DeepEqual(a, b) {
			return fmt.Errorf("changed without a new rev")
		}
		return nil
	}
	if r.Code != task.OK {
		if _, finish := c.(task.Finish); !finish || b.Error == nil || b.Error.Code != task.CodeDeadlineExceeded {
			return fmt.Errorf("changed by a refused command")
		}
	}
	if b.Rev < a.Rev || b.CreatedRev != a.CreatedRev || b.Attempt < a.Attempt {
		return fmt.Errorf("a number went back")
	}
	if !transition(a, b) {
		return fmt.Errorf("T1: %s to %s", a.Status, b.Status)
	}
	if a.Lease != nil && b.Lease != nil && a.Lease.Token != b.Lease.Token {
		return fmt.Errorf("L1: the lease went over without an end")
	}
	if b.Status == task.Running && a.Status != task.Running {
		assign, _ := c.(task.Assign)
		early := assign.External != nil && a.NotBefore <= assign.External.MaxNotBefore // SPEC J2
		if a.NotBefore > now && !early || b.Attempt != a.Attempt+1 || a.Ended != nil && b.Lease.Token <= a.Ended.Token {
			return fmt.Errorf("T3, T8, L1: started early, uncounted or with an old token")
		}
	}
	if a.CancelCode != "" && b.Status == task.Created {
		return fmt.Errorf("L8: a cancelled run came back")
	}
	return nil
}

// transition is the table of SPEC T1.
func transition(a, b *task.Task) bool {
	waiting := a.NotBefore != 0
	switch {
	case a.Status == b.Status && a.Status != task.Running:
		return !b.Final() || waiting // resubmit, rerun, and a cancel of what waits
	case a.Status == task.Running:
		return true
	case b.Status == task.Running:
		return waiting
	case a.Status == task.Created:
		return b.Status == task.Failure && b.Final()
	}
	return false
}
