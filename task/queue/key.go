package queue

import (
	"iter"
	"math"
)

// Limits are what the active version of a behavior says of its keys (SPEC L11).
type Limits struct {
	PerKey int64 // how many tasks of one key run at once; 0: no limit
	Strict bool  // with PerKey: a task holds its slot between the runs of one cycle
}

// counts reports whether a limit per key counts x.
func (l Limits) counts(x *Task) bool { return l.PerKey > 0 && x.Key != "" }

// holds reports whether x holds a slot of its key while it waits.
func (l Limits) holds(x *Task) bool { return l.Strict && x.Key != "" && x.Begun }

// Key is one key of a behavior with a limit per key. It exists while a task of the key runs, is due or holds a slot. Only as many of its
// due tasks as there are slots for are *promoted* into lanes.
type Key struct {
	name    string
	Running int64
	Held    int64 // waiting tasks that hold a slot, due or not
	Holders Team  // due tasks that hold a slot
	Others  Team  // the other due tasks
}

// Team holds due tasks that share a number of slots. The first in T4 order are promoted into their lanes. The rest waits here.
type Team struct {
	Waiting  Heap // in T4 order
	Promoted Heap // in the reverse order: the head is the first to step back
}

func (k *Key) team(holds bool) *Team {
	if holds {
		return &k.Holders
	}
	return &k.Others
}

func (k *Key) empty() bool {
	return k.Running == 0 && k.Held == 0 && k.Others.len() == 0 && k.Holders.len() == 0
}

func (t *Team) len() int { return t.Waiting.Len() + t.Promoted.Len() }

// slots returns how many due tasks of each team may be promoted. A holder needs only the slot that it holds. Holders are bounded, too, because a
// limit may have been lowered, or made strict, after tasks had run.
func (k *Key) slots(perKey int64) (holders, others int64) {
	free := max(perKey-k.Running, 0)
	return free, max(free-k.Held, 0)
}

// Key returns a key, made on first use.
func (q *Queues) Key(name string) *Key {
	k := q.Keys[name]
	if k == nil {
		k = &Key{name: name}
		q.Keys[name] = k
	}
	return k
}

// keyOf returns the key that counts r, and notes it.
func (b *Board) keyOf(q *Queues, r *Row, x *Task) *Key {
	e := b.rows.Extra(r)
	if e.Key == nil {
		e.Key = q.Key(x.Key)
	}
	return e.Key
}

// enterTeam puts a due task into its lane, or behind its key if there is a limit per key.
func (b *Board) enterTeam(q *Queues, r *Row, x *Task) {
	if !q.Limits.counts(x) {
		b.enterLane(q, r, x)
		return
	}
	b.keyOf(q, r, x).team(q.Limits.holds(x)).Waiting.Push(r.Order(), x.Created, &r.Place, r)
}

func (b *Board) leaveTeam(q *Queues, r *Row, x *Task) {
	if k := b.rows.Look(r).Key; k != nil {
		team := k.team(q.Limits.holds(x))
		if !r.InLane {
			team.Waiting.Remove(&r.Place)
			return
		}
		team.Promoted.Remove(&b.rows.Extra(r).Side)
	}
	b.leaveLane(q, r, x)
}

// EnterKey counts r in its key if it runs or holds a slot.
func (b *Board) EnterKey(q *Queues, r *Row, x *Task) {
	switch {
	case x.Running && q.Limits.counts(x):
		b.keyOf(q, r, x).Running++
	case q.Limits.holds(x):
		b.keyOf(q, r, x).Held++
	}
}

// LeaveKey undoes EnterKey.
func (b *Board) LeaveKey(q *Queues, r *Row, x *Task) {
	k := b.rows.Look(r).Key
	switch {
	case k == nil:
	case x.Running:
		k.Running--
	case q.Limits.holds(x):
		k.Held--
	}
}

// Settle promotes as many tasks of a key as the key has slots for, and no others. It must follow every change of the key. nil means no key.
func (b *Board) Settle(q *Queues, k *Key) {
	if k == nil {
		return
	}
	if k.empty() {
		delete(q.Keys, k.name)
		return
	}
	holders, others := k.slots(q.Limits.PerKey)
	b.fill(q, &k.Holders, holders)
	b.fill(q, &k.Others, others)
}

func (b *Board) fill(q *Queues, t *Team, slots int64) {
	for int64(t.Promoted.Len()) > slots {
		b.Demote(q, t)
	}
	for int64(t.Promoted.Len()) < slots && t.Waiting.Len() > 0 {
		b.Promote(q, t)
	}
	for t.Waiting.Len() > 0 && t.Promoted.Len() > 0 {
		best, worst := t.Waiting.Head(), t.Promoted.Head()
		if best.Key > -worst.Key || best.Key == -worst.Key && best.Tie > ^worst.Tie {
			return
		}
		b.Demote(q, t)
		b.Promote(q, t)
	}
}

// Promote moves the first waiting task of the team into its lane.
func (b *Board) Promote(q *Queues, t *Team) {
	n := *t.Waiting.Head()
	r := n.Item
	t.Waiting.Remove(&r.Place)
	t.Promoted.Push(-n.Key, ^n.Tie, &b.rows.Extra(r).Side, r)
	x := b.source.Waiting(r)
	b.enterLane(q, r, &x)
}

// Demote moves the last promoted task of the team back.
func (b *Board) Demote(q *Queues, t *Team) {
	r := t.Promoted.Head().Item
	t.Promoted.Remove(&b.rows.Extra(r).Side)
	x := b.source.Waiting(r)
	b.leaveLane(q, r, &x)
	t.Waiting.Push(r.Order(), x.Created, &r.Place, r)
}

// Spare returns how many slots the key of x has besides the slots of promoted due tasks. x is not due yet.
func (q *Queues) Spare(x *Task) int64 {
	if !q.Limits.counts(x) {
		return math.MaxInt64
	}
	k := q.Keys[x.Key]
	if k == nil {
		return q.Limits.PerKey
	}
	holders, others := k.slots(q.Limits.PerKey)
	if q.Limits.holds(x) {
		return holders - int64(k.Holders.Promoted.Len())
	}
	return others - int64(k.Others.Promoted.Len())
}

// Holds reports whether x holds a slot of its key while it waits.
func (q *Queues) Holds(x *Task) bool { return q.Limits.holds(x) }

// Counts reports whether a limit per key counts x.
func (q *Queues) Counts(x *Task) bool { return q.Limits.counts(x) }

// SetLimits sets the limits. If they differ from the former limits, the queues are made anew. This costs by the behavior's waiting tasks and by all
// running tasks: running yields those of the behavior.
func (b *Board) SetLimits(q *Queues, next Limits, running iter.Seq[*Row]) {
	if next == q.Limits {
		return
	}
	rows := b.keyed(q, running)
	tasks := make([]Task, len(rows))
	for i, r := range rows {
		x := &tasks[i]
		*x = b.source.Waiting(r)
		b.LeaveKey(q, r, x)
		if r.Kind == Due && !x.Bound {
			b.leaveTeam(q, r, x)
		}
		if e := b.rows.Has(r); e != nil {
			e.Key = nil
		}
	}
	q.Limits = next
	clear(q.Keys)
	for i, r := range rows {
		if r.Kind == Due && !tasks[i].Bound {
			b.enterTeam(q, r, &tasks[i])
		}
		b.EnterKey(q, r, &tasks[i])
	}
	for _, r := range rows {
		b.Settle(q, b.rows.Look(r).Key)
	}
	for _, r := range rows {
		b.rows.Tidy(r)
	}
}

// keyed returns the rows of q that a limit per key may concern: due tasks, running tasks, and tasks that may hold a slot before they are due.
func (b *Board) keyed(q *Queues, running iter.Seq[*Row]) []*Row {
	var rows []*Row
	for r := range q.Due.All(b.rows) {
		rows = append(rows, r)
	}
	for r := range q.Future.All {
		if b.source.Waiting(r).Begun {
			rows = append(rows, r)
		}
	}
	for r := range running {
		rows = append(rows, r)
	}
	return rows
}
