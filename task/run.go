package task

import "cmp"

// This file says how runs end. Every function makes a new record from a RUNNING one, and put writes it.

// These outcomes in a task's history are not outcomes of the task.
const (
	outcomeSuccess    = "SUCCESS"
	outcomeLost       = "LOST"
	outcomeGivenBack  = "GIVEN_BACK"
	outcomeSnoozed    = "SNOOZED"
	outcomeSuspect    = "SUSPECT"    // its process died while other attempts, too, executed there (SPEC L5)
	outcomeSuperseded = "SUPERSEDED" // another run of maintenance took its place
)

// leased returns the row of a task whose current lease is token's, or nil (SPEC L3).
func (m *Machine) leased(k Key, token uint64) *row {
	r := m.find(k)
	if r == nil || m.task(r).Lease == nil || m.task(r).Lease.Token != token {
		return nil
	}
	return r
}

// outdated reports whether a report changes nothing according to its number, because the numbers of one token rise (SPEC L3). A report without a number (0) claims no order.
func outdated(t *Task, seq uint64) bool { return seq != 0 && seq <= t.Lease.Report }

// halt answers a report whose token is not current.
func halt() Result { return refuse(Halt, "the lease is not the task's current one") }

// deadlinePassed reports whether the task can no longer end well (SPEC R1).
func (m *Machine) deadlinePassed(t *Task) bool { return t.Deadline != 0 && t.Deadline <= m.now }

func (c *Finish) used() used   { return used{Fuel: c.Fuel, Pages: c.Pages} }
func (c *Snooze) used() used   { return used{Fuel: c.Fuel, Pages: c.Pages} }
func (c *GiveBack) used() used { return used{Fuel: c.Fuel, Pages: c.Pages} }

func checkUsed(u used, external bool) (Result, bool) {
	field, why := u.Wrong(external)
	return invalid(field, why), why == ""
}

// ended returns a copy of the running t without its lease. u is what its guest used, if that is known; finish identifies the finish that ended it, or is 0.
func (m *Machine) ended(t *Task, outcome string, u used, finish uint64) *Task {
	var made struct { // one allocation
		task    Task
		ended   Ended
		attempt [1]Attempt
	}
	made.task, made.ended = *t, Ended{Token: t.Lease.Token, Finish: finish}
	n := &made.task
	kept := t.History
	if len(kept) >= MaxHistory {
		kept = kept[len(kept)-MaxHistory+1:]
	}
	n.History = append(append(made.attempt[:0], kept...), Attempt{
		Number: t.Attempt, Token: t.Lease.Token, Worker: t.Lease.Worker, Node: t.Lease.Node,
		StartedAt: t.StartedAt, FinishedAt: m.now, Outcome: outcome, Fuel: u.Fuel, Pages: u.Pages,
	})
	n.Ended = &made.ended
	if t.Role == RolePartition {
		m.partitionEnded(n, t.Lease.Session)
	}
	n.Lease = nil
	n.CancelCode = ""
	return n
}

// release ends a run without an outcome: it was lost, given back or snoozed. The task is due again at that time, or at the time of its resubmit flag
// (SPEC T1, R3, R5, I3). It ends here if it was lost too often, or if it was being cancelled (SPEC L8).
func (m *Machine) release(r *row, outcome string, at Time) *Task {
	return m.releaseWith(r, outcome, at, parting{})
}

// parting is what a run that ends without an outcome leaves behind.
type parting struct {
	checkpoint *Payload // nil: the former one stays
	progress   *Payload // nil: as it was
	used       used
}

func (m *Machine) releaseWith(r *row, outcome string, at Time, p parting) *Task {
	t := m.task(r)
	n := m.ended(t, cmp.Or(t.CancelCode, outcome), p.used, 0)
	if p.checkpoint != nil && !m.restarts(t) {
		n.Checkpoint, n.LostCount = *p.checkpoint, 0
	}
	if p.progress != nil {
		n.Progress = *p.progress
	}
	switch outcome {
	case outcomeLost:
		n.LostCount++
	case outcomeSuspect:
		n.Suspect = n.Bound == 0 // a cleanup goes with its session
	case outcomeSnoozed:
		n.Suspect = false
	}
	switch v := m.version(m.of(r), t.Version); {
	case t.CancelCode != "":
		m.fail(n, cancelError(t.CancelCode), 0)
		n.Resubmit = 0
	case outcome == outcomeLost && v != nil && v.Policy.MaxLost > 0 && n.LostCount >= v.Policy.MaxLost:
		m.fail(n, &Error{Code: CodeLostTooOften, Message: "too many workers died while running it"}, 0)
		m.repeatFailure(n, v)
	default:
		if n.Resubmit != 0 && outcome != outcomeSnoozed {
			at = n.Resubmit // lost or given back: nobody has asked for an earlier time than the flag's (SPEC I3)
		}
		n.Status, n.NotBefore = Created, max(at, 1)
	}
	m.resubmitted(n)
	m.put(r, n)
	return n
}

// failRun ends a run as failed for another reason than its worker's report. If the run was being cancelled it ends as cancelled.
func (m *Machine) failRun(r *row, why func(*Policy) Error) {
	t := m.task(r)
	if t.CancelCode != "" {
		m.release(r, t.CancelCode, m.now)
		return
	}
	p := &Policy{}
	if v := m.version(m.of(r), t.Version); v != nil {
		p = &v.Policy
	}
	e := why(p)
	c := Finish{Error: &e}
	n := c.failed(m, r)
	n.Ended.Finish = 0 // no worker sent it
	n.Suspect = e.Code == CodeCrashed && n.Bound == 0
	m.resubmitted(n)
	m.put(r, n)
}

// fail makes n a FAILURE that is due again at retry, or is final if retry is 0. fail counts nothing. It only sets the losses to 0 (SPEC T8).
func (m *Machine) fail(n *Task, e *Error, retry Time) {
	n.Status, n.Error, n.Result = Failure, e, Payload{}
	n.NotBefore, n.FinishedAt, n.LostCount = retry, m.now, 0
}

// repeatFailure makes n, which failed under v, due again in a new cycle, if n would be final and its behavior repeats after any outcome (SPEC R4). The failure still shows: the first lease of the cycle forgets it.
func (m *Machine) repeatFailure(n *Task, v *Version) {
	if n.NotBefore != 0 || v == nil || !v.Policy.RepeatAny || n.Role != RoleNone {
		return
	}
	if next := v.Policy.repeatAt(m.now); next != 0 {
		failures := n.Failures
		again(n, next, 0)
		n.Failures = failures
	}
}

// repeatAt returns when a task that ended now runs again by itself, or 0 if it does not (SPEC R4).
func (p *Policy) repeatAt(now Time) Time {
	if p.RepeatEvery <= 0 {
		return 0
	}
	return max(later(now, p.RepeatEvery), 1)
}

// resubmitted lets a resubmit flag take effect after a run. The task is due then, or earlier if a retry, a repeat or a snooze says so (SPEC I3).
func (m *Machine) resubmitted(n *Task) {
	if n.Resubmit == 0 {
		return
	}
	at := n.Resubmit
	if n.NotBefore != 0 {
		at = min(at, n.NotBefore)
	}
	n.Resubmit = 0
	again(n, at, 0)
}

// again makes n due at a time in a new cycle (SPEC R1, T8, B2). Status, result and error stay until the run starts.
func again(n *Task, at, deadline Time) {
	n.NotBefore, n.Deadline = at, deadline
	n.Failures, n.Checkpoint = 0, Payload{}
	if n.Role == RoleNone { // all tasks of an operation share its version
		n.Version = ""
	}
}

// cancelError is the error of a task that was cancelled or whose deadline passed (SPEC T5, R1).
func cancelError(code string) *Error {
	if code == CodeDeadlineExceeded {
		return &Error{Code: code, Message: "not finished by its deadline"}
	}
	return &Error{Code: code, Message: "cancelled on request"}
}

// cancelAny cancels a task that is not final.
func (m *Machine) cancelAny(r *row, code string) {
	if m.task(r).Status == Running {
		m.cancelRunning(r, code)
	} else {
		m.cancelWaiting(r, code)
	}
}

// cancelWaiting ends a task that is not running and not final (SPEC T1, L8, R1).
func (m *Machine) cancelWaiting(r *row, code string) *Task {
	n := *m.task(r)
	if n.Status == Success {
		n.NotBefore = 0
	} else {
		m.fail(&n, cancelError(code), 0)
	}
	m.put(r, &n)
	return &n
}

// cancelRunning asks the worker of a running task to stop (SPEC L8, R1). A worker with a session ends the run itself when the grace is over, and
// reports it. An external lease ends then.
func (m *Machine) cancelRunning(r *row, code string) *Task {
	n := *m.task(r)
	n.CancelCode, n.Resubmit = code, 0
	if n.Lease.External() {
		lease := *n.Lease
		lease.GraceEnd = max(later(m.leaseNow, m.cancelGrace(r)), 1)
		n.Lease = &lease
	}
	m.put(r, &n)
	m.emit(Event{Kind: TaskCancelling, Task: &n, Lease: n.Lease})
	return &n
}

// cancelGrace returns how long a cancelled run of r may go on (SPEC L8).
func (m *Machine) cancelGrace(r *row) Millis {
	if v := m.version(m.of(r), m.task(r).Version); v != nil {
		return max(v.Policy.CancelGrace, 0)
	}
	return 0
}
