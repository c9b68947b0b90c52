package naive

import (
	"bytes"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// submit is I1-I5.
func (m *Model) submit(c task.Submit, got task.Result) task.Result {
	if c.Namespace != task.DefaultNamespace && c.Namespace != task.SystemNamespace {
		return m.result(task.NamespaceNotFound)
	}
	if m.Behaviors[task.Key{Namespace: c.Namespace, ID: c.Behavior}] == nil {
		return m.result(task.BehaviorNotFound)
	}
	at := c.NotBefore
	if at == 0 {
		at = m.Now + task.Time(c.Delay)
	}
	k := task.Key{Namespace: c.Namespace, ID: c.ID}
	old := m.Tasks[k]
	if old == nil {
		m.write(&task.Task{
			Namespace: c.Namespace, ID: c.ID, Behavior: c.Behavior, Status: task.Created, Params: c.Params,
			NotBefore: at, Deadline: c.Deadline, CreatedAt: m.Now, Labels: c.Labels, Priority: c.Priority,
		})
		r := m.answer(task.OK, k, got)
		r.Outcome = task.SubmitCreated
		return r
	}
	t := *old
	t.Rev = 0
	met := task.SubmitExisting
	if !same(c.Params, t.Params) {
		met = task.SubmitExistingOtherParams
	}
	change := false
	switch {
	case t.Behavior != c.Behavior:
		return m.answer(task.OtherBehavior, k, got)
	case c.IfExists == task.Fail:
		return m.answer(task.AlreadyExists, k, got)
	case c.IfExists == task.Rerun && final(&t):
		change = true
		m.again(&t, at, c.Deadline)
	case c.IfExists != task.Resubmit:
	case t.CancelCode != "":
		return m.answer(task.Cancelling, k, got)
	case t.Status == task.Running:
		change = t.Resubmit != at
		t.Resubmit = at
	case final(&t):
		change = true
		m.again(&t, at, c.Deadline)
		if c.HasParams {
			t.Params = c.Params
		}
	case t.NotBefore == at, t.NotBefore <= m.Now && at <= m.Now:
	default:
		change = true
		t.NotBefore = at
		if c.HasParams {
			t.Params = c.Params
		}
	}
	if change {
		met = task.SubmitUpdated
		m.write(&t)
	}
	r := m.answer(task.OK, k, got)
	r.Outcome = met
	return r
}

// again makes a task due for a new cycle: rerun and resubmit (T1, T8, B2, R1).
func (m *Model) again(t *task.Task, at, deadline task.Time) {
	t.NotBefore, t.Deadline = at, deadline
	t.Failures, t.LostCount = 0, 0
	t.Version, t.Checkpoint = "", task.Payload{}
}

// assign is L1, T3, B2.
func (m *Model) assign(c task.Assign, got task.Result) task.Result {
	s := m.Sessions[c.Session]
	if s == nil {
		return m.result(task.SessionNotFound)
	}
	old := m.Tasks[c.Key]
	if old == nil || old.Rev == 0 || old.Rev != c.Rev || old.Status == task.Running || old.NotBefore == 0 || old.NotBefore > m.Now {
		return m.result(task.NotEligible)
	}
	if int64(len(m.Leases(s.ID))) >= s.Slots {
		return m.result(task.NoFreeSlot)
	}
	v := m.version(old)
	if v == nil {
		return m.result(task.ModuleMissing)
	}
	n := *s
	n.Seq++
	m.Sessions[n.ID] = &n
	t := *old
	t.Status, t.Version = task.Running, v.Version
	t.Result, t.Error, t.Progress, t.Ended = task.Payload{}, nil, task.Payload{}, nil
	t.NotBefore, t.StartedAt, t.FinishedAt = 0, m.Now, 0
	t.Attempt++
	t.Lease = &task.Lease{Session: n.ID, Seq: n.Seq, Worker: n.Worker, Node: n.Node}
	m.write(&t)
	return m.answer(task.OK, c.Key, got)
}

// finish is L3, R2, L8, I3.
func (m *Model) finish(c task.Finish, got task.Result) task.Result {
	t := m.leased(c.Key, c.Token)
	if t == nil {
		if old := m.Tasks[c.Key]; old != nil && old.Ended != nil && old.Ended.Token == c.Token && old.Ended.Finish != 0 && sameFinish(m.finishes[c.Key], c) {
			r := m.answer(task.OK, c.Key, got)
			r.Repeated = true
			return r
		}
		return m.result(task.Halt)
	}
	if c.Seq != 0 && c.Seq <= t.Lease.Report {
		return m.answer(task.OK, c.Key, got)
	}
	if t.Deadline != 0 && t.Deadline <= m.Now { // R1: refused, whether or not a Tick has struck yet
		t.CancelCode = task.CodeDeadlineExceeded
		m.cancelled(t)
		m.write(t)
		return m.result(task.Halt)
	}
	switch {
	case c.Error == nil:
		m.end(t, "SUCCESS")
		t.Status, t.Result, t.FinishedAt = task.Success, c.Result, m.Now
		t.Failures, t.LostCount, t.Deadline, t.Version, t.Checkpoint = 0, 0, 0, "", task.Payload{}
		t.NotBefore, t.Resubmit, t.CancelCode = t.Resubmit, 0, ""
	case t.CancelCode != "":
		m.cancelled(t)
	default:
		m.end(t, c.Error.Code)
		t.Failures++
		m.failed(t, c.Error, true)
	}
	t.Ended.Finish = unknownHash
	m.finishes[c.Key] = c
	m.write(t)
	return m.answer(task.OK, c.Key, got)
}

func sameFinish(a, b task.Finish) bool {
	if (a.Error == nil) != (b.Error == nil) || a.Seq != b.Seq || a.Token != b.Token {
		return false
	}
	if a.Error != nil {
		return a.Error.Code == b.Error.Code && a.Error.Message == b.Error.Message && a.Error.Retryable == b.Error.Retryable && same(a.Error.Details, b.Error.Details)
	}
	return same(a.Result, b.Result)
}

// failed gives t the outcome FAILURE and decides about a retry (R2) and a resubmit (I3).
func (m *Model) failed(t *task.Task, e *task.Error, mayRetry bool) {
	k := task.Key{Namespace: t.Namespace, ID: t.ID}
	t.Status, t.Error, t.FinishedAt, t.LostCount = task.Failure, e, m.Now, 0
	delete(m.jitter, k)
	if v := m.version(t); mayRetry && v != nil && e.Retryable && (v.Policy.Retry.MaxAttempts == 0 || t.Failures < v.Policy.Retry.MaxAttempts) {
		p := v.Policy.Retry
		d := p.InitialInterval
		for range t.Failures - 1 {
			if d = d * task.Millis(p.MultiplierThousandth) / 1000; d >= p.MaxInterval {
				break
			}
		}
		d = min(d, p.MaxInterval)
		spread := d * task.Millis(p.JitterPercent) / 100
		t.NotBefore = m.Now + task.Time(d)
		lo, hi := m.Now+task.Time(d-spread), m.Now+task.Time(d+spread)
		if t.Resubmit == 0 || t.Resubmit > lo {
			m.jitter[k] = [2]task.Time{lo, hi}
			if t.Resubmit != 0 {
				m.jitter[k] = [2]task.Time{lo, min(hi, t.Resubmit)}
			}
		}
	}
	if r := t.Resubmit; r != 0 {
		if t.NotBefore == 0 || r < t.NotBefore {
			t.NotBefore = r
		}
		m.resubmitted(t)
	}
}

// resubmitted clears the flag and what a resubmit clears.
func (m *Model) resubmitted(t *task.Task) {
	at := t.NotBefore
	m.again(t, at, 0)
	t.Resubmit = 0
}

// end takes the lease from t and notes it in the history.
func (m *Model) end(t *task.Task, outcome string) {
	l := t.Lease
	t.Ended = &task.Ended{Token: l.Token}
	t.History = append(slices.Clone(t.History), task.Attempt{
		Number: t.Attempt, Token: l.Token, Worker: l.Worker, Node: l.Node, StartedAt: t.StartedAt, FinishedAt: m.Now, Outcome: outcome,
	})
	t.History = t.History[max(0, len(t.History)-5):]
	t.Lease = nil
}

// cancelled ends a run, or a waiting task, with the code it was cancelled with (L8, R1).
func (m *Model) cancelled(t *task.Task) {
	if t.Lease != nil {
		m.end(t, t.CancelCode)
	}
	m.failed(t, &task.Error{Code: t.CancelCode}, false)
	t.CancelCode = ""
}

// waitAgain ends a run without an outcome: due again at a time, or cancelled if that was asked (L8, R5, I3).
func (m *Model) waitAgain(t *task.Task, outcome string, at task.Time) {
	if t.CancelCode != "" {
		m.cancelled(t)
		m.write(t)
		return
	}
	m.end(t, outcome)
	t.Status, t.NotBefore = task.Created, at
	if t.Resubmit != 0 {
		t.NotBefore = min(at, t.Resubmit)
		m.resubmitted(t)
	}
	m.write(t)
}

// beat is L3, T8.
func (m *Model) beat(c task.Beat, got task.Result) task.Result {
	t := m.leased(c.Key, c.Token)
	if t == nil {
		return m.result(task.Halt)
	}
	if c.Seq != 0 && c.Seq <= t.Lease.Report {
		return m.answer(task.OK, c.Key, got)
	}
	l := *t.Lease
	l.Report = max(l.Report, c.Seq)
	t.Lease = &l
	if c.Progress != nil {
		t.Progress = *c.Progress
	}
	if c.Checkpoint != nil {
		t.Checkpoint, t.LostCount = *c.Checkpoint, 0
	}
	m.write(t)
	return m.answer(task.OK, c.Key, got)
}

// cancel is L8.
func (m *Model) cancel(c task.Cancel, got task.Result) task.Result {
	old := m.Tasks[c.Key]
	if old == nil {
		return m.result(task.TaskNotFound)
	}
	if final(old) && (old.Status != task.Failure || old.Error.Code != task.CodeCancelled) {
		return m.answer(task.NotCancellable, c.Key, got)
	}
	if !final(old) && old.CancelCode == "" {
		t := *old
		m.strike(&t, task.CodeCancelled)
		m.write(&t)
	}
	r := m.answer(task.OK, c.Key, got)
	r.Told = m.Tasks[c.Key].Status == task.Running
	return r
}

// strike is a cancel or a deadline of a task that is not final.
func (m *Model) strike(t *task.Task, code string) {
	t.Resubmit = 0
	switch t.Status {
	case task.Running:
		t.CancelCode = code
	case task.Success:
		t.NotBefore = 0
	default:
		t.NotBefore, t.CancelCode = 0, code
		m.cancelled(t)
	}
}

func (m *Model) remove(t *task.Task) {
	if t.Lease != nil {
		m.Halted[t.Lease.Token] = true
	}
	delete(m.Tasks, task.Key{Namespace: t.Namespace, ID: t.ID})
}

// open is L2, L5, L6.
func (m *Model) open(c task.OpenSession, got task.Result) task.Result {
	for _, s := range m.Sessions {
		if s.Worker != c.Worker {
			continue
		}
		if !bytes.Equal(s.Proof, c.Proof) {
			return m.result(task.WorkerInUse)
		}
		m.endSession(s, m.lost)
	}
	n := task.Session{Worker: c.Worker, Node: c.Node, Slots: c.Slots, TTL: c.TTL, Proof: c.Proof, Expires: m.LeaseNow + task.LeaseTime(c.TTL)}
	if got.Session != nil && !m.ids[got.Session.ID] {
		n.ID = got.Session.ID
	}
	m.ids[n.ID] = true
	m.Sessions[n.ID] = &n
	r := m.result(task.OK)
	r.Session = &n
	return r
}

// endSession ends a session; each of its runs goes by way of end.
func (m *Model) endSession(s *task.Session, end func(*task.Task)) {
	for _, t := range m.Leases(s.ID) {
		m.Halted[t.Lease.Token] = true
		n := *t
		end(&n)
	}
	delete(m.Sessions, s.ID)
}

func (m *Model) giveBack(t *task.Task) { m.waitAgain(t, "GIVEN_BACK", m.Now) }

// lost is R3.
func (m *Model) lost(t *task.Task) {
	v := m.version(t)
	if t.LostCount++; t.CancelCode == "" && v != nil && v.Policy.MaxLost > 0 && t.LostCount >= v.Policy.MaxLost {
		m.end(t, "LOST")
		m.failed(t, &task.Error{Code: task.CodeLostTooOften}, false)
		m.write(t)
		return
	}
	m.waitAgain(t, "LOST", m.Now)
}

// activate is B2.
func (m *Model) activate(c task.Activate) task.Result {
	if c.Namespace != task.DefaultNamespace && c.Namespace != task.SystemNamespace {
		return m.result(task.NamespaceNotFound)
	}
	r := m.result(task.OK)
	m.Modules[c.Module.Digest] = &c.Module
	for _, a := range c.Behaviors {
		k := task.Key{Namespace: c.Namespace, ID: a.Name}
		b := task.Behavior{Namespace: c.Namespace, Name: a.Name}
		if old := m.Behaviors[k]; old != nil {
			b = *old
		}
		if b.Active == c.Module.Version {
			continue
		}
		b.Active, b.Rev, r.Changed = c.Module.Version, 0, true
		if !slices.ContainsFunc(b.Versions, func(v task.Version) bool { return v.Version == b.Active }) {
			b.Versions = append(slices.Clone(b.Versions), task.Version{Version: b.Active, Module: c.Module.Digest, Policy: a.Policy, ActivatedAt: m.Now})
		}
		m.Behaviors[k] = &b
	}
	return r
}

// tick is L4, R1, T9.
func (m *Model) tick() {
	for _, s := range m.Sessions {
		if s.Expires <= m.LeaseNow {
			m.endSession(s, m.lost)
		}
	}
	for _, t := range m.Tasks {
		n := *t
		switch {
		case final(t):
			if at := m.sweep(t); at != 0 && at <= m.Now {
				m.remove(t)
			}
		case t.Deadline != 0 && t.Deadline <= m.Now && t.CancelCode == "":
			m.strike(&n, task.CodeDeadlineExceeded)
			m.write(&n)
		}
	}
}

// sweep returns when retention removes a final task; 0: never.
func (m *Model) sweep(t *task.Task) task.Time {
	v := m.version(t)
	if v == nil {
		return 0
	}
	if t.Status == task.Success {
		return t.FinishedAt + task.Time(v.Policy.KeepSuccess)
	}
	return t.FinishedAt + task.Time(v.Policy.KeepFailure)
}
