// Package naive is a second model of the task state machine, for the simulator to compare package task with. It is
// written from SPEC.md and the docstrings of the commands, in the plainest way: maps, copies, full scans, at most 500
// lines. It shares no logic with package task: it uses the plain types of its contract and none of its functions.
//
// Where the SPEC leaves a number to the implementation (revs, tokens, session IDs, the jitter of a retry, the hash of
// a finish) the model checks the rule for it (rising, unused, within bounds) and then adopts the machine's number.
package naive

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// Model is the state. The exported fields are for reading.
type Model struct {
	Now       task.Time
	LeaseNow  task.LeaseTime
	Tasks     map[task.Key]*task.Task
	Sessions  map[uint64]*task.Session
	Behaviors map[task.Key]*task.Behavior // by namespace and name
	Modules   map[string]*task.Module
	Halted    map[uint64]bool // tokens that died in this entry other than by their worker's own report
	Refused   string          // why a number of the machine was not adopted

	idle             task.Millis
	index, term      uint64
	struck           bool            // in this entry something happened that a Tick is for
	used             map[uint64]bool // revs, and (shifted) session IDs, ever given
	topRev, topToken uint64
	jitter           map[task.Key][2]task.Time
	finishes         map[task.Key]task.Finish
	processes        map[uint64]*process
}

// process is a proposer that the machine knows (SPEC H4).
type process struct {
	lowest  uint64
	used    task.LeaseTime
	answers map[uint64]task.Result
}

// New returns the state before the first entry. A process idle that long on the lease clock is forgotten.
func New(idle task.Millis) *Model {
	return &Model{
		Tasks: map[task.Key]*task.Task{}, Sessions: map[uint64]*task.Session{}, Behaviors: map[task.Key]*task.Behavior{},
		Modules: map[string]*task.Module{}, idle: idle, used: map[uint64]bool{}, jitter: map[task.Key][2]task.Time{},
		finishes: map[task.Key]task.Finish{}, processes: map[uint64]*process{},
	}
}

// Apply applies one entry and predicts the results. got are the machine's, from which numbers are adopted.
func (m *Model) Apply(h task.Header, ps []task.Proposal, got []task.Result) (want []task.Result) {
	m.index, m.struck, m.Refused, m.Halted = h.Index, false, "", map[uint64]bool{}
	for _, t := range m.Tasks {
		m.topRev = max(m.topRev, t.Rev)
		m.struck = m.struck || t.NotBefore > m.Now && t.NotBefore <= h.Now
	}
	m.Now, m.LeaseNow = max(m.Now, h.Now), max(m.LeaseNow, h.LeaseNow) // C3: never back
	for id, s := range m.Sessions {
		if n := *s; h.Term != m.term { // C3: a full TTL from the first command of a term
			n.Expires = m.LeaseNow + task.LeaseTime(n.TTL)
			m.Sessions[id] = &n
		}
	}
	m.term = h.Term
	for i, p := range ps {
		want = append(want, m.propose(p, got[i]))
	}
	return want
}

// propose is H4: each (process, seq) is applied once.
func (m *Model) propose(p task.Proposal, got task.Result) task.Result {
	o, pr := p.Origin, m.processes[p.Origin.Process]
	if o.Process == 0 {
		return m.apply(p.Command, got)
	}
	if pr == nil && o.Lowest != 1 || pr != nil && o.Seq < pr.lowest || o.Seq < o.Lowest {
		return m.result(task.OriginForgotten)
	}
	if pr == nil {
		pr = &process{answers: map[uint64]task.Result{}}
		m.processes[o.Process] = pr
	}
	pr.used, pr.lowest = m.LeaseNow, max(pr.lowest, o.Lowest)
	maps.DeleteFunc(pr.answers, func(seq uint64, _ task.Result) bool { return seq < pr.lowest })
	if _, ok := pr.answers[o.Seq]; !ok {
		pr.answers[o.Seq] = m.apply(p.Command, got)
	}
	return pr.answers[o.Seq]
}

func (m *Model) result(c task.Code) task.Result { return task.Result{Code: c, Index: m.index} }

// answer is a result with the record as it is now, numbers adopted from the machine's answer.
func (m *Model) answer(c task.Code, k task.Key, got task.Result) task.Result {
	m.Adopt(k, got.Task)
	return task.Result{Code: c, Index: m.index, Task: m.Tasks[k]}
}

// Adopt takes over the numbers that are the machine's to choose from its record, if they keep the rules.
func (m *Model) Adopt(k task.Key, real *task.Task) {
	if m.Tasks[k] == nil || real == nil {
		return
	}
	n := *m.Tasks[k]
	if n.CreatedRev == 0 {
		n.CreatedRev = m.adoptRev(real.CreatedRev, 0)
	}
	if n.Rev == 0 {
		n.Rev = m.adoptRev(real.Rev, n.CreatedRev)
	}
	if n.Lease != nil && n.Lease.Token == 0 && real.Lease != nil {
		if real.Lease.Token <= m.topToken {
			m.Refused = "the token does not rise"
		}
		l := *n.Lease
		l.Token, m.topToken, n.Lease = real.Lease.Token, real.Lease.Token, &l
	}
	if n.Ended != nil && n.Ended.Finish == unknownHash && real.Ended != nil && real.Ended.Finish != 0 {
		n.Ended = &task.Ended{Token: n.Ended.Token, Finish: real.Ended.Finish}
	}
	if j, ok := m.jitter[k]; ok {
		if delete(m.jitter, k); j[0] > real.NotBefore || real.NotBefore > j[1] {
			m.Refused = "the retry's time is out of bounds"
		}
		n.NotBefore = real.NotBefore
	}
	m.Tasks[k] = &n
}

// adoptRev returns rev if no record ever had it; created is this record's own first.
func (m *Model) adoptRev(rev, created uint64) uint64 {
	if rev <= m.topRev || m.used[rev] && rev != created {
		m.Refused = "the rev is not new"
	}
	m.used[rev] = true
	return rev
}

// write stores a record as a new version.
func (m *Model) write(t *task.Task) {
	t.Rev = 0
	delete(m.jitter, key(t))
	m.Tasks[key(t)] = t
}

func key(t *task.Task) task.Key { return task.Key{Namespace: t.Namespace, ID: t.ID} }

func same(a, b task.Payload) bool { return a.Encoding == b.Encoding && bytes.Equal(a.Data, b.Data) }

// sameFinish leaves out the seq: a finish sent again may be numbered again (L3).
func sameFinish(a, b task.Finish) bool {
	if (a.Error == nil) != (b.Error == nil) || !same(a.Result, b.Result) {
		return false
	}
	return a.Error == nil || a.Error.Code == b.Error.Code && a.Error.Message == b.Error.Message && a.Error.Retryable == b.Error.Retryable
}

func final(t *task.Task) bool { return t.Status >= task.Success && t.NotBefore == 0 }

// Version returns the version of the task's behavior with this name, "" for the active one, nil if it is gone.
func (m *Model) Version(t *task.Task, want string) *task.Version {
	if b := m.Behaviors[task.Key{Namespace: t.Namespace, ID: t.Behavior}]; b != nil {
		for i, v := range b.Versions {
			if v.Version == want || want == "" && v.Version == b.Active {
				return &b.Versions[i]
			}
		}
	}
	return nil
}

// Due returns the tasks that could run now, in the order of T4.
func (m *Model) Due() []*task.Task {
	due := slices.Collect(maps.Values(m.Tasks))
	due = slices.DeleteFunc(due, func(t *task.Task) bool { return !m.due(t) || m.Version(t, t.Version) == nil })
	slices.SortFunc(due, func(a, b *task.Task) int {
		ka, kb := int64(a.NotBefore)-int64(a.Priority)*60000, int64(b.NotBefore)-int64(b.Priority)*60000
		return cmp.Or(cmp.Compare(ka, kb), cmp.Compare(a.CreatedRev, b.CreatedRev))
	})
	return due
}

func (m *Model) due(t *task.Task) bool {
	return t.Status != task.Running && t.NotBefore != 0 && t.NotBefore <= m.Now && (t.Deadline == 0 || t.Deadline > m.Now)
}

// Leases returns the tasks that the session runs, in the order of their assignment.
func (m *Model) Leases(session uint64) []*task.Task {
	ts := slices.Collect(maps.Values(m.Tasks))
	ts = slices.DeleteFunc(ts, func(t *task.Task) bool { return t.Lease == nil || t.Lease.Session != session })
	slices.SortFunc(ts, func(a, b *task.Task) int { return cmp.Compare(a.Lease.Seq, b.Lease.Seq) })
	return ts
}

// Times returns when a Tick would do something for this task; 0: never.
func (m *Model) Times(t *task.Task) (due, deadline, sweep task.Time) {
	if t.NotBefore > m.Now {
		due = t.NotBefore
	}
	if !final(t) && t.CancelCode == "" {
		deadline = t.Deadline
	}
	if v := m.Version(t, ""); v != nil && final(t) {
		if sweep = t.FinishedAt + task.Time(v.Policy.KeepSuccess); t.Status == task.Failure {
			sweep = t.FinishedAt + task.Time(v.Policy.KeepFailure)
		}
	}
	return due, deadline, sweep
}
