package naive

import (
	"maps"
	"slices"

	"github.com/taskrt/taskrt/task"
)

func (m *Model) open(c task.OpenSession, got task.Result) task.Result {
	if c.Alone && c.Slots > 1 {
		return task.Result{Code: task.InvalidCommand}
	}
	for _, s := range m.Sessions {
		if s.Worker == c.Worker && (string(s.Proof) != string(c.Proof) || c.Hello != 0 && c.Hello <= s.Hello) {
			return task.Result{Code: task.WorkerInUse}
		} else if s.Worker == c.Worker {
			m.endSessionAs(s.ID, "LOST")
		}
	}
	n := task.Session{Worker: c.Worker, Node: c.Node, Slots: c.Slots, TTL: c.TTL, Proof: c.Proof, Hello: c.Hello, Runs: c.Runs, Alone: c.Alone, Isolates: c.Isolates, Expires: m.LeaseNow + task.LeaseTime(c.TTL)}
	if got.Session != nil {
		n.ID = got.Session.ID // the machine's choice
	}
	m.Sessions[n.ID] = n
	return task.Result{Session: &n}
}

func (m *Model) renew(c task.RenewSession) task.Result {
	s, ok := m.Sessions[c.Session]
	if !ok {
		return task.Result{Code: task.SessionNotFound}
	}
	s.Expires, s.Acked = max(s.Expires, m.LeaseNow+task.LeaseTime(s.TTL)), max(s.Acked, min(c.Acked, s.Seq))
	m.Sessions[s.ID] = s
	return task.Result{Session: &s}
}

func (m *Model) endSessionAs(id uint64, outcome string) task.Result {
	return m.endSession(id, func(t *task.Task) { m.waitAgain(t, outcome, m.Now, 0) })
}

// crash is the end of a process that was seen to die. Nobody knows which of the tasks that ran in it caused the crash (L5).
func (m *Model) crash(c task.CrashSession) task.Result {
	if c.Before == 0 {
		return task.Result{Code: task.InvalidCommand}
	}
	for _, s := range m.Sessions {
		switch {
		case s.Worker != c.Worker || s.Hello >= c.Before:
			continue
		case string(s.Proof) != string(c.Proof):
			return task.Result{Code: task.WorkerInUse}
		}
		return m.endSession(s.ID, func(t *task.Task) { m.died(t, s, slices.Contains(c.Tokens, t.Lease.Token)) })
	}
	return task.Result{Code: task.SessionNotFound}
}

// died is the end of a run whose process died; ran: it executed.
func (m *Model) died(t *task.Task, s task.Session, ran bool) {
	switch {
	case !ran:
		m.waitAgain(t, "GIVEN_BACK", m.Now, 0)
	case !s.Alone:
		m.waitAgain(t, "SUSPECT", m.Now, 0)
	case t.CancelCode != "":
		m.waitAgain(t, "", 0, 0)
	default:
		m.guilty = true
		m.failure(t, &task.Error{Code: task.CodeCrashed, Retryable: m.Version(t, t.Version).Policy.OnTrap != task.OnErrorFail}, 0)
		m.guilty = false
	}
}

// Fits reports whether a session may run t. Sessions for suspects run nothing else. Suspects run nowhere else
// if some process can run them alone (L5). Nothing new runs on a drained node.
func (m *Model) Fits(t *task.Task, s task.Session) bool {
	isolates := false
	for _, o := range m.Sessions {
		isolates = isolates || o.Isolates && !m.Drained[o.Node]
	}
	return t.Bound != 0 || t.Suspect && (s.Alone || !isolates) || !t.Suspect && !s.Alone
}

func (m *Model) endSession(id uint64, end func(*task.Task)) task.Result {
	if _, ok := m.Sessions[id]; !ok {
		return task.Result{Code: task.SessionNotFound}
	}
	m.ending = id
	for _, t := range m.Leases(id) {
		m.Halted[t.Lease.Token] = true
		n := *m.Tasks[name(t)] // the end of one may cancel others
		end(&n)
	}
	m.dropBound(id)
	delete(m.Sessions, id)
	m.ending = 0
	return task.Result{}
}

func (m *Model) drain(c task.DrainNode) task.Result {
	if c.Node == "" {
		return task.Result{Code: task.InvalidCommand}
	}
	was := m.Drained[c.Node]
	if delete(m.Drained, c.Node); c.Drain {
		m.Drained[c.Node] = true
	}
	return task.Result{Changed: was != c.Drain}
}

// setMember is C2: whether a node may vote is settled, and that an instance of it never comes back.
func (m *Model) setMember(c task.SetMember) task.Result {
	if c.Node == "" || c.Vote < 1 || c.Vote > 2 || c.Vote == 1 && c.Remove != "" {
		return task.Result{Code: task.InvalidCommand}
	}
	x := m.Members[c.Node]
	adds := c.Remove != "" && !slices.Contains(x.Removed, c.Remove)
	if uint64(x.Vote) == c.Vote && !adds && (x.Force || !c.Force) {
		return task.Result{}
	}
	next := task.Member{Node: c.Node, Vote: 1, Removed: slices.Clone(x.Removed), Force: c.Force}
	if c.Vote == 2 {
		next.Vote = 2
	}
	if adds {
		next.Removed = append(next.Removed, c.Remove)
	}
	if len(next.Removed) > 16 {
		next.Removed = next.Removed[1:]
	}
	m.Members[c.Node] = next
	return task.Result{Changed: true}
}

// refound is C2 and C8: another cluster begins, and nothing of what the former gave to anybody holds.
func (m *Model) refound(c task.Refound) task.Result {
	for _, id := range slices.Sorted(maps.Keys(m.Sessions)) {
		m.endSessionAs(id, "LOST")
	}
	for _, t := range m.ordered(func(t *task.Task) bool { return t.Lease != nil }) {
		m.Halted[t.Lease.Token], m.struck = true, true
		n := *t
		m.waitAgain(&n, "LOST", m.Now, 0)
	}
	m.Drained, m.Members, m.Holds, m.forgets = map[string]bool{}, map[string]task.Member{}, map[string]task.Hold{}, true
	if c.DropTokens {
		for name := range m.Access {
			delete(m.Access, name)
			m.Told[name] = true
		}
		m.setRoot(task.SetRoot{})
	}
	return task.Result{Changed: true}
}
