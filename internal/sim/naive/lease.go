package naive

import (
	"cmp"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// Due reports whether the task may run now (T3), and not too late for its deadline. early lets the task start before its
// time, up to the time early (J2); with 0 it may not.
func (m *Model) Due(t *task.Task, early task.Time) bool {
	return t.Status != task.Running && t.NotBefore != 0 && t.NotBefore <= max(m.Now, early) && (t.Deadline == 0 || t.Deadline > m.Now)
}

// Leases returns the tasks that the session runs, in the order of their assignment.
func (m *Model) Leases(session uint64) []*task.Task {
	ts := m.ordered(func(t *task.Task) bool { return t.Lease != nil && t.Lease.Session == session })
	slices.SortFunc(ts, func(a, b *task.Task) int { return cmp.Compare(a.Lease.Seq, b.Lease.Seq) })
	return ts
}

// Refusals returns every reason why the assignment cannot be made. perhaps says that the machine may refuse it all the same.
func (m *Model) Refusals(c task.Assign) (no []task.Code, perhaps bool) {
	because := func(yes bool, codes ...task.Code) {
		if yes {
			no = append(no, codes...)
		}
	}
	early := task.Time(0)
	if a := c.External; a != nil {
		early = a.MaxNotBefore
		because(a.Worker == "" || a.Lease != 0 && (a.Lease < 1000 || a.Lease > 3_600_000), task.InvalidCommand)
	} else {
		s, live := m.Sessions[c.Session]
		because(!live, task.SessionNotFound)
		because(live && int64(len(m.Leases(s.ID))) >= s.Slots, task.NoFreeSlot)
		because(live && m.Drained[s.Node], task.WorkerDrained)
	}
	t := m.Tasks[c.Key]
	if t == nil || !m.Due(t, early) || !c.Fresh && t.Rev != c.Rev || c.Fresh && m.written[c.Key] <= m.before {
		return append(no, task.NotEligible), false
	}
	maybe := false
	if c.Fresh {
		var overtakes bool
		overtakes, maybe = m.overtakes(t)
		because(overtakes || maybe && len(no) > 0, task.NotEligible)
	}
	b, v := m.Behavior(t), m.Version(t, t.Version)
	because(t.Bound != 0 && t.Bound != c.Session, task.NotEligible)
	if s, live := m.Sessions[c.Session]; live && c.External == nil {
		because(!m.Fits(t, s), task.NotEligible)
	}
	because(!m.Active(t.Namespace), m.accepting(t.Namespace))
	because(m.space(t.Namespace) != nil && m.SpaceFull(t.Namespace), task.LimitReached)
	because(b.Paused, task.BehaviorPaused)
	if c.Fresh && v != nil { // a task that is held up is not the first that may start
		blocked, _ := m.KeyBlocked(t)
		because(blocked, task.NotEligible)
	}
	if because(b.Deleted || v == nil, task.ModuleMissing, task.BehaviorNotFound); len(no) > 0 {
		return no, false
	}
	because(c.External != nil && v.Module != "", task.NotExternal)
	because(c.External == nil && v.Module == "", task.OtherKind, task.ModuleMissing, task.NotExternal)
	blocked, perhaps := m.Blocked(t)
	because(blocked || perhaps && len(no) > 0, task.LimitReached)
	because(c.Fresh && blocked, task.NotEligible) // a task that is held up is not the first that may start
	return no, perhaps || maybe
}

// overtakes reports whether another due task of t's namespace, which its behavior lets start, comes before t in the order
// of T4, for the same workers. maybe says that the machine may say either.
func (m *Model) overtakes(t *task.Task) (yes, maybe bool) {
	if t.NotBefore > m.Now || t.Bound != 0 {
		return true, false
	}
	byProgram := func(t *task.Task) bool {
		v := m.Version(t, t.Version)
		return v != nil && v.Module == ""
	}
	for _, o := range m.Tasks {
		if o.Namespace != t.Namespace || o.Suspect != t.Suspect || byProgram(o) != byProgram(t) || byProgram(t) && o.Behavior != t.Behavior {
			continue
		}
		if o == t || o.Status == task.Running || o.NotBefore == 0 || o.NotBefore > m.Now || o.Bound != 0 ||
			order(o) > order(t) || order(o) == order(t) && m.born[name(o)] > m.born[name(t)] {
			continue
		}
		b, v := m.Behavior(o), m.Version(o, "")
		other := o.Behavior != t.Behavior || o.Version != t.Version
		if other && (b.Paused || b.Deleted || v == nil || !m.Active(o.Namespace)) {
			continue
		}
		if all, _ := m.Busy(o); other && v.Policy.MaxConcurrent > 0 && all >= v.Policy.MaxConcurrent {
			continue
		}
		blocked, perhaps := m.KeyBlocked(o)
		yes, maybe = yes || !blocked && !perhaps, maybe || perhaps
	}
	return yes, maybe && !yes
}

func (m *Model) assign(c task.Assign, got task.Result) task.Result {
	no, perhaps := m.Refusals(c)
	if len(no) > 0 {
		return oneOf(got, no...)
	} else if perhaps && (got.Code == task.LimitReached || c.Fresh && got.Code == task.NotEligible) {
		return task.Result{Code: got.Code}
	}
	t := *m.Tasks[c.Key]
	if t.Version == "" { // the first lease of a cycle
		t.Failures = 0
	}
	v := m.Version(&t, t.Version)
	t.Attempt++
	t.Status, t.Version, t.NotBefore, t.StartedAt, t.FinishedAt = task.Running, v.Version, 0, m.Now, 0
	t.Result, t.Error, t.Progress, t.Ended = task.Payload{}, nil, task.Payload{}, nil
	if a := c.External; a != nil {
		ttl := cmp.Or(a.Lease, v.Policy.Lease, 30_000)
		t.Lease = &task.Lease{Worker: a.Worker, TTL: ttl, Expires: m.LeaseNow + task.LeaseTime(ttl), Request: a.Request}
	} else {
		s := m.Sessions[c.Session]
		s.Seq++
		m.Sessions[s.ID] = s
		t.Lease = &task.Lease{Session: s.ID, Seq: s.Seq, Worker: s.Worker, Node: s.Node}
	}
	t.Lease.Given = m.LeaseNow
	m.write(&t)
	r := m.answer(task.OK, c.Key, got)
	if c.Key == upkeep {
		m.Runs[len(m.Runs)-1].Token = m.Tasks[upkeep].Lease.Token
	}
	return r
}

// LeaseEnd returns when an external lease is over: at least a full TTL after the start of a term (C3), but never after
// the grace of a cancel (L8).
func (m *Model) LeaseEnd(t *task.Task) task.LeaseTime {
	end := max(t.Lease.Expires, m.Floor+task.LeaseTime(t.Lease.TTL))
	return min(end, cmp.Or(t.Lease.GraceEnd, end))
}

// Overrun returns when the leader ends the run by itself (L7).
func (m *Model) Overrun(t *task.Task) task.LeaseTime {
	p, ttl := m.Version(t, t.Version).Policy, t.Lease.TTL
	if t.Lease.Session != 0 {
		ttl = m.Sessions[t.Lease.Session].TTL
	}
	return t.Lease.Given + task.LeaseTime(cmp.Or(p.RunTimeout, 3_600_000)+p.CancelGrace+ttl)
}
