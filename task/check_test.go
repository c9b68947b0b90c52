package task

import "testing"

// TestCheckSees damages what is derived, one thing at a time: Check must say so.
func TestCheckSees(t *testing.T) {
	get := func(m *Machine, id string) *row { return m.store.get(Key{DefaultNamespace, id}) }
	for name, damage := range map[string]func(m *Machine){
		"count":           func(m *Machine) { m.counts.Running++ },
		"finals":          func(m *Machine) { m.namespaces[DefaultNamespace].finals-- },
		"sum":             func(m *Machine) { m.sum++ },
		"pins":            func(m *Machine) { m.behaviors[behaviorName{DefaultNamespace, "echo"}].pins["v"]++ },
		"lane lost":       func(m *Machine) { m.lanes = nil },
		"lane order":      func(m *Machine) { m.lanes[0].queue.nodes[0].key++ },
		"not in the lane": func(m *Machine) { r := get(m, "waiting"); r.queue.remove(&r.pos) },
		"wrong queue":     func(m *Machine) { r := get(m, "waiting"); r.queue = &r.behavior.future },
		"final lost":      func(m *Machine) { r := get(m, "success"); r.queue.remove(&r.pos) },
		"lease lost":      func(m *Machine) { m.sessions[1].leases = nil },
		"too many leases": func(m *Machine) { m.sessions[1].session.Slots = 0 },
		"deadline":        func(m *Machine) { r := get(m, "running"); m.deadlines.push(1, 1, &r.deadline, r) },
		"expiry":          func(m *Machine) { m.expiries.nodes[0].key++ },
		"worker":          func(m *Machine) { delete(m.workers, "w1") },
		"index":           func(m *Machine) { delete(m.store.spaces[DefaultNamespace], "waiting") },
		"page":            func(m *Machine) { m.store.pages[0].revs[0]++ },
		"module":          func(m *Machine) { clear(m.modules) },
		"active version":  func(m *Machine) { m.behaviors[behaviorName{DefaultNamespace, "echo"}].behavior.Active = "x" },
		"answer":          func(m *Machine) { m.processes[5].answers[0].hash++ },
		"answer bytes":    func(m *Machine) { m.processes[5].bytes++ },
		"token reused":    func(m *Machine) { m.token = 0 },
		"T2 created":      func(m *Machine) { get(m, "waiting").task.NotBefore = 0 },
		"T2 running":      func(m *Machine) { get(m, "running").task.StartedAt = 0 },
		"T2 success":      func(m *Machine) { get(m, "success").task.Error = &Error{} },
		"T2 failure":      func(m *Machine) { get(m, "failure").task.Error = nil },
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
