package task

import "math"

// Limits (SPEC L11): how many tasks of a behavior, and of a key of it, run at once in the cluster. The promise that
// planning does not grow with what they block is kept by where tasks wait: a lane holds only tasks whose key has a slot
// for them, and of every other key at most the tasks that its free slots are for are *promoted* into lanes.

// allowance is what the active version of a behavior, and its operator, allow now.
type allowance struct {
	open       bool  // there is an active version, no pause, and the namespace is ACTIVE (SPEC L10, B8, N1)
	concurrent int64 // 0: no limit
	perKey     int64 // 0: no limit
	strict     bool

	keepSuccess, keepFailure bool // final tasks are kept for ever (SPEC T9)
}

// allowance returns what is allowed for b now. It depends on its record and its namespace's alone.
func (b *behaviorRow) allowance() allowance {
	if b.behavior == nil || b.behavior.Deleted {
		return allowance{}
	}
	v, ok := b.behavior.Find("")
	if !ok {
		return allowance{}
	}
	a := allowance{open: !b.behavior.Paused && b.space.space.Status == NamespaceIsActive, concurrent: max(v.Policy.MaxConcurrent, 0), perKey: max(v.Policy.MaxPerKey, 0)}
	a.strict = v.Policy.KeyStrict && a.perKey > 0
	a.keepSuccess, a.keepFailure = v.Policy.KeepSuccess < 0, v.Policy.KeepFailure < 0
	return a
}

// keyed reports whether a limit per key counts t.
func (a *allowance) keyed(t *Task) bool { return a.perKey > 0 && t.ConcurrencyKey != "" }

// holds reports whether t holds a slot of its key while it waits: with strict order, between its runs of one cycle.
func (a *allowance) holds(t *Task) bool {
	return a.strict && t.ConcurrencyKey != "" && t.Version != "" && t.Status != Running && !t.Final()
}

// full reports whether no further task of b may start.
func (b *behaviorRow) full() bool { return b.limits.concurrent > 0 && b.running >= b.limits.concurrent }

// mayStart reports whether another task of b may start now, as far as that does not depend on the task.
func (b *behaviorRow) mayStart() bool { return b.limits.open && !b.full() && !b.space.full() }

// keyQueue is one key of a behavior with a limit per key. It exists while a task of the key runs, is due or holds a slot.
type keyQueue struct {
	name    string
	running int64
	held    int64 // waiting tasks that hold a slot, due or not
	holders team  // due tasks that hold a slot
	others  team  // the other due tasks
}

// team holds due tasks that have a number of slots in common: the first in T4 order are promoted into their lanes, the
// rest waits here.
type team struct {
	waiting  heap[*row] // in T4 order
	promoted heap[*row] // in the reverse of it: the head is the first to step back
}

func (k *keyQueue) team(holds bool) *team {
	if holds {
		return &k.holders
	}
	return &k.others
}

func (k *keyQueue) empty() bool {
	return k.running == 0 && k.held == 0 && k.others.len() == 0 && k.holders.len() == 0
}

func (t *team) len() int { return t.waiting.Len() + t.promoted.Len() }

// slots returns how many due tasks of each team may be promoted. A holder needs no slot but the one that it holds; that
// holders too are bounded matters when a limit was lowered, or made strict, over tasks that had run before.
func (k *keyQueue) slots(perKey int64) (holders, others int64) {
	free := max(perKey-k.running, 0)
	return free, max(free-k.held, 0)
}

// keyQueue returns the queue of a key, made on first use.
func (b *behaviorRow) keyQueue(name string) *keyQueue {
	k := b.keys[name]
	if k == nil {
		k = &keyQueue{name: name}
		b.keys[name] = k
	}
	return k
}

// enterKey counts r in its key if it runs or holds a slot.
func (m *Machine) enterKey(r *row) {
	b, t := m.of(r), m.task(r)
	running := t.Status == Running && b.limits.keyed(t)
	holds := b.limits.holds(t)
	if !running && !holds {
		return
	}
	e := m.store.rows.extra(r)
	if e.key == nil {
		e.key = b.keyQueue(t.ConcurrencyKey)
	}
	if running {
		e.key.running++
	} else {
		e.key.held++
	}
}

// leaveKey undoes enterKey.
func (m *Machine) leaveKey(r *row) {
	k, t := m.store.rows.look(r).key, m.task(r)
	switch {
	case k == nil:
	case t.Status == Running:
		k.running--
	case m.of(r).limits.holds(t):
		k.held--
	}
}

// settle promotes the tasks of a key that its slots are for, and no others. It must follow every change of the key. Nil
// is no key.
func (m *Machine) settle(b *behaviorRow, k *keyQueue) {
	if k == nil {
		return
	}
	if k.empty() {
		delete(b.keys, k.name)
		return
	}
	holders, others := k.slots(b.limits.perKey)
	m.fill(&k.holders, holders)
	m.fill(&k.others, others)
}

func (m *Machine) fill(t *team, slots int64) {
	for int64(t.promoted.Len()) > slots {
		m.demote(t)
	}
	for int64(t.promoted.Len()) < slots && t.waiting.Len() > 0 {
		m.promote(t)
	}
	for t.waiting.Len() > 0 && t.promoted.Len() > 0 {
		best, worst := t.waiting.Head(), t.promoted.Head()
		if best.Key > -worst.Key || best.Key == -worst.Key && best.Tie > ^worst.Tie {
			return
		}
		m.demote(t)
		m.promote(t)
	}
}

// promote moves the first task of the team that waits into its lane.
func (m *Machine) promote(t *team) {
	n := *t.waiting.Head()
	r := n.Item
	t.waiting.Remove(&r.place)
	t.promoted.Push(-n.Key, ^n.Tie, &m.store.rows.extra(r).side, r)
	m.enterLane(r)
}

// demote moves the last task of the team that is promoted back.
func (m *Machine) demote(t *team) {
	r := t.promoted.Head().Item
	t.promoted.Remove(&m.store.rows.extra(r).side)
	m.leaveLane(r)
	t.waiting.Push(order(m.task(r)), m.task(r).CreatedRev, &r.place, r)
}

// spare returns how many slots the key of r, which is not due yet, has beyond those that due tasks are promoted for.
func (m *Machine) spare(r *row) int64 {
	b, x := m.of(r), m.task(r)
	a := &b.limits
	if !a.keyed(x) {
		return math.MaxInt64
	}
	k := b.keys[x.ConcurrencyKey]
	if k == nil {
		return a.perKey
	}
	holders, others := k.slots(a.perKey)
	if a.holds(x) {
		return holders - int64(k.holders.promoted.Len())
	}
	return others - int64(k.others.promoted.Len())
}

// policyChanged must follow every change of a behavior's record, and of its namespace's status: another active version, a
// pause, a deletion. When the limit per key is another one, the behavior's queues are made anew, at a cost that grows with
// its waiting tasks and all running ones.
func (m *Machine) policyChanged(b *behaviorRow) {
	next := b.allowance()
	m.keptOtherwise(b, &next)
	if next.perKey == b.limits.perKey && next.strict == b.limits.strict {
		b.limits = next
		return
	}
	rows := m.keyedRows(b)
	for _, r := range rows {
		m.leaveKey(r)
		if r.queue == inDue {
			m.leaveTeam(r)
		}
		if r.more != 0 {
			m.store.rows.extra(r).key = nil
		}
	}
	b.limits = next
	clear(b.keys)
	for _, r := range rows {
		if r.queue == inDue {
			m.enterTeam(r)
		}
		m.enterKey(r)
	}
	for _, r := range rows {
		m.settle(b, m.store.rows.look(r).key)
	}
	for _, r := range rows {
		m.store.rows.tidy(r)
	}
}

// keyedRows returns the rows of b that a limit per key may concern: due ones, running ones, and those that may hold a
// slot before they are due.
func (m *Machine) keyedRows(b *behaviorRow) []*row {
	var rows []*row
	for r := range b.due.all(m.store) {
		rows = append(rows, r)
	}
	for r := range b.future.All {
		if m.task(r).Version != "" {
			rows = append(rows, r)
		}
	}
	for r := range m.overruns.All {
		if m.of(r) == b {
			rows = append(rows, r)
		}
	}
	return rows
}
