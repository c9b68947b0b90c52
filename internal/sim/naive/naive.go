// Package naive is a second model of the task state machine, for the simulator to compare package task with: written
// from SPEC.md in the plainest way (maps, copies, full scans), at most 500 lines. It uses the plain types of task's
// contract and none of its functions. Where the SPEC leaves a number to the implementation the model leaves it open (a
// rev or token 0, UnknownHash, Jitter) and calls Adopt: the simulator checks the machine's number and fills it in.
package naive

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// Model is the state. The exported fields are for reading.
type Model struct {
	Now       task.Time
	LeaseNow  task.LeaseTime
	Tasks     map[task.Key]*task.Task
	Sessions  map[uint64]task.Session
	Behaviors map[task.Key]*task.Behavior // by namespace and name
	Modules   map[string]*task.Module
	Halted    map[uint64]bool           // tokens that died in this entry other than by their worker's own report
	Jitter    map[task.Key][2]task.Time // bounds of not_before, where the machine's hash decides
	Adopt     func(k task.Key, real *task.Task)

	idle        task.Millis
	index, term uint64
	struck      bool // in this entry something happened that a Tick is for
	finishes    map[task.Key]string
	processes   map[uint64]*process
}

// UnknownHash marks an Ended.Finish that is to be adopted.
const UnknownHash = 1

type process struct { // a proposer that the machine knows (SPEC H4)
	lowest  uint64
	used    task.LeaseTime
	answers map[uint64]task.Result
}

// New returns the state before the first entry. A process idle that long on the lease clock is forgotten.
func New(idle task.Millis) *Model {
	return &Model{
		Tasks: map[task.Key]*task.Task{}, Sessions: map[uint64]task.Session{}, Behaviors: map[task.Key]*task.Behavior{},
		Modules: map[string]*task.Module{}, Jitter: map[task.Key][2]task.Time{}, idle: idle,
		finishes: map[task.Key]string{}, processes: map[uint64]*process{},
	}
}

// Apply applies one entry and predicts the results. got are the machine's, from which numbers are adopted.
func (m *Model) Apply(h task.Header, ps []task.Proposal, got []task.Result) (want []task.Result) {
	m.index, m.struck, m.Halted = h.Index, false, map[uint64]bool{}
	for _, t := range m.Tasks {
		m.struck = m.struck || t.NotBefore > m.Now && t.NotBefore <= h.Now
	}
	m.Now, m.LeaseNow = max(m.Now, h.Now), max(m.LeaseNow, h.LeaseNow) // C3: never back
	for id, s := range m.Sessions {
		if h.Term != m.term { // C3: a full TTL from the first command of a term
			s.Expires = m.LeaseNow + task.LeaseTime(s.TTL)
			m.Sessions[id] = s
		}
	}
	m.term = h.Term
	for i, p := range ps {
		r := m.propose(p, got[i])
		r.Index = cmp.Or(r.Index, h.Index)
		want = append(want, r)
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
		return task.Result{Code: task.OriginForgotten}
	} else if pr == nil {
		pr = &process{answers: map[uint64]task.Result{}}
		m.processes[o.Process] = pr
	}
	pr.used, pr.lowest = m.LeaseNow, max(pr.lowest, o.Lowest)
	maps.DeleteFunc(pr.answers, func(seq uint64, _ task.Result) bool { return seq < pr.lowest })
	if _, ok := pr.answers[o.Seq]; !ok {
		r := m.apply(p.Command, got)
		r.Index = m.index
		pr.answers[o.Seq] = r
	}
	return pr.answers[o.Seq]
}

func (m *Model) answer(c task.Code, k task.Key, got task.Result) task.Result {
	m.Adopt(k, got.Task)
	return task.Result{Code: c, Task: m.Tasks[k]}
}

// write stores a record as a new version.
func (m *Model) write(t *task.Task) {
	t.Rev = 0
	m.Tasks[task.Key{Namespace: t.Namespace, ID: t.ID}] = t
}

// same compares params; absent ones are null (I2).
func same(a, b task.Payload) bool {
	null := func(p task.Payload) bool {
		return p.Encoding == task.None || p.Encoding == task.JSON && string(p.Data) == "null"
	}
	return null(a) && null(b) || a.Encoding == b.Encoding && string(a.Data) == string(b.Data)
}

// text identifies a finish without its seq: sent again, it may be numbered again (L3).
func text(c task.Finish) string {
	j, _ := json.Marshal([]any{c.Token, c.Result, c.Error}) // plain values: no error
	return string(j)
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

// Due reports whether the task may run now (T3), and not too late for its deadline.
func (m *Model) Due(t *task.Task) bool {
	return t.Status != task.Running && t.NotBefore != 0 && t.NotBefore <= m.Now && (t.Deadline == 0 || t.Deadline > m.Now)
}

// Leases returns the tasks that the session runs, in the order of their assignment.
func (m *Model) Leases(session uint64) []*task.Task {
	ts := slices.Collect(maps.Values(m.Tasks))
	ts = slices.DeleteFunc(ts, func(t *task.Task) bool { return t.Lease == nil || t.Lease.Session != session })
	slices.SortFunc(ts, func(a, b *task.Task) int { return cmp.Compare(a.Lease.Seq, b.Lease.Seq) })
	return ts
}

// Times returns when the task's deadline strikes and when retention removes it (R1, T9); 0: never.
func (m *Model) Times(t *task.Task) (deadline, sweep task.Time) {
	if v := m.Version(t, ""); final(t) {
		keep := map[task.Status]task.Millis{task.Success: v.Policy.KeepSuccess, task.Failure: v.Policy.KeepFailure}
		return 0, t.FinishedAt + task.Time(keep[t.Status])
	} else if t.CancelCode == "" {
		return t.Deadline, 0
	}
	return 0, 0
}

func (m *Model) apply(c task.Command, got task.Result) task.Result {
	switch c := c.(type) {
	case task.Submit: // I1-I5
		return m.submit(c, got)
	case task.Assign: // L1, T3, B2
		return m.assign(c, got)
	case task.Finish: // L3, R1, R2, L8, I3
		if old := m.Tasks[c.Key]; old != nil && old.Ended != nil && old.Ended.Finish != 0 && m.finishes[c.Key] == text(c) {
			r := m.answer(task.OK, c.Key, got)
			r.Repeated = true
			return r
		}
		return m.report(c.Key, c.Token, c.Seq, got, func(t *task.Task) task.Code { return m.finish(t, c) })
	case task.Beat: // L3, T8
		return m.report(c.Key, c.Token, c.Seq, got, func(t *task.Task) task.Code { return m.beat(t, c) })
	case task.Snooze: // R5
		return m.report(c.Key, c.Token, c.Seq, got, func(t *task.Task) task.Code {
			if c.Checkpoint != nil {
				t.Checkpoint, t.LostCount = *c.Checkpoint, 0
			}
			at := cmp.Or(c.At, m.Now+1000)
			return m.waitAgain(t, "SNOOZED", at, at)
		})
	case task.GiveBack: // R3
		return m.report(c.Key, c.Token, 0, got, func(t *task.Task) task.Code { return m.waitAgain(t, "GIVEN_BACK", m.Now, 0) })
	case task.Cancel: // L8
		return m.cancel(c, got)
	case task.Remove: // L9
		return m.remove(c.Key)
	case task.OpenSession: // L2, L5, L6
		return m.open(c, got)
	case task.RenewSession: // L2, L4
		return m.renew(c)
	case task.CloseSession: // R3
		return m.endSession(c.Session, "GIVEN_BACK")
	case task.Activate: // B2: the last 5 versions stay, and those that tasks are pinned to
		return m.activate(c)
	case task.Tick: // L4, R1, T9, H4
		return m.tick()
	}
	panic("naive: unknown command")
}

func (m *Model) submit(c task.Submit, got task.Result) task.Result {
	k := task.Key{Namespace: c.Namespace, ID: c.ID}
	if c.Namespace != task.DefaultNamespace && c.Namespace != task.SystemNamespace {
		return task.Result{Code: task.NamespaceNotFound}
	} else if m.Behaviors[task.Key{Namespace: c.Namespace, ID: c.Behavior}] == nil {
		return task.Result{Code: task.BehaviorNotFound}
	}
	at, old, outcome := cmp.Or(c.NotBefore, m.Now+task.Time(c.Delay)), m.Tasks[k], task.SubmitExisting
	t := task.Task{
		Namespace: c.Namespace, ID: c.ID, Behavior: c.Behavior, Status: task.Created, Params: c.Params,
		NotBefore: at, Deadline: c.Deadline, CreatedAt: m.Now, Labels: c.Labels, Priority: c.Priority,
	}
	if old != nil {
		t = *old
	}
	switch resubmit := c.IfExists == task.Resubmit; {
	case old == nil:
		outcome = task.SubmitCreated
	case t.Behavior != c.Behavior:
		return m.answer(task.OtherBehavior, k, got)
	case c.IfExists == task.Fail:
		return m.answer(task.AlreadyExists, k, got)
	case resubmit && t.CancelCode != "":
		return m.answer(task.Cancelling, k, got)
	case resubmit && t.Status == task.Running && t.Resubmit != at:
		t.Resubmit, outcome = at, task.SubmitUpdated
	case resubmit && !final(&t) && (t.Status == task.Running || t.NotBefore == at || t.NotBefore <= m.Now && at <= m.Now):
	case resubmit, c.IfExists == task.Rerun && final(&t):
		again(&t, at, c.Deadline)
		if outcome = task.SubmitUpdated; resubmit && c.HasParams {
			t.Params = c.Params
		}
	}
	if outcome != task.SubmitExisting {
		m.write(&t)
	} else if !same(c.Params, t.Params) && (c.HasParams || c.IfExists != task.Resubmit) {
		outcome = task.SubmitExistingOtherParams
	}
	r := m.answer(task.OK, k, got)
	r.Outcome = outcome
	return r
}

// again makes a task due for a new cycle (T1, T8, B2, R1).
func again(t *task.Task, at, deadline task.Time) {
	t.NotBefore, t.Deadline, t.Failures, t.Version, t.Checkpoint = at, deadline, 0, "", task.Payload{}
}

func (m *Model) assign(c task.Assign, got task.Result) task.Result {
	old, s := m.Tasks[c.Key], m.Sessions[c.Session]
	switch {
	case s.ID == 0:
		return task.Result{Code: task.SessionNotFound}
	case old == nil || old.Rev != c.Rev || !m.Due(old):
		return task.Result{Code: task.NotEligible}
	case int64(len(m.Leases(s.ID))) >= s.Slots:
		return task.Result{Code: task.NoFreeSlot}
	case m.Version(old, old.Version) == nil:
		return task.Result{Code: task.ModuleMissing}
	}
	t := *old
	s.Seq, t.Attempt = s.Seq+1, t.Attempt+1
	m.Sessions[s.ID] = s
	t.Status, t.Version, t.NotBefore, t.StartedAt, t.FinishedAt = task.Running, m.Version(old, old.Version).Version, 0, m.Now, 0
	t.Result, t.Error, t.Progress, t.Ended = task.Payload{}, nil, task.Payload{}, nil
	t.Lease = &task.Lease{Session: s.ID, Seq: s.Seq, Worker: s.Worker, Node: s.Node}
	m.write(&t)
	return m.answer(task.OK, c.Key, got)
}

// report is L3: only the current token changes anything, and only with a seq that rises (0: not numbered).
func (m *Model) report(k task.Key, token, seq uint64, got task.Result, change func(*task.Task) task.Code) task.Result {
	old := m.Tasks[k]
	if old == nil || old.Lease == nil || old.Lease.Token != token {
		return task.Result{Code: task.Halt}
	}
	if t := *old; seq == 0 || seq > old.Lease.Report {
		return m.answer(change(&t), k, got)
	}
	return m.answer(task.OK, k, got)
}

func (m *Model) beat(t *task.Task, c task.Beat) task.Code {
	l := *t.Lease
	l.Report, t.Lease = cmp.Or(c.Seq, l.Report), &l
	if c.Progress != nil {
		t.Progress = *c.Progress
	}
	if c.Checkpoint != nil {
		t.Checkpoint, t.LostCount = *c.Checkpoint, 0
	}
	if c.Seq != 0 || c.Progress != nil || c.Checkpoint != nil {
		m.write(t)
	}
	return task.OK
}

func (m *Model) finish(t *task.Task, c task.Finish) task.Code {
	if t.Deadline != 0 && t.Deadline <= m.Now { // refused, but the run is over
		t.CancelCode = task.CodeDeadlineExceeded
		m.waitAgain(t, "", 0, 0)
		return task.Halt
	}
	bounds := [2]task.Time{}
	switch {
	case c.Error == nil:
		m.end(t, "SUCCESS")
		t.Status, t.Result, t.FinishedAt, t.LostCount, t.CancelCode = task.Success, c.Result, m.Now, 0, ""
		again(t, 0, 0)
	case t.CancelCode != "":
		m.waitAgain(t, "", 0, 0)
	default:
		m.end(t, c.Error.Code)
		m.failed(t, c.Error)
		t.Failures++
		if p := m.Version(t, t.Version).Policy.Retry; c.Error.Retryable && (p.MaxAttempts == 0 || t.Failures < p.MaxAttempts) {
			d := min(p.InitialInterval, p.MaxInterval)
			for range t.Failures - 1 {
				d = min(d*task.Millis(p.MultiplierThousandth)/1000, p.MaxInterval)
			}
			bounds = [2]task.Time{m.Now + task.Time(d-d*task.Millis(p.JitterPercent)/100), m.Now + task.Time(d)}
			if t.NotBefore = bounds[0]; t.Resubmit != 0 {
				bounds = [2]task.Time{min(bounds[0], t.Resubmit), min(bounds[1], t.Resubmit)}
			}
		}
	}
	t.Ended.Finish = UnknownHash
	m.finishes[c.Key] = text(c)
	resubmitted(t, t.NotBefore)
	if m.write(t); bounds[0] != 0 {
		m.Jitter[c.Key] = bounds
	}
	return task.OK
}

// failed gives t the outcome FAILURE, final as it stands.
func (m *Model) failed(t *task.Task, e *task.Error) {
	t.Status, t.Error, t.FinishedAt, t.LostCount, t.NotBefore, t.CancelCode = task.Failure, e, m.Now, 0, 0, ""
}

// resubmitted lets the resubmit flag take effect: due at its time, or at other (0: none) if that is earlier (I3).
func resubmitted(t *task.Task, other task.Time) {
	if at := t.Resubmit; at != 0 {
		t.Resubmit = 0
		again(t, min(at, cmp.Or(other, at)), 0)
	}
}

// end takes the lease from t and notes it in the history.
func (m *Model) end(t *task.Task, outcome string) {
	l := t.Lease
	t.Lease, t.Ended = nil, &task.Ended{Token: l.Token}
	t.History = append(slices.Clone(t.History), task.Attempt{
		Number: t.Attempt, Token: l.Token, Worker: l.Worker, Node: l.Node, StartedAt: t.StartedAt, FinishedAt: m.Now, Outcome: outcome,
	})
	t.History = t.History[max(0, len(t.History)-5):]
}

// waitAgain ends a run without an outcome (T1, L8, R3, R5). wish is the time that the run itself named, 0: none.
func (m *Model) waitAgain(t *task.Task, outcome string, at, wish task.Time) task.Code {
	code := t.CancelCode
	t.LostCount += map[string]int64{"LOST": 1}[outcome]
	m.end(t, cmp.Or(code, outcome))
	if t.Status, t.NotBefore = task.Created, at; code != "" {
		m.failed(t, &task.Error{Code: code})
		t.Resubmit = 0
	} else if outcome == "LOST" && t.LostCount >= m.Version(t, t.Version).Policy.MaxLost {
		m.failed(t, &task.Error{Code: task.CodeLostTooOften})
	}
	resubmitted(t, wish)
	m.write(t)
	return task.OK
}

func (m *Model) cancel(c task.Cancel, got task.Result) task.Result {
	t := m.Tasks[c.Key]
	if t == nil {
		return task.Result{Code: task.TaskNotFound}
	} else if final(t) && (t.Status != task.Failure || t.Error.Code != task.CodeCancelled) {
		return m.answer(task.NotCancellable, c.Key, got)
	} else if !final(t) && t.CancelCode == "" {
		m.strike(t, task.CodeCancelled)
	}
	r := m.answer(task.OK, c.Key, got)
	r.Told = t.Status == task.Running
	return r
}

// strike is a cancel or a deadline of a task that is not final.
func (m *Model) strike(old *task.Task, code string) {
	t := *old
	if t.Resubmit = 0; t.Status == task.Running {
		t.CancelCode = code
	} else if t.NotBefore = 0; t.Status != task.Success {
		m.failed(&t, &task.Error{Code: code})
	}
	m.write(&t)
}

func (m *Model) remove(k task.Key) task.Result {
	t := m.Tasks[k]
	if t == nil {
		return task.Result{Code: task.TaskNotFound}
	} else if t.Lease != nil {
		m.Halted[t.Lease.Token] = true
	}
	delete(m.Tasks, k)
	return task.Result{}
}

func (m *Model) open(c task.OpenSession, got task.Result) task.Result {
	for _, s := range m.Sessions {
		if s.Worker == c.Worker && (string(s.Proof) != string(c.Proof) || c.Hello != 0 && c.Hello <= s.Hello) {
			return task.Result{Code: task.WorkerInUse}
		} else if s.Worker == c.Worker {
			m.endSession(s.ID, "LOST")
		}
	}
	n := task.Session{Worker: c.Worker, Node: c.Node, Slots: c.Slots, TTL: c.TTL, Proof: c.Proof, Hello: c.Hello, Expires: m.LeaseNow + task.LeaseTime(c.TTL)}
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

func (m *Model) endSession(id uint64, outcome string) task.Result {
	if _, ok := m.Sessions[id]; !ok {
		return task.Result{Code: task.SessionNotFound}
	}
	for _, t := range m.Leases(id) {
		m.Halted[t.Lease.Token] = true
		n := *t
		m.waitAgain(&n, outcome, m.Now, 0)
	}
	delete(m.Sessions, id)
	return task.Result{}
}

func (m *Model) activate(c task.Activate) task.Result {
	changed := false
	for _, a := range c.Behaviors {
		k := task.Key{Namespace: c.Namespace, ID: a.Name}
		b := task.Behavior{Namespace: c.Namespace, Name: a.Name, Active: c.Module.Version}
		if old := m.Behaviors[k]; old != nil && old.Active == b.Active {
			continue
		} else if old != nil {
			b.Versions = slices.DeleteFunc(slices.Clone(old.Versions), func(v task.Version) bool { return v.Version == b.Active })
		}
		b.Versions = append(b.Versions, task.Version{Version: b.Active, Module: c.Module.Digest, Policy: a.Policy, ActivatedAt: m.Now})
		pinned := map[string]bool{}
		for _, t := range m.Tasks {
			pinned[t.Version] = pinned[t.Version] || t.Namespace == c.Namespace && t.Behavior == a.Name
		}
		surplus := len(b.Versions) - 5
		b.Versions = slices.DeleteFunc(b.Versions, func(v task.Version) bool { surplus--; return surplus >= 0 && !pinned[v.Version] })
		m.Behaviors[k], m.Modules[c.Module.Digest], changed = &b, &c.Module, true
	}
	maps.DeleteFunc(m.Modules, func(digest string, _ *task.Module) bool {
		names := func(v task.Version) bool { return v.Module == digest }
		return !slices.ContainsFunc(slices.Collect(maps.Values(m.Behaviors)), func(b *task.Behavior) bool { return slices.ContainsFunc(b.Versions, names) })
	})
	return task.Result{Changed: changed}
}

func (m *Model) tick() task.Result {
	for _, s := range m.Sessions {
		if s.Expires <= m.LeaseNow {
			m.endSession(s.ID, "LOST")
			m.struck = true
		}
	}
	for k, t := range m.Tasks {
		if at, _ := m.Times(t); at != 0 && at <= m.Now {
			m.strike(t, task.CodeDeadlineExceeded)
			m.struck = true
		}
		if _, at := m.Times(m.Tasks[k]); at != 0 && at <= m.Now {
			m.remove(k)
			m.struck = true
		}
	}
	known := len(m.processes)
	maps.DeleteFunc(m.processes, func(_ uint64, p *process) bool { return p.used+task.LeaseTime(m.idle) <= m.LeaseNow })
	r := task.Result{Changed: m.struck || len(m.processes) < known}
	m.struck = false
	return r
}
