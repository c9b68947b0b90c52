package naive

import (
	"cmp"

	"github.com/taskrt/taskrt/task"
)

// txn is X1: it looks at every condition before it changes anything. Then submits, updates, finishes and deletes happen,
// each like the command of its name.
func (m *Model) txn(c task.Txn, got task.Result) task.Result {
	if code := m.malformed(c); len(code) > 0 {
		return oneOf(got, code...)
	}
	reasons, codes := m.reasons(c)
	if len(reasons) > 0 {
		codes = append(codes, task.Conflict)
	}
	if len(codes) > 0 {
		r := oneOf(got, codes...)
		if r.Code == task.Conflict {
			r.Reasons = reasons
		} else if r.Code == task.OperationTask && got.Task != nil { // one of the tasks that belong to operations
			r = m.answer(r.Code, name(got.Task), got)
		}
		return r
	}
	r := m.charge(c.Namespace, m.demand(c))
	if r.Code != task.OK {
		return r
	}
	m.charged = true
	defer func() { m.charged = false }()
	part := func(k task.Key, do func(got task.Result)) {
		one := task.Result{}
		if n := len(r.Tasks); n < len(got.Tasks) {
			one.Task = got.Tasks[n]
		}
		do(one)
		r.Tasks = append(r.Tasks, m.Tasks[k])
	}
	for _, s := range c.Submits {
		s.Namespace = c.Namespace
		part(task.Key{Namespace: c.Namespace, ID: s.ID}, func(got task.Result) { m.submit(s, got) })
	}
	for _, u := range c.Updates {
		k := task.Key{Namespace: c.Namespace, ID: u.ID}
		part(k, func(got task.Result) { m.update(k, u); m.Adopt(k, got.Task) })
	}
	for _, f := range c.Finishes {
		f.Key.Namespace, f.InTxn = c.Namespace, false
		part(f.Key, func(got task.Result) { m.finish(f, got) })
	}
	for _, d := range c.Deletes {
		m.remove(task.Key{Namespace: c.Namespace, ID: d.ID})
	}
	return r
}

// demand is what all parts add together. What finishes bring is not counted.
func (m *Model) demand(c task.Txn) (d demand) {
	get := func(id string) *task.Task { return m.Tasks[task.Key{Namespace: c.Namespace, ID: id}] }
	for _, s := range c.Submits {
		if get(s.ID) == nil {
			d.tasks, d.bytes, d.submits = d.tasks+1, d.bytes+m.size(s.Params), d.submits+1
		}
	}
	for _, u := range c.Updates {
		if u.Params != nil {
			d.bytes += m.size(*u.Params) - m.size(get(u.ID).Params)
		}
	}
	for _, x := range c.Deletes {
		d.tasks, d.bytes = d.tasks-1, d.bytes-m.taskSize(get(x.ID))
	}
	return d
}

// malformed says what is wrong with the command, whatever the state of the tasks is.
func (m *Model) malformed(c task.Txn) (codes []task.Code) {
	seen := map[string]bool{}
	parts := len(c.Depends) + len(c.Submits) + len(c.Updates) + len(c.Finishes) + len(c.Deletes)
	bad := parts > 1000
	once := func(id string) { bad, seen[id] = bad || seen[id], true }
	for _, s := range c.Submits {
		once(s.ID)
		bad = bad || s.IfExists > task.Fail
	}
	for _, u := range c.Updates {
		once(u.ID)
	}
	for _, f := range c.Finishes {
		once(f.Key.ID)
		bad = bad || wrongUse(used{f.Fuel, f.Pages}, f.External)
	}
	for _, d := range c.Deletes {
		once(d.ID)
	}
	if bad {
		codes = append(codes, task.InvalidCommand)
	}
	if code := m.known(c.Namespace); code != task.OK {
		codes = append(codes, code)
	}
	return codes
}

// reasons returns everything that keeps the transaction from happening: conflicts, and refusals of single parts.
func (m *Model) reasons(c task.Txn) (reasons []task.Reason, codes []task.Code) {
	because := func(yes bool, kind, id string) {
		if yes {
			reasons = append(reasons, task.Reason{Kind: kind, ID: id})
		}
	}
	get := func(id string) *task.Task { return m.Tasks[task.Key{Namespace: c.Namespace, ID: id}] }
	// there calls more for a task that exists.
	there := func(id string, rev uint64, more func(t *task.Task)) {
		t := get(id)
		if because(t == nil, task.ReasonMissing, id); t != nil {
			because(rev != 0 && rev != t.Rev, task.ReasonChanged, id)
			more(t)
		}
	}
	for _, d := range c.Depends {
		there(d.ID, d.Rev, func(t *task.Task) {
			because(d.Token != 0 && (t.Lease == nil || t.Lease.Token != d.Token), task.ReasonChanged, d.ID)
		})
	}
	for _, s := range c.Submits {
		s.Namespace = c.Namespace
		if code := m.refusal(s); code != task.OK {
			codes = append(codes, code) // as for a submit alone, which does not come to look at the ID then
		} else if t := get(s.ID); t == nil && m.reserved(task.Key{Namespace: c.Namespace, ID: s.ID}) {
			codes = append(codes, task.ReservedID)
		} else if code := m.admit(s.Params); t == nil && code != task.OK {
			codes = append(codes, code)
		} else if t != nil {
			because(s.IfExists == task.Fail || t.Behavior != s.Behavior, task.ReasonExists, s.ID)
		}
	}
	for _, u := range c.Updates {
		if code := m.writable(c.Namespace); code != task.OK {
			codes = append(codes, code)
		}
		there(u.ID, u.Rev, func(t *task.Task) {
			because(t.Status == task.Running, task.ReasonLeased, u.ID)
			if t.Role != task.RoleNone {
				codes = append(codes, task.OperationTask)
				return
			}
			because(final(t) && (u.NotBefore != nil || u.Delay != nil || u.Params != nil), task.ReasonChanged, u.ID)
			if b := m.Behavior(t); u.Params != nil && u.BehaviorRev != 0 && b.Rev != u.BehaviorRev {
				codes = append(codes, task.BehaviorWasChanged)
			}
			if u.Params != nil && m.admit(*u.Params) != task.OK {
				codes = append(codes, m.admit(*u.Params))
			}
		})
	}
	for _, f := range c.Finishes {
		there(f.Key.ID, 0, func(t *task.Task) {
			mine := t.Lease != nil && t.Lease.Token == f.Token && f.External == (t.Lease.Session == 0)
			because(!mine || t.Deadline != 0 && t.Deadline <= m.Now, task.ReasonChanged, f.Key.ID)
			if code := m.admit(f.Result); code != task.OK && f.Error == nil {
				codes = append(codes, code)
			}
		})
	}
	for _, d := range c.Deletes {
		there(d.ID, d.Rev, func(t *task.Task) {
			if because(t.Status == task.Running, task.ReasonLeased, d.ID); t.Role != task.RoleNone {
				codes = append(codes, task.OperationTask)
			}
		})
	}
	return reasons, codes
}

func (m *Model) update(k task.Key, u task.TxnUpdate) {
	t := *m.Tasks[k]
	if u.NotBefore != nil {
		t.NotBefore = *u.NotBefore
	} else if u.Delay != nil {
		t.NotBefore = m.Now + task.Time(*u.Delay)
	}
	if u.Deadline != nil {
		t.Deadline = *u.Deadline
	}
	t.Priority = *cmp.Or(u.Priority, &t.Priority)
	if u.HasLabels {
		t.Labels = u.Labels
	}
	if u.Params != nil {
		t.Params, t.ConcurrencyKey = *u.Params, u.ConcurrencyKey
	}
	m.write(&t)
}
