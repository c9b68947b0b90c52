package task

import (
	"iter"
	"testing"

	"github.com/taskrt/taskrt/task/queue"
)

// rewrite changes a record, and tells the sum, but nothing that is derived.
func rewrite(m *Machine, id string, change func(t *Task)) {
	r := m.find(Key{DefaultNamespace, id})
	next := *m.task(r)
	if next.Lease != nil {
		lease := *next.Lease
		next.Lease = &lease
	}
	change(&next)
	m.sum += hashTask(&next) - hashTask(m.task(r))
	m.replaceRow(r, &next)
}

// firstOf returns the first row of a table.
func firstOf[V any](rows iter.Seq[*V]) *V {
	for row := range rows {
		return row
	}
	return nil
}

// keptAnswer returns the i-th answer that is kept for a process, or under a key.
func keptAnswer(m *Machine, id uint64, i int) (kept *Result) {
	f := m.answers.Freeze()
	f.Answers(func(of, _ uint64, r *Result, _ bool) bool {
		if of == id {
			if i == 0 {
				kept = r
			}
			i--
		}
		return kept == nil
	})
	return kept
}

// swap exchanges the first two rows of a table.
func swap[V any](rows iter.Seq[*V]) {
	first := firstOf(rows)
	for row := range rows {
		if row != first {
			*first, *row = *row, *first
			return
		}
	}
}

// TestCheckSees damages what is derived, one thing at a time: Check must say so.
func TestCheckSees(t *testing.T) {
	get := func(m *Machine, id string) *row { return m.find(Key{DefaultNamespace, id}) }
	for name, damage := range map[string]func(m *Machine){
		"count":           func(m *Machine) { m.counts.Running++ },
		"finals":          func(m *Machine) { m.namespaces[DefaultNamespace].finals-- },
		"sum":             func(m *Machine) { m.sum++ },
		"pins":            func(m *Machine) { m.behaviors[behaviorName{DefaultNamespace, "echo"}].pins["v"]++ },
		"lane lost":       func(m *Machine) { m.board.Lanes = nil },
		"lane order":      func(m *Machine) { get(m, "waiting").Priority++ },
		"not in the lane": func(m *Machine) { m.board.Lanes[0].Queue.Remove(&m.store.Rows, get(m, "waiting")) },
		"wrong queue":     func(m *Machine) { get(m, "waiting").Kind = queue.Future },
		"final lost":      func(m *Machine) { r := get(m, "success"); m.of(r).Success.Remove(&m.store.Rows, r) },
		"lease lost":      func(m *Machine) { m.sessions[1].leases = nil },
		"too many leases": func(m *Machine) { m.sessions[1].session.Slots = 0 },
		"deadline":        func(m *Machine) { r := get(m, "running"); m.deadlines.Push(1, 1, &m.store.Rows.Extra(r).Deadline, r) },
		"due at":          func(m *Machine) { get(m, "waiting").At++ },
		"final at":        func(m *Machine) { get(m, "success").At-- },
		"place":           func(m *Machine) { get(m, "waiting").Place-- },
		"expiry":          func(m *Machine) { m.expiries.At(1).Key++ },
		"worker":          func(m *Machine) { delete(m.workers, "w1") },
		"row of nobody":   func(m *Machine) { m.store.Rows.Add() },
		"extra of nobody": func(m *Machine) { x := m.store.Rows.Add(); m.store.Rows.Extra(x).Part = 1; *x = queue.Row{} },
		"of a behavior":   func(m *Machine) { m.behaviorRow(DefaultNamespace, "other"); get(m, "waiting").Behavior++ },
		"module":          func(m *Machine) { clear(m.modules) },
		"active version":  func(m *Machine) { m.behaviors[behaviorName{DefaultNamespace, "echo"}].behavior.Active = "x" },
		"answer":          func(m *Machine) { keptAnswer(m, 5, 0).Index++ },
		"answer's bytes":  func(m *Machine) { keptAnswer(m, 5, 4).Task = &Task{Params: Payload{Data: []byte("x")}} },
		"token reused":    func(m *Machine) { m.token = 0 },
		"T2 created":      func(m *Machine) { rewrite(m, "waiting", func(t *Task) { t.NotBefore = 0 }) },
		"T2 running":      func(m *Machine) { rewrite(m, "running", func(t *Task) { t.StartedAt = 0 }) },
		"T2 success":      func(m *Machine) { rewrite(m, "success", func(t *Task) { t.Error = &Error{} }) },
		"T2 failure":      func(m *Machine) { rewrite(m, "failure", func(t *Task) { t.Error = nil }) },
	} {
		m := fixture()
		damage(m)
		if m.Check() == nil {
			t.Errorf("%s: not seen", name)
		}
	}
}

func TestReads(t *testing.T) {
	m := fixture()
	if x := m.Module("m"); x == nil || x.Version != "v" || m.Module("x") != nil {
		t.Errorf("module %+v", x)
	}
	if m.Behavior(DefaultNamespace, "nothing") != nil || m.Session(9) != nil || m.Leases(9) != nil {
		t.Error("found what is not there")
	}
	if b := m.Behavior(DefaultNamespace, "echo"); b.Versions[0].Pinned != 2 { // the running and the failed one
		t.Errorf("%d pinned", b.Versions[0].Pinned)
	}
	if s := m.Session(1); s.Running != 1 || s.Seq != 3 {
		t.Errorf("session %+v", s)
	}
	k := Key{DefaultNamespace, "waiting"}
	m.Apply(Header{Index: 100, Term: 1}, []Proposal{{Command: Assign{Key: k, Rev: m.Task(k).Rev, Session: 1}}})
	if ts := m.Leases(1); len(ts) != 2 || ts[0].ID != "running" || ts[1].ID != "waiting" {
		t.Errorf("leases %v", ts)
	}
	if f := m.Freeze(); f.Index() != 100 || f.Digest() != m.Digest() {
		t.Errorf("frozen at %d", f.Index())
	}
}
