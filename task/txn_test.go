package task_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// part is one part of a transaction, and the command that does the same alone; nil for an update, which has none.
type part struct {
	name   string
	txn    task.Txn
	single task.Command
}

// txnParts returns the parts that can be tried on the task with the ID: good ones and bad ones of each kind.
func txnParts(x *task.Task, id string) []part {
	ns := task.DefaultNamespace
	delay, priority, past := task.Millis(70), int8(7), task.Time(1)
	params := task.Payload{Encoding: task.JSON, Data: []byte("9")}
	var parts []part
	add := func(name string, txn task.Txn, single task.Command) {
		txn.Namespace = ns
		parts = append(parts, part{name, txn, single})
	}
	for name, c := range map[string]task.Submit{
		"join":           {Namespace: ns, ID: id, Behavior: "echo", Params: params, Priority: 4},
		"fail":           {Namespace: ns, ID: id, Behavior: "echo", IfExists: task.Fail, Deadline: 5_000_000, Labels: []task.Label{{Name: "a", Value: "b"}}},
		"other":          {Namespace: ns, ID: id, Behavior: "other"},
		"no behavior":    {Namespace: ns, ID: id, Behavior: "nothing"},
		"stale behavior": {Namespace: ns, ID: id, Behavior: "echo", BehaviorRev: 1 << 40},
	} {
		add("submit "+name, task.Txn{Submits: []task.Submit{c}}, c)
	}
	for name, c := range map[string]task.Finish{
		"success": {Key: key(id), Token: token(x), Result: params},
		"again":   {Key: key(id), Token: token(x), Again: 2_000_000},
		"failure": {Key: key(id), Token: token(x), Error: &task.Error{Code: "X", Retryable: true, Details: params}},
		"stale":   {Key: key(id), Token: token(x) + 100, Result: params},
		"foreign": {Key: key(id), Token: token(x), Result: params, External: true},
	} {
		add("finish "+name, task.Txn{Finishes: []task.Finish{c}}, c)
	}
	add("delete", task.Txn{Deletes: []task.TxnDelete{{ID: id}}}, task.Remove{Key: key(id)})
	add("delete stale", task.Txn{Deletes: []task.TxnDelete{{ID: id, Rev: rev(x) + 1}}}, nil)
	add("update delay", task.Txn{Updates: []task.TxnUpdate{{ID: id, Rev: rev(x), Delay: &delay}}}, nil)
	add("update params", task.Txn{Updates: []task.TxnUpdate{{ID: id, Params: &params, Priority: &priority}}}, nil)
	add("update deadline", task.Txn{Updates: []task.TxnUpdate{{ID: id, Deadline: &past, HasLabels: true}}}, nil)
	add("update stale", task.Txn{Updates: []task.TxnUpdate{{ID: id, Rev: rev(x) + 1, Priority: &priority}}}, nil)
	add("update unchecked", task.Txn{Updates: []task.TxnUpdate{{ID: id, Params: &params, BehaviorRev: 1<<64 - 1}}}, nil)
	slices.SortFunc(parts, func(a, b part) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	return parts
}

// image is everything that a machine holds but its clocks, kept answers and running digest.
func image(t testing.TB, m *task.Machine) []string {
	t.Helper()
	var all []string
	for r := range m.Freeze().Records {
		switch x := r.(type) {
		case *task.Head:
			all = append(all, fmt.Sprint("head ", x.Rev, x.Token, x.SessionID, x.Sum))
		case *task.Task:
			all = append(all, formatTask(x)+fmt.Sprint(x.ConcurrencyKey, x.Labels, x.FinishedAt, x.Deadline))
		case *task.Behavior:
			all = append(all, fmt.Sprintf("%+v", x))
		}
	}
	return all
}

// twin returns a copy of r's machine and log.
func (r *rig) twin() *rig {
	r.t.Helper()
	m, err := restore(r.m)
	if err != nil {
		r.t.Fatal(err)
	}
	return &rig{t: r.t, m: m, h: r.h}
}

func txnRig(t testing.TB) *rig {
	r := newRig(t, func(p *task.Policy) { p.Retry.MaxAttempts = 3 })
	r.must(task.Activate{
		Namespace: task.DefaultNamespace, Module: task.Module{Digest: "module2", Version: "v2"},
		Behaviors: []task.Activated{{Name: "other", Policy: task.DefaultPolicy()}},
	})
	return r
}

// TestTxnOfOnePart: a transaction of one part does what the single command does, in every state of a task, with the
// same events; where that is refused the transaction is, and changes nothing.
func TestTxnOfOnePart(t *testing.T) {
	states := map[string]func(*rig){"none": func(*rig) {}}
	for name, make := range statuses {
		states[name] = make
	}
	states["RUNNING late"] = func(r *rig) {
		c := submit("one")
		c.Deadline = r.h.Now + 10
		r.must(c)
		r.assign("one")
		r.h.Now += 10
		r.must(task.RenewSession{Session: 1})
	}
	done, refused := 0, 0
	for state, make := range states {
		start := txnRig(t)
		make(start)
		for _, p := range txnParts(start.m.Task(key("one")), "one") {
			t.Run(state+"/"+p.name, func(t *testing.T) {
				before, a := image(t, start.m), start.twin()
				results, events := a.propose(task.Proposal{Command: p.txn})
				if results[0].Code != task.OK {
					if refused++; !slices.Equal(image(t, a.m), before) || len(events) != 0 {
						t.Fatalf("refused, %+v, and changed something", results[0])
					}
				} else {
					done++
				}
				if p.single == nil {
					return
				}
				b := start.twin()
				wants, wantEvents := b.propose(task.Proposal{Command: p.single})
				switch want := wants[0]; {
				case want.Code == task.Halt && want.Task != nil && results[0].Code == task.Conflict:
					return // a finish after the deadline ends the run; a transaction does not happen
				case want.Repeated && results[0].Code == task.Conflict:
					return // a report sent twice; a transaction that was sent twice is known by its origin
				case p.name == "delete" && start.m.Task(key("one")) != nil && start.m.Task(key("one")).Status == task.Running:
					if len(results[0].Reasons) != 1 || results[0].Reasons[0].Kind != task.ReasonLeased {
						t.Errorf("a running task was taken away: %+v", results[0])
					}
					return
				case (want.Code == task.OK) != (results[0].Code == task.OK):
					t.Fatalf("%+v, the single command: %+v", results[0], want)
				}
				if got := image(t, a.m); !slices.Equal(got, image(t, b.m)) {
					t.Errorf("the transaction leaves\n%v\nthe command\n%v", got, image(t, b.m))
				}
				if fmt.Sprint(format(events)) != fmt.Sprint(format(wantEvents)) {
					t.Errorf("events %v, want %v", format(events), format(wantEvents))
				}
			})
		}
	}
	if done < 40 || refused < 40 {
		t.Errorf("%d transactions done, %d refused: the test shows little", done, refused)
	}
}

func format(events []task.Event) (all []string) {
	for _, e := range events {
		all = append(all, formatEvent(e))
	}
	return all
}

// TestTxnIsAllOrNothing makes random transactions of good and bad parts over many tasks: it happens if and only if each
// part alone would, it leaves what the parts do one after the other, and else it names every part that stands in its
// way and leaves everything as it was.
func TestTxnIsAllOrNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 7))
	done, refused, rounds := 0, 0, 600
	if testing.Short() || raceEnabled {
		rounds = 300
	}
	for range rounds {
		start := txnRig(t)
		var ids []string
		for i, name := range []string{"none", "CREATED", "CREATED future", "RUNNING", "RUNNING cancelled", "SUCCESS final", "FAILURE due", "CANCELLED"} {
			id := fmt.Sprintf("task-%d", i)
			ids = append(ids, id)
			if name != "none" {
				putState(start, id, name)
			}
		}
		random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		var all task.Txn
		good, failing := true, 0
		var chosen []task.Txn
		for _, id := range ids[:1+random.IntN(5)] {
			parts := txnParts(start.m.Task(key(id)), id)
			p := parts[random.IntN(len(parts))]
			if random.IntN(3) > 0 { // most transactions should happen
				for range 20 {
					if start.twin().apply(p.txn).Code == task.OK {
						break
					}
					p = parts[random.IntN(len(parts))]
				}
			}
			r := start.twin().apply(p.txn)
			good = good && r.Code == task.OK
			failing += len(r.Reasons)
			chosen = append(chosen, p.txn)
			all = join(all, p.txn)
		}
		a := start.twin()
		before := image(t, a.m)
		r := a.apply(all)
		if (r.Code == task.OK) != good || len(r.Reasons) != failing {
			t.Fatalf("%+v: %+v, but alone %t with %d reasons", all, r, good, failing)
		}
		if !good {
			if refused++; !slices.Equal(image(t, a.m), before) {
				t.Fatalf("%+v: refused, %+v, and changed something", all, r)
			}
			continue
		}
		done++
		b := start.twin()
		for _, kind := range []func(*task.Txn) bool{
			func(x *task.Txn) bool { return len(x.Submits) > 0 }, func(x *task.Txn) bool { return len(x.Updates) > 0 },
			func(x *task.Txn) bool { return len(x.Finishes) > 0 }, func(x *task.Txn) bool { return len(x.Deletes) > 0 },
		} {
			for i := range chosen {
				if kind(&chosen[i]) {
					b.must(chosen[i])
				}
			}
		}
		if got, want := image(t, a.m), image(t, b.m); !slices.Equal(got, want) {
			t.Fatalf("%+v leaves\n%v\none after the other\n%v", all, got, want)
		}
	}
	if done < rounds/5 || refused < rounds/5 {
		t.Errorf("%d done, %d refused of %d", done, refused, rounds)
	}
}

// putState brings the task with the ID into a state that statuses names.
func putState(r *rig, id, state string) {
	c := submit(id)
	if state == "CREATED future" {
		c.Delay = 60_000
	}
	r.must(c)
	switch state {
	case "RUNNING", "RUNNING cancelled", "SUCCESS final", "FAILURE due":
		r.assign(id)
	}
	switch state {
	case "RUNNING cancelled", "CANCELLED":
		r.must(task.Cancel{Key: key(id)})
	case "SUCCESS final":
		r.finish(id, nil)
	case "FAILURE due":
		r.finish(id, &task.Error{Code: "X", Retryable: true})
	}
}

func join(a, b task.Txn) task.Txn {
	return task.Txn{
		Namespace: task.DefaultNamespace, Depends: append(a.Depends, b.Depends...), Submits: append(a.Submits, b.Submits...),
		Updates: append(a.Updates, b.Updates...), Finishes: append(a.Finishes, b.Finishes...), Deletes: append(a.Deletes, b.Deletes...),
	}
}

// TestTxnAnswersAreLean: the answer carries only the payloads that the transaction brought.
func TestTxnAnswersAreLean(t *testing.T) {
	r := txnRig(t)
	big := task.Payload{Encoding: task.JSON, Data: []byte(`"big"`)}
	c := submit("one")
	c.Params = big
	r.must(c)
	c.ID = "two"
	r.must(c)
	l := r.assign("two").Lease
	r.must(task.Beat{Key: key("two"), Token: l.Token, Progress: &big, Checkpoint: &big})
	c.ID = "six"
	r.must(c)
	r.assign("six")
	r.finish("six", &task.Error{Code: "X", Message: "kept", Details: big})
	c.ID = "ten"
	priority := int8(3)
	made := r.must(task.Txn{
		Namespace: task.DefaultNamespace, Submits: []task.Submit{c, submit("one")},
		Updates:  []task.TxnUpdate{{ID: "six", Priority: &priority}},
		Finishes: []task.Finish{{Key: key("two"), Token: l.Token, Error: &task.Error{Code: "Y", Details: big}}},
	}).Tasks
	if len(made) != 4 || made[0].ID != "ten" || made[1].ID != "one" || made[2].ID != "six" || made[3].ID != "two" {
		t.Fatalf("%+v", made)
	}
	none := task.Payload{}
	for i, want := range [][2]task.Payload{{big, none}, {none, none}, {none, none}, {none, none}} {
		if got := made[i]; !got.Params.Equal(want[0]) || !got.Result.Equal(want[1]) || !got.Progress.Equal(none) || !got.Checkpoint.Equal(none) {
			t.Errorf("%s: %s", got.ID, formatTask(got))
		}
	}
	if e := made[2].Error; e.Message != "kept" || !e.Details.Equal(none) {
		t.Errorf("an old error: %+v", e)
	}
	if e := made[3].Error; !e.Details.Equal(big) {
		t.Errorf("an error that it brought: %+v", e)
	}
	if x := r.m.Task(key("six")); !x.Error.Details.Equal(big) || !x.Params.Equal(big) {
		t.Error("the record lost what the answer leaves out")
	}
}

// TestTxnBound: a thousand parts are a transaction, one more is none, whichever they are.
func TestTxnBound(t *testing.T) {
	r := txnRig(t)
	c := task.Txn{Namespace: task.DefaultNamespace, Depends: make([]task.TxnDepend, 1)}
	c.Depends[0].ID = "keeper"
	r.must(submit("keeper"))
	for i := range task.MaxTxnParts - 1 {
		c.Submits = append(c.Submits, submit(fmt.Sprintf("task-%d", i)))
	}
	if got := len(r.must(c).Tasks); got != task.MaxTxnParts-1 {
		t.Fatalf("%d tasks", got)
	}
	c.Deletes = []task.TxnDelete{{ID: "keeper"}}
	if got := r.apply(c); got.Code != task.InvalidCommand || got.Field != "txn" {
		t.Errorf("%+v", got)
	}
	all := task.Txn{Namespace: task.DefaultNamespace}
	for i := range task.MaxTxnParts {
		all.Finishes = append(all.Finishes, task.Finish{Key: key(fmt.Sprintf("none-%d", i))})
	}
	if got := r.apply(all); got.Code != task.Conflict || len(got.Reasons) != task.MaxTxnParts {
		t.Errorf("%s with %d reasons", got.Code, len(got.Reasons))
	}
}
