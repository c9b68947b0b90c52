package task_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// fanWorld is TestSmallWorld for operations: one of two partitions, two sessions, one step of work per entry, and few
// commands in every order. After every step the machine is compared with one that was restored before it, invariants
// are checked, and so is what SPEC section 7 promises. What is left in the end must come to an end.
type fanWorld struct {
	t     *testing.T
	steps []fanStep
	seen  map[string]int // state: depth that was left when it was explored
	nodes int
	ended map[string]int // how operations ended, by status and error
}

// fanStep returns nil for a command that would be refused before anybody proposed it.
type fanStep struct {
	name    string
	command func(m *task.Machine) task.Command
	now     task.Time
}

const fanID = "job"

func TestSmallWorldOperation(t *testing.T) {
	for _, c := range []struct {
		name    string
		policy  task.OperationPolicy
		retries int64
	}{
		{"fail fast", task.OperationPolicy{Complete: "done", Cleanup: "clean", Concurrency: task.OnePerTarget}, 1},
		{"run all", task.OperationPolicy{Complete: "done", RunAll: true, Restart: true}, 2},
		{"no completion", task.OperationPolicy{Incompatible: []string{"work"}}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &fanWorld{t: t, seen: map[string]int{}, ended: map[string]int{}, steps: fanSteps()}
			depth := 4
			if testing.Short() || raceEnabled {
				depth--
			}
			p := task.DefaultPolicy()
			p.Retry = task.Retry{MaxAttempts: c.retries, InitialInterval: 100, MultiplierThousandth: 1000, MaxInterval: 100}
			p.MaxLost, p.Operation = 2, &c.policy
			log := fanLog(p)
			w.explore(log, replaySteps(log), depth)
			log = w.follow(log, "tick", "assign 0 1", "assign 1 2")
			w.explore(log, replaySteps(log), depth-1)
			log = w.follow(log, "finish 0 broken", "finish 1", "tick")
			w.explore(log, replaySteps(log), depth)
			t.Logf("%d steps, %d states, %v", w.nodes, len(w.seen), w.ended)
			if w.nodes < 500 || len(w.ended) < 2 {
				t.Errorf("only %d steps, %v: the world has shrunk", w.nodes, w.ended)
			}
		})
	}
}

func fanLog(p task.Policy) (log []entry) {
	h := task.Header{Term: 1, Now: 1000}
	for _, c := range []task.Command{
		task.Activate{
			Namespace: task.DefaultNamespace, Module: task.Module{Digest: "m", Version: "v"},
			Behaviors: []task.Activated{{Name: "work", Policy: p}, {Name: "done", Policy: p}, {Name: "clean", Policy: p}},
		},
		task.OpenSession{Worker: "w1", Slots: 2, TTL: 1 << 40, Proof: []byte("1")},
		task.OpenSession{Worker: "w2", Slots: 2, TTL: 1 << 40, Proof: []byte("2")},
		task.StartOperation{Namespace: task.DefaultNamespace, ID: fanID, Behavior: "work", Partitions: 2, Priority: 4},
	} {
		h.Index++
		log = append(log, entry{h, c})
	}
	return log
}

// follow takes the steps of these names, as far as there is something to do.
func (w *fanWorld) follow(log []entry, names ...string) []entry {
	for _, name := range names {
		for _, s := range w.steps {
			if c := s.command(replaySteps(log)); s.name == name && c != nil {
				last := log[len(log)-1].h
				log = append(log, entry{task.Header{Index: last.Index + 1, Term: 1, Now: last.Now + s.now}, c})
			}
		}
	}
	return log
}

// replaySteps is replay for a machine that does one step of work per entry.
func replaySteps(log []entry) *task.Machine {
	m := task.NewMachine(task.WithLimit(task.Limit{Steps: 1, Cleanups: 2}))
	for _, e := range log {
		m.Apply(e.h, []task.Proposal{{Command: e.c}})
	}
	return m
}

func fanSteps() []fanStep {
	assign := func(id string, session uint64) fanStep {
		return fanStep{fmt.Sprintf("assign %s %d", id, session), func(m *task.Machine) task.Command {
			t := m.Task(key(fanID + ":" + id))
			if t == nil || t.Status == task.Running || t.NotBefore == 0 {
				return nil
			}
			return task.Assign{Key: t.Key(), Rev: t.Rev, Session: session}
		}, 0}
	}
	finish := func(id string, e *task.Error) fanStep {
		name := "finish " + id
		if e != nil {
			name += " broken"
		}
		return fanStep{name, func(m *task.Machine) task.Command {
			t := m.Task(key(fanID + ":" + id))
			if t == nil || t.Lease == nil {
				return nil
			}
			return task.Finish{Key: t.Key(), Token: t.Lease.Token, Error: e}
		}, 0}
	}
	fixed := func(c task.Command) fanStep {
		return fanStep{fmt.Sprintf("%T", c), func(*task.Machine) task.Command { return c }, 0}
	}
	broken, later := &task.Error{Code: "X"}, &task.Error{Code: "Y", Retryable: true}
	k := key(fanID)
	return []fanStep{
		assign("0", 1), assign("0", 2), assign("1", 2), assign("complete", 1),
		finish("0", nil), finish("0", broken), finish("0", later), finish("1", nil), finish("1", broken),
		finish("complete", nil), finish("complete", broken),
		fixed(task.CancelOperation{Key: k}), fixed(task.RetryOperation{Key: k}), fixed(task.RemoveOperation{Key: k}),
		fixed(task.StartOperation{Namespace: k.Namespace, ID: "rival", Behavior: "work", Partitions: 1, Priority: 4}),
		fixed(task.Cancel{Key: key(fanID + ":0")}), fixed(task.CloseSession{Session: 1}),
		{"end of 2", func(m *task.Machine) task.Command {
			return task.OpenSession{Worker: "w2", Slots: 2, TTL: 1 << 40, Proof: []byte("2")}
		}, 0},
		{"plan", func(m *task.Machine) task.Command { // cleanups, and whatever else is first
			if plan := m.Plan([]task.Free{{Session: 1, Slots: 2}, {Session: 2, Slots: 2}}, 1); len(plan) > 0 {
				return plan[0]
			}
			return nil
		}, 0},
		{"tick", func(*task.Machine) task.Command { return task.Tick{} }, 100},
	}
}

func (w *fanWorld) explore(log []entry, m *task.Machine, depth int) {
	state := describeFan(m)
	if left, ok := w.seen[state]; ok && left >= depth {
		return
	}
	_, known := w.seen[state]
	w.seen[state] = depth
	if !known {
		w.comesToAnEnd(log, m)
	}
	if depth == 0 {
		return
	}
	for _, s := range w.steps {
		c := s.command(m)
		if c == nil {
			continue
		}
		last := log[len(log)-1].h
		e := entry{task.Header{Index: last.Index + 1, Term: 1, Now: last.Now + s.now}, c}
		path := append(log[:len(log):len(log)], e)
		w.nodes++
		live := replaySteps(path[:len(log)])
		results, events := live.Apply(e.h, []task.Proposal{{Command: c}})
		if results[0].Code != task.OK && len(events) == 0 && s.now == 0 {
			if got := describeFan(live); got != state {
				w.fatal(path, "refused, but\n%s became\n%s", state, got)
			}
			continue
		}
		w.compare(path, m, live, results, events)
		w.promises(path, m, live, c)
		w.explore(path, live, depth-1)
	}
}

func (w *fanWorld) fatal(path []entry, format string, args ...any) {
	w.t.Helper()
	var names []string
	for _, e := range path {
		names = append(names, fmt.Sprintf("%T%+v", e.c, e.c))
	}
	w.t.Fatalf("%s\n%s", strings.Join(names, "\n"), fmt.Sprintf(format, args...))
}

func (w *fanWorld) compare(path []entry, m, live *task.Machine, results []task.Result, events []task.Event) {
	restored, err := restoreShared(m)
	if err != nil {
		w.fatal(path, "restore: %v", err)
	}
	e := path[len(path)-1]
	results2, events2 := restored.Apply(e.h, []task.Proposal{{Command: e.c}})
	if !reflect.DeepEqual(results, results2) || !reflect.DeepEqual(events, events2) || live.Digest() != restored.Digest() {
		w.fatal(path, "the restored machine answers differently:\n%+v\n%+v", results, results2)
	}
	if err := errors.Join(live.Check(), restored.Check()); err != nil {
		w.fatal(path, "%v", err)
	}
}

// promises holds a step against SPEC section 7. It knows nothing of how the machine decides.
func (w *fanWorld) promises(path []entry, before, after *task.Machine, c task.Command) {
	a, b := before.Operation(key(fanID)), after.Operation(key(fanID))
	switch {
	case b == nil:
		return
	case a == nil:
		w.fatal(path, "the operation is back")
	}
	var parts []*task.Task
	for i := range 2 {
		if t := after.Task(key(fmt.Sprintf("%s:%d", fanID, i))); t != nil {
			parts = append(parts, t)
		}
	}
	final, good := 0, 0
	for _, t := range parts {
		if t.Final() {
			final++
		}
		if t.Final() && t.Status == task.Success {
			good++
		}
	}
	done := after.Task(key(fanID + ":complete"))
	_, retry := c.(task.RetryOperation)
	switch {
	case b.Status != task.OperationRunning && final != 2:
		w.fatal(path, "O3: %s with %d final partitions", b.Status, final)
	case b.Status == task.OperationSuccess && (good != 2 || b.Error != nil || b.Policy.Complete != "" && done.Status != task.Success):
		w.fatal(path, "O3: a success with %d partitions", good)
	case b.Status == task.OperationFailure && (b.Error == nil || good == 2 && (done == nil || done.Status == task.Success)):
		w.fatal(path, "O3: a failure of nothing: %+v", b)
	case done != nil && !done.Final() && b.Status != task.OperationCompleting:
		w.fatal(path, "O3: %s, and the completion is %s", b.Status, done.Status)
	case a.Final() && !b.Final() && !retry, a.Status == task.OperationSuccess && b.Status != task.OperationSuccess,
		a.Status == task.OperationCompleting && b.Status == task.OperationRunning:
		w.fatal(path, "O1: %s to %s", a.Status, b.Status)
	case len(parts) < 2 && b.Status != task.OperationRunning:
		w.fatal(path, "O1: %s before all partitions exist", b.Status)
	}
	if rival := after.Operation(key("rival")); rival != nil && b.Policy.Concurrency == task.OnePerTarget && !b.Final() && !rival.Final() {
		w.fatal(path, "O2: two at once")
	}
	if b.Final() && !a.Final() {
		end := b.Status.String()
		if b.Error != nil {
			end += " " + b.Error.Code
		}
		w.ended[end]++
	}
}

// comesToAnEnd runs a copy on, with a worker that succeeds at everything: every operation must end, or be gone, and Ticks
// must change something whenever NextTick asks for one.
func (w *fanWorld) comesToAnEnd(path []entry, m *task.Machine) {
	m, err := restoreShared(m)
	if err != nil {
		w.fatal(path, "restore: %v", err)
	}
	h := path[len(path)-1].h
	apply := func(c task.Command) task.Result {
		h.Index++
		results, _ := m.Apply(h, []task.Proposal{{Command: c}})
		return results[0]
	}
	worker := apply(task.OpenSession{Worker: "w9", Slots: 9, TTL: 1 << 40, Proof: []byte("9")}).Session.ID
	for range 100 { // rounds
		wall, _ := m.NextTick()
		switch {
		case wall != 0 && wall <= m.Now():
			if !apply(task.Tick{}).Changed {
				w.fatal(path, "NextTick asks for a Tick that changes nothing")
			}
			continue
		case wall != 0:
			h.Now = wall
			apply(task.Tick{})
		}
		free := []task.Free{{Session: worker, Slots: 9}}
		for _, s := range m.Sessions() {
			free = append(free, task.Free{Session: s.ID, Slots: 9})
			for _, t := range m.Leases(s.ID) {
				apply(task.Finish{Key: t.Key(), Token: t.Lease.Token})
			}
		}
		plan := m.Plan(free, 9)
		for _, a := range plan {
			if r := apply(a); r.Code != task.OK {
				w.fatal(path, "planned, and refused: %s", r.Code)
			}
		}
		if wall == 0 && len(plan) == 0 && m.Counts().Running == 0 {
			break
		}
	}
	operations, _ := m.Operations(task.OperationFilter{Limit: 9})
	for _, o := range operations {
		if !o.Final() {
			w.fatal(path, "it does not end:\n%s", describeFan(m))
		}
	}
	if n := m.Counts(); n.Created+n.Running+n.Retrying > 0 {
		w.fatal(path, "tasks are left: %+v", n)
	}
}

// describeFan is what decides the future: everything but the index.
func describeFan(m *task.Machine) string {
	var b strings.Builder
	fmt.Fprintln(&b, m.Now())
	operations, _ := m.Operations(task.OperationFilter{Limit: 9})
	for _, o := range operations {
		fmt.Fprintln(&b, formatOperation(o))
	}
	tasks, _ := m.Tasks(task.Filter{Limit: 99})
	for _, t := range tasks {
		fmt.Fprintln(&b, formatTask(t))
	}
	for _, s := range m.Sessions() {
		fmt.Fprintln(&b, formatSession(s))
	}
	return b.String()
}
