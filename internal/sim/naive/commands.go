package naive

import (
	"bytes"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// unknownHash marks an Ended.Finish that is to be adopted.
const unknownHash = 1

func (m *Model) apply(c task.Command, got task.Result) task.Result {
	switch c := c.(type) {
	case task.Submit:
		return m.submit(c, got)
	case task.Assign:
		return m.assign(c, got)
	case task.Finish:
		if old := m.Tasks[c.Key]; old != nil && old.Ended != nil && old.Ended.Token == c.Token && old.Ended.Finish != 0 && sameFinish(m.finishes[c.Key], c) {
			r := m.answer(task.OK, c.Key, got)
			r.Repeated = true
			return r
		}
		return m.report(c.Key, c.Token, c.Seq, got, func(t *task.Task) task.Code { return m.finish(t, c) })
	case task.Beat:
		return m.report(c.Key, c.Token, c.Seq, got, func(t *task.Task) task.Code {
			l := *t.Lease
			if t.Lease = &l; c.Seq != 0 {
				l.Report = c.Seq
			}
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
		})
	case task.Snooze:
		return m.report(c.Key, c.Token, c.Seq, got, func(t *task.Task) task.Code {
			if c.Checkpoint != nil {
				t.Checkpoint, t.LostCount = *c.Checkpoint, 0
			}
			if c.At == 0 {
				c.At = m.Now + 1000
			}
			m.waitAgain(t, "SNOOZED", c.At, c.At)
			return task.OK
		})
	case task.GiveBack:
		return m.report(c.Key, c.Token, 0, got, func(t *task.Task) task.Code { m.giveBack(t); return task.OK })
	case task.Cancel:
		return m.cancel(c, got)
	case task.Remove:
		if m.Tasks[c.Key] == nil {
			return m.result(task.TaskNotFound)
		}
		m.remove(c.Key)
		return m.result(task.OK)
	case task.OpenSession:
		return m.open(c, got)
	case task.RenewSession:
		if m.Sessions[c.Session] == nil {
			return m.result(task.SessionNotFound)
		}
		n := *m.Sessions[c.Session]
		n.Expires = max(n.Expires, m.LeaseNow+task.LeaseTime(n.TTL))
		n.Acked = max(n.Acked, min(c.Acked, n.Seq))
		m.Sessions[n.ID] = &n
		return task.Result{Index: m.index, Session: &n}
	case task.CloseSession:
		if m.Sessions[c.Session] == nil {
			return m.result(task.SessionNotFound)
		}
		m.endSession(c.Session, m.giveBack)
		return m.result(task.OK)
	case task.Activate:
		return m.activate(c)
	case task.Tick:
		return m.tick()
	}
	panic("naive: unknown command")
}

// submit is I1-I5.
func (m *Model) submit(c task.Submit, got task.Result) task.Result {
	k := task.Key{Namespace: c.Namespace, ID: c.ID}
	if c.Namespace != task.DefaultNamespace && c.Namespace != task.SystemNamespace {
		return m.result(task.NamespaceNotFound)
	}
	if m.Behaviors[task.Key{Namespace: c.Namespace, ID: c.Behavior}] == nil {
		return m.result(task.BehaviorNotFound)
	}
	at, old := c.NotBefore, m.Tasks[k]
	if at == 0 {
		at = m.Now + task.Time(c.Delay)
	}
	outcome := task.SubmitExisting
	if old == nil {
		outcome = task.SubmitCreated
		m.write(&task.Task{
			Namespace: c.Namespace, ID: c.ID, Behavior: c.Behavior, Status: task.Created, Params: c.Params,
			NotBefore: at, Deadline: c.Deadline, CreatedAt: m.Now, Labels: c.Labels, Priority: c.Priority,
		})
	} else {
		t := *old
		switch resubmit := c.IfExists == task.Resubmit; {
		case t.Behavior != c.Behavior:
			return m.answer(task.OtherBehavior, k, got)
		case c.IfExists == task.Fail:
			return m.answer(task.AlreadyExists, k, got)
		case resubmit && t.CancelCode != "":
			return m.answer(task.Cancelling, k, got)
		case resubmit && t.Status == task.Running && t.Resubmit != at:
			t.Resubmit, outcome = at, task.SubmitUpdated
		case resubmit && t.Status == task.Running:
		case resubmit && !final(&t) && (t.NotBefore == at || t.NotBefore <= m.Now && at <= m.Now):
		case resubmit, c.IfExists == task.Rerun && final(&t):
			again(&t, at, c.Deadline)
			if outcome = task.SubmitUpdated; resubmit && c.HasParams {
				t.Params = c.Params
			}
		}
		if outcome == task.SubmitUpdated {
			m.write(&t)
		} else if !same(null(c.Params), null(t.Params)) && (c.HasParams || c.IfExists != task.Resubmit) {
			outcome = task.SubmitExistingOtherParams
		}
	}
	r := m.answer(task.OK, k, got)
	r.Outcome = outcome
	return r
}

// null makes absent params what they mean (I2).
func null(p task.Payload) task.Payload {
	if p.Encoding == task.None {
		return task.Payload{Encoding: task.JSON, Data: []byte("null")}
	}
	return p
}

// again makes a task due for a new cycle (T1, T8, B2, R1).
func again(t *task.Task, at, deadline task.Time) {
	t.NotBefore, t.Deadline, t.Failures, t.Version, t.Checkpoint = at, deadline, 0, "", task.Payload{}
}

// assign is L1, T3, B2.
func (m *Model) assign(c task.Assign, got task.Result) task.Result {
	old, s := m.Tasks[c.Key], m.Sessions[c.Session]
	switch {
	case s == nil:
		return m.result(task.SessionNotFound)
	case old == nil || old.Rev != c.Rev || !m.due(old):
		return m.result(task.NotEligible)
	case int64(len(m.Leases(s.ID))) >= s.Slots:
		return m.result(task.NoFreeSlot)
	case m.Version(old, old.Version) == nil:
		return m.result(task.ModuleMissing)
	}
	n, t := *s, *old
	n.Seq++
	m.Sessions[n.ID] = &n
	t.Status, t.Version = task.Running, m.Version(old, old.Version).Version
	t.Result, t.Error, t.Progress, t.Ended = task.Payload{}, nil, task.Payload{}, nil
	t.NotBefore, t.StartedAt, t.FinishedAt = 0, m.Now, 0
	t.Attempt++
	t.Lease = &task.Lease{Session: n.ID, Seq: n.Seq, Worker: n.Worker, Node: n.Node}
	m.write(&t)
	return m.answer(task.OK, c.Key, got)
}

// report is L3: only the current token changes anything, and only with a seq that rises (0: not numbered).
func (m *Model) report(k task.Key, token, seq uint64, got task.Result, change func(*task.Task) task.Code) task.Result {
	old := m.Tasks[k]
	if old == nil || old.Lease == nil || old.Lease.Token != token {
		return m.result(task.Halt)
	}
	code := task.OK
	if seq == 0 || seq > old.Lease.Report {
		t := *old
		code = change(&t)
	}
	return m.answer(code, k, got)
}

// finish is R1, R2, L8, I3.
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
		m.end(t, t.CancelCode)
		m.failed(t, &task.Error{Code: t.CancelCode})
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
	t.Ended.Finish = unknownHash
	m.finishes[c.Key] = c
	m.resubmitted(t, t.NotBefore)
	if m.write(t); bounds[0] != 0 {
		m.jitter[c.Key] = bounds
	}
	return task.OK
}

// failed gives t the outcome FAILURE, final as it stands.
func (m *Model) failed(t *task.Task, e *task.Error) {
	t.Status, t.Error, t.FinishedAt, t.LostCount, t.NotBefore, t.CancelCode = task.Failure, e, m.Now, 0, 0, ""
}

// resubmitted lets the resubmit flag take effect: due at its time, or at other (0: none) if that is earlier (I3).
func (m *Model) resubmitted(t *task.Task, other task.Time) {
	if at := t.Resubmit; at != 0 {
		if other != 0 && other < at {
			at = other
		}
		t.Resubmit = 0
		again(t, at, 0)
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

// waitAgain ends a run without an outcome: due at a time, or cancelled if that was asked (T1, L8, R5). wish is the
// time that the run itself named, 0: none.
func (m *Model) waitAgain(t *task.Task, outcome string, at, wish task.Time) {
	if t.CancelCode != "" {
		m.end(t, t.CancelCode)
		m.failed(t, &task.Error{Code: t.CancelCode})
		t.Resubmit = 0
	} else {
		m.end(t, outcome)
		t.Status, t.NotBefore = task.Created, at
		m.resubmitted(t, wish)
	}
	m.write(t)
}

func (m *Model) giveBack(t *task.Task) { m.waitAgain(t, "GIVEN_BACK", m.Now, 0) }

// lost is R3.
func (m *Model) lost(t *task.Task) {
	if t.LostCount++; t.CancelCode != "" || t.LostCount < m.Version(t, t.Version).Policy.MaxLost {
		m.waitAgain(t, "LOST", m.Now, 0)
		return
	}
	m.end(t, "LOST")
	m.failed(t, &task.Error{Code: task.CodeLostTooOften})
	m.resubmitted(t, 0)
	m.write(t)
}

// cancel is L8.
func (m *Model) cancel(c task.Cancel, got task.Result) task.Result {
	t := m.Tasks[c.Key]
	if t == nil {
		return m.result(task.TaskNotFound)
	}
	if final(t) && (t.Status != task.Failure || t.Error.Code != task.CodeCancelled) {
		return m.answer(task.NotCancellable, c.Key, got)
	}
	if !final(t) && t.CancelCode == "" {
		m.strike(t, task.CodeCancelled)
	}
	r := m.answer(task.OK, c.Key, got)
	r.Told = t.Status == task.Running
	return r
}

// strike is a cancel or a deadline of a task that is not final.
func (m *Model) strike(old *task.Task, code string) {
	t := *old
	t.Resubmit = 0
	switch t.Status {
	case task.Running:
		t.CancelCode = code
	case task.Success:
		t.NotBefore = 0
	default:
		m.failed(&t, &task.Error{Code: code})
	}
	m.write(&t)
}

func (m *Model) remove(k task.Key) {
	if l := m.Tasks[k].Lease; l != nil {
		m.Halted[l.Token] = true
	}
	delete(m.Tasks, k)
}

// open is L2, L5, L6.
func (m *Model) open(c task.OpenSession, got task.Result) task.Result {
	for _, s := range m.Sessions {
		if s.Worker == c.Worker && !bytes.Equal(s.Proof, c.Proof) {
			return m.result(task.WorkerInUse)
		} else if s.Worker == c.Worker {
			m.endSession(s.ID, m.lost)
		}
	}
	n := task.Session{Worker: c.Worker, Node: c.Node, Slots: c.Slots, TTL: c.TTL, Proof: c.Proof, Expires: m.LeaseNow + task.LeaseTime(c.TTL)}
	if got.Session != nil && !m.used[1<<63|got.Session.ID] {
		n.ID = got.Session.ID
	}
	m.used[1<<63|n.ID], m.Sessions[n.ID] = true, &n
	return task.Result{Index: m.index, Session: &n}
}

// endSession ends a session and each of its runs by the way given.
func (m *Model) endSession(id uint64, way func(*task.Task)) {
	for _, t := range m.Leases(id) {
		m.Halted[t.Lease.Token] = true
		n := *t
		way(&n)
	}
	delete(m.Sessions, id)
}

// activate is B2: the last 5 versions stay, and those that tasks are pinned to.
func (m *Model) activate(c task.Activate) task.Result {
	changed, needed := false, map[string]bool{}
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
		for i := len(b.Versions) - 6; i >= 0; i-- {
			if !pinned[b.Versions[i].Version] {
				b.Versions = slices.Delete(b.Versions, i, i+1)
			}
		}
		m.Behaviors[k], m.Modules[c.Module.Digest], changed = &b, &c.Module, true
	}
	for _, b := range m.Behaviors {
		for _, v := range b.Versions {
			needed[v.Module] = true
		}
	}
	maps.DeleteFunc(m.Modules, func(digest string, _ *task.Module) bool { return !needed[digest] })
	return task.Result{Index: m.index, Changed: changed}
}

// tick is L4, R1, T9, H4.
func (m *Model) tick() task.Result {
	for _, s := range m.Sessions {
		if s.Expires <= m.LeaseNow {
			m.endSession(s.ID, m.lost)
			m.struck = true
		}
	}
	for k, t := range m.Tasks {
		if _, at, _ := m.Times(t); at != 0 && at <= m.Now {
			m.strike(t, task.CodeDeadlineExceeded)
			m.struck = true
		}
		if _, _, at := m.Times(m.Tasks[k]); at != 0 && at <= m.Now {
			m.remove(k)
			m.struck = true
		}
	}
	for id, p := range m.processes {
		if p.used+task.LeaseTime(m.idle) <= m.LeaseNow {
			delete(m.processes, id)
			m.struck = true
		}
	}
	r := task.Result{Index: m.index, Changed: m.struck}
	m.struck = false
	return r
}
