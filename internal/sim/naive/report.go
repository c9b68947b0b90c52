package naive

import (
	"cmp"

	"github.com/taskrt/taskrt/task"
)

// report is L3: only the current token changes anything, and only with a seq that rises (0: not numbered). external
// says that the report came over HTTP, where only external leases are reported (section 8), and nothing is metered.
func (m *Model) report(
	k task.Key, token, seq uint64, external bool, used used, got task.Result, change func(*task.Task) task.Code,
) task.Result {
	old := m.Tasks[k]
	switch {
	case wrongUse(used, external):
		return task.Result{Code: task.InvalidCommand}
	case old == nil || old.Lease == nil || old.Lease.Token != token:
		return task.Result{Code: task.Halt}
	case external && old.Lease.Session != 0:
		return task.Result{Code: task.NotExternal}
	case !external && old.Lease.Session == 0:
		return task.Result{Code: task.Halt}
	}
	if t := *old; seq == 0 || seq > old.Lease.Report {
		m.used = used
		code := change(&t)
		m.used = none
		if code == task.BlobGone || code == task.InvalidCommand { // the run goes on
			return task.Result{Code: code}
		}
		return m.answer(code, k, got)
	}
	return m.answer(task.OK, k, got)
}

func (m *Model) beat(c task.Beat, got task.Result) task.Result {
	if c.Extend != 0 && (c.Extend < 1000 || c.Extend > 3_600_000) {
		return oneOf(got, task.InvalidCommand, task.Halt)
	}
	return m.report(c.Key, c.Token, c.Seq, c.External, none, got, func(t *task.Task) task.Code {
		if c.Progress != nil && len(digests(*c.Progress)) > 0 {
			return task.InvalidCommand
		} else if c.Checkpoint != nil && m.admit(*c.Checkpoint) != task.OK {
			return m.admit(*c.Checkpoint)
		}
		l := *t.Lease
		l.Report, t.Lease = cmp.Or(c.Seq, l.Report), &l
		if l.Session == 0 { // J3
			l.TTL = cmp.Or(c.Extend, l.TTL)
			l.Expires = m.LeaseNow + task.LeaseTime(l.TTL)
		}
		if c.Progress != nil {
			t.Progress = *c.Progress
		}
		if c.Checkpoint != nil {
			m.checkpoint(t, *c.Checkpoint)
		}
		if c.Seq != 0 || c.Progress != nil || c.Checkpoint != nil {
			m.write(t)
		} else { // a renewal is not a new version
			m.Tasks[c.Key] = t
		}
		return task.OK
	})
}

// restarts reports whether each attempt begins from scratch, so that a checkpoint is worth nothing to the next attempt (O5).
func (m *Model) restarts(t *task.Task) bool {
	return t.Role == task.RolePartition && m.Operations[task.Key{Namespace: t.Namespace, ID: t.Parent}].Policy.Restart
}

func (m *Model) checkpoint(t *task.Task, p task.Payload) {
	if t.Checkpoint = p; !m.restarts(t) {
		t.LostCount = 0
	}
}

// used is what a run used: fuel, and pages of memory.
type used struct{ fuel, pages int64 }

var none used

// wrongUse reports whether no run can have used so much.
func wrongUse(u used, external bool) bool {
	return u.fuel < 0 || u.fuel > 1<<53 || u.pages < 0 || u.pages > 1<<37 || external && u != none
}

func (m *Model) snooze(c task.Snooze, got task.Result) task.Result {
	return m.report(c.Key, c.Token, c.Seq, c.External, used{c.Fuel, c.Pages}, got, func(t *task.Task) task.Code {
		if c.Progress != nil {
			if len(digests(*c.Progress)) > 0 {
				return task.InvalidCommand
			}
			t.Progress = *c.Progress
		}
		if c.Checkpoint != nil {
			if code := m.admit(*c.Checkpoint); code != task.OK {
				return code
			}
			m.checkpoint(t, *c.Checkpoint)
		}
		at := cmp.Or(c.At, m.Now+1000)
		if c.At == 0 && m.Drained[t.Lease.Node] { // somebody else may have it at once
			at = m.Now
		}
		return m.waitAgain(t, "SNOOZED", at, at)
	})
}
