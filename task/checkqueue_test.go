package task

import (
	"errors"
	"testing"

	"github.com/taskrt/taskrt/task/roster"
)

// crowded is a machine with a strict limit of one per key, external leases, a later task and a drained node.
func crowded() *Machine {
	m := NewMachine()
	policy := DefaultPolicy()
	policy.MaxPerKey, policy.KeyStrict, policy.Retry.MaxAttempts = 1, true, 5
	index := uint64(0)
	apply := func(cs ...Command) {
		index++
		var ps []Proposal
		for _, c := range cs {
			ps = append(ps, Proposal{Command: c})
		}
		for _, r := range first(m.Apply(Header{Index: index, Term: 1, Now: 1000}, ps)) {
			if r.Code != OK {
				panic(r.Code)
			}
		}
	}
	apply(PutBehavior{Namespace: DefaultNamespace, Name: "mail", Version: "v", Policy: policy})
	accept := func(id string) {
		k := Key{DefaultNamespace, id}
		apply(Assign{Key: k, Rev: m.Task(k).Rev, External: &Acceptor{Worker: "ann", Request: "r"}})
	}
	for _, c := range []Submit{
		{ID: "running", ConcurrencyKey: "a"}, {ID: "behind", ConcurrencyKey: "a"},
		{ID: "promoted", ConcurrencyKey: "b"}, {ID: "second", ConcurrencyKey: "b"},
		{ID: "holder", ConcurrencyKey: "c"}, {ID: "held", ConcurrencyKey: "c"},
		{ID: "later", Delay: 50}, {ID: "other"},
	} {
		c.Namespace, c.Behavior = DefaultNamespace, "mail"
		apply(c)
	}
	accept("running")
	accept("other")
	accept("holder")
	k := Key{DefaultNamespace, "holder"}
	apply(Finish{Key: k, Token: m.Task(k).Lease.Token, Error: &Error{Code: "X", Retryable: true}, External: true})
	apply(DrainNode{Node: "n1", Drain: true})
	return m
}

func first(rs []Result, _ []Event) []Result { return rs }

// TestCheckSeesQueues damages what is derived for limits and external leases, one thing at a time.
func TestCheckSeesQueues(t *testing.T) {
	if err := crowded().Check(); err != nil {
		t.Fatal(err)
	}
	mail := func(m *Machine) *behaviorRow { return m.behaviors[behaviorName{DefaultNamespace, "mail"}] }
	get := func(m *Machine, id string) *row { return m.find(Key{DefaultNamespace, id}) }
	for name, damage := range map[string]func(m *Machine){
		"tasks":                    func(m *Machine) { mail(m).tasks++ },
		"running":                  func(m *Machine) { mail(m).running++ },
		"retrying":                 func(m *Machine) { mail(m).Retrying++ },
		"limits":                   func(m *Machine) { mail(m).limits.PerKey++ },
		"open":                     func(m *Machine) { mail(m).limits.open = false },
		"key running":              func(m *Machine) { mail(m).Keys["a"].Running++ },
		"key held":                 func(m *Machine) { mail(m).Keys["c"].Held-- },
		"key gone":                 func(m *Machine) { delete(mail(m).Keys, "a") },
		"key too many":             func(m *Machine) { mail(m).Key("x") },
		"row without a key":        func(m *Machine) { m.store.Rows.Extra(get(m, "running")).Key = nil },
		"promoted":                 func(m *Machine) { m.board.Promote(&mail(m).Queues, &mail(m).Keys["b"].Others) },
		"not promoted":             func(m *Machine) { m.board.Demote(&mail(m).Queues, &mail(m).Keys["b"].Others) },
		"promoted behind a holder": func(m *Machine) { m.board.Promote(&mail(m).Queues, &mail(m).Keys["c"].Others) },
		"the wrong one": func(m *Machine) {
			others := &mail(m).Keys["b"].Others
			n := others.Waiting.Head()
			n.Key = -1 << 40
			rewrite(m, m.task(n.Item).ID, func(t *Task) { t.Priority = 9 })
			m.board.Promote(&mail(m).Queues, others)
			m.board.Demote(&mail(m).Queues, others)
		},
		"due lost":       func(m *Machine) { r := get(m, "behind"); mail(m).Due.Remove(&m.store.Rows, r) },
		"future order":   func(m *Machine) { mail(m).Future.At(1).Key++ },
		"other limits":   func(m *Machine) { mail(m).Limits.Strict = !mail(m).Limits.Strict },
		"loss":           func(m *Machine) { m.losses.At(1).Key++ },
		"loss missing":   func(m *Machine) { r := get(m, "running"); m.losses.Remove(&m.store.Rows.Extra(r).Side) },
		"overrun":        func(m *Machine) { m.overruns.At(1).Key++ },
		"floor":          func(m *Machine) { m.floor = 1 << 40 },
		"request":        func(m *Machine) { clear(m.accepts) },
		"request of two": func(m *Machine) { m.accepts[acceptName{"x", "y", "z", "r"}] = []*row{get(m, "running")} },
		"worker":         func(m *Machine) { m.acceptors["ann"]++ },
		"worker lost":    func(m *Machine) { clear(m.acceptors) },
		"lease kind":     func(m *Machine) { rewrite(m, "running", func(t *Task) { t.Lease.TTL = 0 }) },
		"grace":          func(m *Machine) { rewrite(m, "running", func(t *Task) { t.Lease.GraceEnd = 5 }) },
		"given later":    func(m *Machine) { rewrite(m, "running", func(t *Task) { t.Lease.Given = 1 << 40 }) },
	} {
		m := crowded()
		damage(m)
		if m.Check() == nil {
			t.Errorf("%s: not seen", name)
		}
	}
}

// TestRestoreOfQueues restores a crowd: what is derived is the same, and drained nodes and the term's floor are state.
func TestRestoreOfQueues(t *testing.T) {
	m := crowded()
	m.Apply(Header{Index: 100, Term: 2, LeaseNow: 5_000}, nil)
	restored, err := Restore(func(yield func(Record, error) bool) {
		m.Freeze().Records(func(r Record) bool { return yield(r, nil) })
	})
	if err = errors.Join(err, m.Check()); err != nil {
		t.Fatal(err)
	}
	if err := restored.Check(); err != nil {
		t.Error(err)
	}
	k := Key{DefaultNamespace, "other"}
	if a, b := m.LeaseEnd(m.Task(k)), restored.LeaseEnd(restored.Task(k)); a != b || a != 35_000 {
		t.Errorf("the lease ends at %d, and after a restore at %d", a, b)
	}
	if !restored.Drained("n1") || restored.Drained("n2") {
		t.Errorf("drained: %v", restored.DrainedNodes())
	}
	if a, b := m.BehaviorStats(DefaultNamespace, "mail"), restored.BehaviorStats(DefaultNamespace, "mail"); a != b {
		t.Errorf("stats %+v, after a restore %+v", a, b)
	}
	if m.BehaviorStats(DefaultNamespace, "nothing") != (BehaviorStats{}) {
		t.Error("stats of nothing")
	}
}

func TestDrainedNodesAreBounded(t *testing.T) {
	m := NewMachine()
	for i := range roster.MaxNodes + 1 {
		r := first(m.Apply(Header{Index: uint64(i + 1), Term: 1}, []Proposal{{Command: DrainNode{Node: string(rune('a' + i)), Drain: true}}}))
		if want := map[bool]Code{true: InvalidCommand}[i == roster.MaxNodes]; r[0].Code != want {
			t.Fatalf("node %d: %q", i, r[0].Code)
		}
	}
}
