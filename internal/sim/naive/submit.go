package naive

import (
	"cmp"
	"slices"
	"strings"

	"github.com/taskrt/taskrt/task"
)

// same compares params; absent ones are null (I2).
func same(a, b task.Payload) bool {
	null := func(p task.Payload) bool {
		return p.Encoding == task.None || p.Encoding == task.JSON && string(p.Data) == "null"
	}
	return null(a) && null(b) || a.Encoding == b.Encoding && string(a.Data) == string(b.Data) && content(a) == content(b)
}

// refusal says why a submit cannot be looked at; OK if it can.
func (m *Model) refusal(c task.Submit) task.Code {
	b := m.Behaviors[task.Key{Namespace: c.Namespace, ID: c.Behavior}]
	switch {
	case m.accepting(c.Namespace) != task.OK:
		return m.accepting(c.Namespace)
	case b == nil || b.Deleted:
		return task.BehaviorNotFound
	case c.BehaviorRev != 0 && c.BehaviorRev != b.Rev:
		return task.BehaviorWasChanged
	}
	return task.OK
}

func (m *Model) submit(c task.Submit, got task.Result) task.Result {
	k := task.Key{Namespace: c.Namespace, ID: c.ID}
	at, old, outcome := cmp.Or(c.NotBefore, m.Now+task.Time(c.Delay)), m.Tasks[k], task.SubmitExisting
	if c.Existing && old == nil {
		return oneOf(got, task.TaskNotFound, cmp.Or(m.refusal(c), task.TaskNotFound))
	} else if c.Existing && c.Behavior == "" {
		c.Behavior = old.Behavior
	}
	if code := m.refusal(c); code != task.OK {
		return task.Result{Code: code}
	}
	t := task.Task{
		Namespace: c.Namespace, ID: c.ID, Behavior: c.Behavior, Status: task.Created, Params: c.Params, ConcurrencyKey: c.ConcurrencyKey,
		NotBefore: at, Deadline: c.Deadline, CreatedAt: m.Now, Labels: c.Labels, Priority: c.Priority, Parent: c.Parent, Creator: m.creator(c), Trace: m.trace(c),
	}
	if old != nil {
		t = *old
	}
	more := demand{submits: 1}
	switch resubmit := c.IfExists == task.Resubmit; {
	case old == nil && m.reserved(k):
		return task.Result{Code: task.ReservedID}
	case old == nil && m.admit(c.Params) != task.OK:
		return task.Result{Code: m.admit(c.Params)}
	case old == nil:
		more.tasks, more.bytes = 1, m.size(c.Params)
		outcome = task.SubmitCreated
	case t.Behavior != c.Behavior:
		return m.answer(task.OtherBehavior, k, got)
	case c.IfExists == task.Fail:
		return m.answer(task.AlreadyExists, k, got)
	case c.IfExists >= task.Rerun && t.Role != task.RoleNone:
		return m.answer(task.OperationTask, k, got)
	case resubmit && t.CancelCode != "":
		return m.answer(task.Cancelling, k, got)
	case c.IfExists >= task.Rerun && c.HasParams && m.admit(c.Params) != task.OK: // the others only compare them
		return task.Result{Code: m.admit(c.Params)}
	case resubmit && t.Status == task.Running && t.Resubmit != at:
		t.Resubmit, outcome = at, task.SubmitUpdated
	case resubmit && !final(&t) && (t.Status == task.Running || t.NotBefore == at || t.NotBefore <= m.Now && at <= m.Now):
	case resubmit, c.IfExists == task.Rerun && final(&t):
		again(&t, at, c.Deadline)
		if outcome, t.Trace = task.SubmitUpdated, c.Trace; c.HasParams {
			more.bytes = m.size(c.Params) - m.size(t.Params)
			t.Params, t.ConcurrencyKey = c.Params, c.ConcurrencyKey
		}
	}
	if (outcome == task.SubmitUpdated || old != nil && c.IfExists == task.Resubmit) && relabel(&t, c) && outcome == task.SubmitExisting {
		outcome, more = task.SubmitUpdated, demand{} // nothing else changes
	}
	if outcome != task.SubmitExisting {
		if !m.charged {
			if r := m.charge(c.Namespace, more); r.Code != task.OK {
				return r
			}
		}
		m.write(&t)
	} else if !same(c.Params, t.Params) && (c.HasParams || c.IfExists != task.Resubmit) {
		outcome = task.SubmitExistingOtherParams
	}
	r := m.answer(task.OK, k, got)
	r.Outcome = outcome
	return r
}

// relabel gives a task the labels and the priority of a submit that has them, and reports whether they are others.
func relabel(t *task.Task, c task.Submit) bool {
	before := *t
	if c.HasLabels {
		t.Labels = c.Labels
	}
	if c.HasPriority {
		t.Priority = c.Priority
	}
	return t.Priority != before.Priority || !slices.Equal(t.Labels, before.Labels)
}

// reserved reports whether only a task of an operation may have the ID.
func (m *Model) reserved(k task.Key) bool {
	id, _, ok := strings.Cut(k.ID, ":")
	return ok && m.Operations[task.Key{Namespace: k.Namespace, ID: id}] != nil
}

// again makes a task due for a new cycle at the time at, or never if at is 0 (T1, T8, B2, R1).
func again(t *task.Task, at, deadline task.Time) {
	t.NotBefore, t.Deadline, t.Failures, t.Checkpoint = at, deadline, 0, task.Payload{}
	if t.Role == task.RoleNone { // an operation's version is that of all its tasks
		t.Version = ""
	}
}

// retry is POST …/retry: an operator's second try. It keeps the pin and the checkpoint unless told otherwise.
func (m *Model) retry(c task.RetryTask, got task.Result) task.Result {
	old := m.Tasks[c.Key]
	if old == nil {
		return m.none(c.Key.Namespace)
	} else if code := m.writable(c.Key.Namespace); code != task.OK {
		return task.Result{Code: code}
	} else if old.Role != task.RoleNone {
		return m.answer(task.OperationTask, c.Key, got)
	}
	t := *old
	failed := final(&t) || t.Status == task.Failure // not a CREATED or a repeating SUCCESS: those only take a new pin
	var no []task.Code
	if c.Version != "" && c.Version != task.VersionActive && m.Version(&t, c.Version) == nil {
		no = append(no, task.VersionNotFound)
	}
	if t.Status == task.Running || !failed && c.Version == "" {
		no = append(no, task.NotFinal)
	}
	if len(no) > 0 {
		r := oneOf(got, no...)
		if got.Task != nil {
			m.Adopt(c.Key, got.Task)
			r.Task = m.Tasks[c.Key]
		}
		return r
	}
	if at := cmp.Or(c.NotBefore, m.Now+task.Time(c.Delay)); failed {
		t.NotBefore, t.Deadline, t.Failures = at, c.Deadline, 0
	} else {
		if c.NotBefore != 0 || c.Delay != 0 {
			t.NotBefore = at
		}
		t.Deadline = cmp.Or(c.Deadline, t.Deadline)
	}
	if to := c.Version; to != "" {
		if to == task.VersionActive {
			to = ""
		}
		if to != t.Version && !c.KeepCheckpoint {
			t.Checkpoint = task.Payload{}
		}
		t.Version = to
	}
	m.write(&t)
	return m.answer(task.OK, c.Key, got)
}

func (m *Model) cancel(c task.Cancel, got task.Result) task.Result {
	t := m.Tasks[c.Key]
	if t == nil {
		return m.none(c.Key.Namespace)
	} else if t.Role == task.RoleCompletion && !final(t) { // as for its operation
		return m.answer(task.OperationTask, c.Key, got)
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
		if l := *t.Lease; l.Session == 0 {
			l.GraceEnd, t.Lease = m.LeaseNow+task.LeaseTime(m.Version(&t, t.Version).Policy.CancelGrace), &l
		}
	} else if t.NotBefore = 0; t.Status != task.Success {
		m.failed(&t, &task.Error{Code: code})
	}
	m.write(&t)
}

func (m *Model) removeTask(k task.Key, got task.Result) task.Result {
	if m.Tasks[k] == nil {
		return m.none(k.Namespace)
	} else if m.Tasks[k].Role != task.RoleNone {
		return m.answer(task.OperationTask, k, got)
	}
	m.remove(k)
	return task.Result{}
}

func (m *Model) remove(k task.Key) {
	t := m.Tasks[k]
	if t.Lease != nil {
		m.Halted[t.Lease.Token] = true
	}
	delete(m.Tasks, k)
	m.follow(t, nil)
	m.unused(task.Key{Namespace: t.Namespace, ID: t.Behavior})
}
