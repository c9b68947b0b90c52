// Package naive is a second model of the task state machine, for the simulator to compare package task with. It is
// written from SPEC.md and the docstrings of the commands, in the plainest way: maps, copies, full scans. It shares no
// logic with package task: it uses the plain types of its contract and calls none of its functions. At most 500 lines.
//
// Where the SPEC leaves a number to the implementation (revs, tokens, session IDs, the jitter of a retry, the hash of
// a finish) the model checks the rule for it (rising, unused, within bounds) and then adopts the machine's number.
package naive

import (
	"bytes"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// unknownHash marks an Ended.Finish that is to be adopted.
const unknownHash = 1

// Model is the state. The fields are for reading.
type Model struct {
	Term      uint64
	Now       task.Time
	LeaseNow  task.LeaseTime
	Tasks     map[task.Key]*task.Task
	Sessions  map[uint64]*task.Session
	Behaviors map[task.Key]*task.Behavior // by namespace and name
	Modules   map[string]*task.Module
	Halted    map[uint64]bool // tokens whose lease ended in the last entry, other than by their worker's own report
	Refused   string          // why a number of the machine was not adopted

	index     uint64
	revs      map[uint64]bool // all revs ever given
	topRev    uint64          // the highest before this entry
	topToken  uint64
	ids       map[uint64]bool // session IDs ever given
	jitter    map[task.Key][2]task.Time
	finishes  map[task.Key]task.Finish
	processes map[uint64]*process
}

// process is a proposer that the machine knows (SPEC H4).
type process struct {
	lowest  uint64
	answers map[uint64]task.Result
}

// New returns the state before the first entry.
func New() *Model {
	return &Model{
		Tasks: map[task.Key]*task.Task{}, Sessions: map[uint64]*task.Session{}, Behaviors: map[task.Key]*task.Behavior{},
		Modules: map[string]*task.Module{}, Halted: map[uint64]bool{}, revs: map[uint64]bool{}, ids: map[uint64]bool{},
		jitter: map[task.Key][2]task.Time{}, finishes: map[task.Key]task.Finish{}, processes: map[uint64]*process{},
	}
}

// Apply applies one entry and predicts the results. got are the machine's, from which numbers are adopted.
func (m *Model) Apply(h task.Header, ps []task.Proposal, got []task.Result) []task.Result {
	m.index, m.Refused = h.Index, ""
	m.Halted = map[uint64]bool{}
	for r := range m.revs {
		m.topRev = max(m.topRev, r)
	}
	m.Now, m.LeaseNow = max(m.Now, h.Now), max(m.LeaseNow, h.LeaseNow) // C3: never back
	if h.Term != m.Term {                                              // C3: a full TTL from the first command of a term
		m.Term = h.Term
		for id, s := range m.Sessions {
			n := *s
			n.Expires = m.LeaseNow + task.LeaseTime(n.TTL)
			m.Sessions[id] = &n
		}
	}
	var out []task.Result
	for i, p := range ps {
		out = append(out, m.propose(p, got[i]))
	}
	return out
}

// propose is H4: each (process, seq) is applied once.
func (m *Model) propose(p task.Proposal, got task.Result) task.Result {
	o := p.Origin
	if o == (task.Origin{}) {
		return m.apply(p.Command, got)
	}
	pr := m.processes[o.Process]
	if pr == nil {
		if o.Lowest != 1 {
			return m.result(task.OriginForgotten)
		}
		pr = &process{lowest: 1, answers: map[uint64]task.Result{}}
		m.processes[o.Process] = pr
	}
	if o.Lowest > pr.lowest {
		pr.lowest = o.Lowest
		maps.DeleteFunc(pr.answers, func(seq uint64, _ task.Result) bool { return seq < o.Lowest })
	}
	if o.Seq < pr.lowest {
		return m.result(task.OriginForgotten)
	}
	if r, ok := pr.answers[o.Seq]; ok {
		return r
	}
	r := m.apply(p.Command, got)
	pr.answers[o.Seq] = r
	return r
}

func (m *Model) result(c task.Code) task.Result { return task.Result{Code: c, Index: m.index} }

// answer is a result with the record as it is now, numbers adopted from the machine's answer.
func (m *Model) answer(c task.Code, k task.Key, got task.Result) task.Result {
	r := m.result(c)
	if t := m.Tasks[k]; t != nil {
		m.Adopt(k, got.Task)
		r.Task = m.Tasks[k]
	}
	return r
}

func (m *Model) apply(c task.Command, got task.Result) task.Result {
	switch c := c.(type) {
	case task.Submit:
		return m.submit(c, got)
	case task.Assign:
		return m.assign(c, got)
	case task.Finish:
		return m.finish(c, got)
	case task.Beat:
		return m.beat(c, got)
	case task.Snooze:
		t := m.leased(c.Key, c.Token)
		if t == nil {
			return m.result(task.Halt)
		}
		if c.Seq != 0 && c.Seq <= t.Lease.Report {
			return m.answer(task.OK, c.Key, got)
		}
		if c.Checkpoint != nil {
			t.Checkpoint, t.LostCount = *c.Checkpoint, 0
		}
		at := c.At
		if at == 0 {
			at = m.Now + 1000
		}
		m.waitAgain(t, "SNOOZED", at)
		return m.answer(task.OK, c.Key, got)
	case task.GiveBack:
		t := m.leased(c.Key, c.Token)
		if t == nil {
			return m.result(task.Halt)
		}
		m.waitAgain(t, "GIVEN_BACK", m.Now)
		return m.answer(task.OK, c.Key, got)
	case task.Cancel:
		return m.cancel(c, got)
	case task.Remove:
		t := m.Tasks[c.Key]
		if t == nil {
			return m.result(task.TaskNotFound)
		}
		m.remove(t)
		return m.result(task.OK)
	case task.OpenSession:
		return m.open(c, got)
	case task.RenewSession:
		s := m.Sessions[c.Session]
		if s == nil {
			return m.result(task.SessionNotFound)
		}
		n := *s
		n.Expires = m.LeaseNow + task.LeaseTime(n.TTL)
		n.Acked = max(n.Acked, c.Acked)
		m.Sessions[n.ID] = &n
		r := m.result(task.OK)
		r.Session = &n
		return r
	case task.CloseSession:
		s := m.Sessions[c.Session]
		if s == nil {
			return m.result(task.SessionNotFound)
		}
		m.endSession(s, m.giveBack)
		return m.result(task.OK)
	case task.Activate:
		return m.activate(c)
	case task.Tick:
		m.tick()
		return m.result(task.OK)
	}
	panic("naive: unknown command")
}

// Adopt takes over the numbers that are the machine's to choose from its record, if they keep the rules.
func (m *Model) Adopt(k task.Key, real *task.Task) {
	t := m.Tasks[k]
	if t == nil || real == nil {
		return
	}
	n := *t
	if n.CreatedRev == 0 && m.free(real.CreatedRev) {
		n.CreatedRev = real.CreatedRev
		m.revs[n.CreatedRev] = true
	}
	if n.Rev == 0 && (m.free(real.Rev) || (real.Rev == n.CreatedRev && n.Rev == 0 && real.Rev > m.topRev)) {
		n.Rev = real.Rev
		m.revs[n.Rev] = true
	}
	if n.Lease != nil && n.Lease.Token == 0 && real.Lease != nil {
		if real.Lease.Token <= m.topToken {
			m.Refused = "token does not rise"
		} else {
			l := *n.Lease
			l.Token, m.topToken = real.Lease.Token, real.Lease.Token
			n.Lease = &l
		}
	}
	if n.Ended != nil && n.Ended.Finish == unknownHash && real.Ended != nil && real.Ended.Finish != 0 {
		n.Ended = &task.Ended{Token: n.Ended.Token, Finish: real.Ended.Finish}
	}
	if j, ok := m.jitter[k]; ok {
		delete(m.jitter, k)
		if j[0] <= real.NotBefore && real.NotBefore <= j[1] {
			n.NotBefore = real.NotBefore
		} else {
			m.Refused = "retry time out of bounds"
		}
	}
	m.Tasks[k] = &n
}

// free reports whether the machine may use this rev now: new in this entry.
func (m *Model) free(rev uint64) bool {
	if rev <= m.topRev || m.revs[rev] {
		m.Refused = "rev does not rise or is used again"
		return false
	}
	return true
}

// write stores a record as a new version.
func (m *Model) write(t *task.Task) {
	t.Rev = 0
	m.Tasks[task.Key{Namespace: t.Namespace, ID: t.ID}] = t
}

// leased returns a copy of the task if token is its current lease (SPEC L3).
func (m *Model) leased(k task.Key, token uint64) *task.Task {
	t := m.Tasks[k]
	if t == nil || t.Lease == nil || t.Lease.Token != token {
		return nil
	}
	n := *t
	return &n
}

func (m *Model) version(t *task.Task) *task.Version {
	b := m.Behaviors[task.Key{Namespace: t.Namespace, ID: t.Behavior}]
	if b == nil {
		return nil
	}
	want := t.Version
	if want == "" {
		want = b.Active
	}
	for i := range b.Versions {
		if b.Versions[i].Version == want {
			return &b.Versions[i]
		}
	}
	return nil
}

func same(a, b task.Payload) bool { return a.Encoding == b.Encoding && bytes.Equal(a.Data, b.Data) }

func final(t *task.Task) bool {
	return (t.Status == task.Success || t.Status == task.Failure) && t.NotBefore == 0
}

// Due returns the tasks that could run now, in the order of T4.
func (m *Model) Due() []*task.Task {
	var due []*task.Task
	for _, t := range m.Tasks {
		if t.Status != task.Running && t.NotBefore != 0 && t.NotBefore <= m.Now && m.version(t) != nil {
			due = append(due, t)
		}
	}
	slices.SortFunc(due, func(a, b *task.Task) int {
		ka, kb := int64(a.NotBefore)-int64(a.Priority)*60000, int64(b.NotBefore)-int64(b.Priority)*60000
		if ka != kb {
			return int(ka - kb)
		}
		return int(a.CreatedRev) - int(b.CreatedRev)
	})
	return due
}

// Version returns the version that the next lease of t would run, nil if it is gone.
func (m *Model) Version(t *task.Task) *task.Version { return m.version(t) }

// Leases returns the tasks that the session runs, in the order of their assignment.
func (m *Model) Leases(session uint64) []*task.Task {
	var ts []*task.Task
	for _, t := range m.Tasks {
		if t.Lease != nil && t.Lease.Session == session {
			ts = append(ts, t)
		}
	}
	slices.SortFunc(ts, func(a, b *task.Task) int { return int(a.Lease.Seq) - int(b.Lease.Seq) })
	return ts
}

// NextTick returns when a Tick would next do something, per clock; 0: never. Due times count: a Tick makes them due.
func (m *Model) NextTick() (wall task.Time, lease task.LeaseTime) {
	for _, t := range m.Tasks {
		for _, at := range []task.Time{m.sweep(t), t.Deadline, t.NotBefore} {
			if at != 0 && (wall == 0 || at < wall) {
				wall = at
			}
		}
	}
	for _, s := range m.Sessions {
		if lease == 0 || s.Expires < lease {
			lease = s.Expires
		}
	}
	return wall, lease
}
