package naive

import (
	"cmp"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// tick lets time pass: first sessions, then leases, runs that take too long, deadlines, runs in namespaces in PURGING, and
// final tasks over the number that a namespace may have.
func (m *Model) tick() task.Result {
	all := func(yes func(*task.Task) bool, do func(t task.Task)) {
		ts := m.ordered(yes)
		slices.SortStableFunc(ts, func(a, b *task.Task) int { // the first to overrun is the first to end
			if a.Lease == nil || b.Lease == nil {
				return 0
			}
			return cmp.Or(cmp.Compare(m.Overrun(a), m.Overrun(b)), cmp.Compare(a.Lease.Token, b.Lease.Token))
		})
		for _, t := range ts {
			if t = m.Tasks[name(t)]; t != nil && yes(t) { // still there: the end of one task may end others
				do(*t)
				m.struck = true
			}
		}
	}
	for _, s := range slices.SortedFunc(maps.Values(m.Sessions), func(a, b task.Session) int {
		return cmp.Or(cmp.Compare(a.Expires, b.Expires), cmp.Compare(a.ID, b.ID))
	}) {
		if s.Expires <= m.LeaseNow {
			m.endSessionAs(s.ID, "LOST")
			m.struck = true
		}
	}
	all(func(t *task.Task) bool {
		return t.Lease != nil && t.Lease.Session == 0 && m.LeaseEnd(t) <= m.LeaseNow
	}, func(t task.Task) {
		m.Halted[t.Lease.Token] = true
		m.waitAgain(&t, "LOST", m.Now, 0)
	})
	all(func(t *task.Task) bool { return t.Lease != nil && m.Overrun(t) <= m.LeaseNow }, func(t task.Task) {
		if m.Halted[t.Lease.Token] = true; t.CancelCode != "" {
			m.waitAgain(&t, "", 0, 0)
		} else {
			retry := m.Version(&t, t.Version).Policy.OnTimeout != task.OnErrorFail
			m.failure(&t, &task.Error{Code: task.CodeTimeout, Retryable: retry}, 0)
		}
	})
	past := func(at task.Time) bool { return at != 0 && at <= m.Now }
	all(func(t *task.Task) bool { return past(m.Deadline(t)) }, func(t task.Task) { m.strike(&t, task.CodeDeadlineExceeded) })
	m.tickOperations()
	all(m.Doomed, func(t task.Task) { m.strike(&t, task.CodeCancelled) })
	for i, crowd := 0, m.Crowded(); i < m.limits.Sweep && len(crowd) > 0; i, crowd = i+1, m.Crowded() {
		m.remove(name(crowd[0]))
		m.struck = true
	}
	m.tickTokens()
	m.tickAudit()
	m.tickHolds()
	r := task.Result{Changed: m.forget() || m.struck}
	m.struck = false
	return r
}

// Deadline returns when the task's deadline strikes (R1); 0: never.
func (m *Model) Deadline(t *task.Task) task.Time {
	if final(t) || t.CancelCode != "" {
		return 0
	}
	return t.Deadline
}

// Doomed reports whether a Tick must cancel the run, because its namespace is being purged (N1).
func (m *Model) Doomed(t *task.Task) bool {
	return t.Lease != nil && t.CancelCode == "" && m.Purging(t.Namespace)
}

// forever reports whether a final task is kept for ever, as its behavior says now (T9).
func (m *Model) forever(t *task.Task) bool {
	v := m.Version(t, "")
	return v != nil && !t.Excess && (t.Status == task.Success && v.Policy.KeepSuccess < 0 || t.Status == task.Failure && v.Policy.KeepFailure < 0)
}

// tooMany marks a task that becomes final, would be kept for ever, and is one too many where no quota bounds such tasks (T9).
func (m *Model) tooMany(prev, t *task.Task) {
	if !final(t) || t.Role != task.RoleNone {
		t.Excess = false
	} else if prev == nil || !final(prev) {
		t.Excess = false
		t.Excess = m.forever(t) && m.Spaces[t.Namespace].Quota.MaxTasks == 0 && m.Usage(t.Namespace).Forever >= int64(m.limits.Finals)
	}
}

// Crowded returns the final tasks of the first namespace that has too many of them, the oldest first (T9). Tasks of an
// operation go with the operation (O6).
func (m *Model) Crowded() []*task.Task {
	for _, ns := range slices.Sorted(maps.Keys(m.Spaces)) {
		ts := m.ordered(func(t *task.Task) bool {
			return t.Namespace == ns && final(t) && t.Role == task.RoleNone && !m.forever(t)
		})
		if len(ts) > m.limits.Finals {
			slices.SortFunc(ts, func(a, b *task.Task) int {
				return cmp.Or(cmp.Compare(a.FinishedAt, b.FinishedAt), cmp.Compare(m.born[name(a)], m.born[name(b)]))
			})
			return ts
		}
	}
	return nil
}
