package task

import (
	"cmp"
	"slices"
)

type behaviorName struct{ namespace, name string }

// behaviorRow is what the machine holds for one behavior name: its record, and what is derived for its tasks. A deleted
// one stays for as long as there are tasks of that name (SPEC I5, B8).
type behaviorRow struct {
	behaviorName
	number   uint32 // that rows and packed records know it by
	behavior *Behavior
	space    *namespaceRow

	tasks    int64      // in all, final tasks of operations included
	future   heap[*row] // waiting, not_before > now; by (not_before, created)
	ahead    heapPos    // in Machine.futures, while future holds a task
	retrying int64      // FAILUREs in future
	due      line       // waiting, not_before ≤ now, blocked or not; by (due since, created)
	running  int64
	success  line             // final tasks by (finished_at, created): what retention sweeps (SPEC T9)
	failure  line             //
	excess   line             // those of both with Task.Excess
	pins     map[string]int64 // tasks per pinned version (SPEC B2)
	held     map[string]int64 // operations per version that they keep

	limits allowance // of the active version
	lanes  map[laneName]*lane
	keys   map[string]*keyQueue // by concurrency key, while there is a limit per key
}

// behaviorRow returns the row of a behavior name in a namespace that is there, made on first use.
func (m *Machine) behaviorRow(namespace, name string) *behaviorRow {
	k := behaviorName{namespace, name}
	b := m.behaviors[k]
	if b == nil {
		b = &behaviorRow{
			behaviorName: k, space: m.namespaces[namespace], lanes: map[laneName]*lane{}, keys: map[string]*keyQueue{},
			pins: map[string]int64{}, held: map[string]int64{},
		}
		m.behaviors[k] = b
		m.store.addBehavior(b)
		i, _ := m.findBehavior(k)
		m.byName = slices.Insert(m.byName, i, b)
	}
	return b
}

// findBehavior returns the place of a name in byName, and whether it stands there.
func (m *Machine) findBehavior(k behaviorName) (int, bool) {
	return slices.BinarySearchFunc(m.byName, k, func(b *behaviorRow, k behaviorName) int {
		return cmp.Or(cmp.Compare(b.namespace, k.namespace), cmp.Compare(b.name, k.name))
	})
}

// order is the T4 order of due tasks.
func order(t *Task) int64 { return orderOf(int64(t.dueSince()), t.Priority) }

// dueSince returns since when a task that is due counts as waiting (SPEC T4).
func (t *Task) dueSince() Time { return max(t.NotBefore, t.DueSince) }

// orderOf makes each priority step worth one minute of waiting.
func orderOf(dueSince int64, priority int8) int64 { return dueSince - 60_000*int64(priority) }

// finalQueue returns the queue of final tasks with the status.
func (b *behaviorRow) finalQueue(s Status) *line {
	if s == Success {
		return &b.success
	}
	return &b.failure
}

// enqueue enters the record of r into everything derived. The caller settles its key then.
func (m *Machine) enqueue(r *row) {
	t, b := m.task(r), m.of(r)
	m.enterOperation(r)
	switch {
	case t.Status == Running:
		m.enterLease(r)
	case t.NotBefore == 0:
		r.queue, r.at = inFinals, int64(t.FinishedAt)
		m.finalQueue(t, b).push(m.store, r)
	case t.NotBefore > m.now:
		m.enterFuture(r)
	default:
		m.enterDue(r)
	}
	b.tasks++
	m.enterKey(r)
	if awaitsDeadline(t) {
		m.deadlines.Push(int64(t.Deadline), t.CreatedRev, &m.store.rows.extra(r).deadline, r)
	}
	if t.Version != "" {
		b.pins[t.Version]++
	}
	*m.counts.of(t)++
	m.enterUsage(r)
	m.enterBlobs(r)
}

// dequeue takes the record of r out of everything derived. The caller settles the key that it had then.
func (m *Machine) dequeue(r *row) {
	t, b := m.task(r), m.of(r)
	b.tasks--
	m.leaveKey(r)
	switch r.queue {
	case inRuns:
		m.leaveLease(r)
	case inFuture:
		m.leaveFuture(r)
	case inDue:
		m.leaveDue(r)
	default:
		m.finalQueue(t, b).remove(m.store, r)
	}
	r.queue = inNone
	if r.more != 0 {
		e := m.store.rows.extra(r)
		if e.key = nil; e.deadline != 0 {
			m.deadlines.Remove(&e.deadline)
		}
	}
	if t.Version != "" {
		if b.pins[t.Version]--; b.pins[t.Version] == 0 {
			delete(b.pins, t.Version)
		}
	}
	*m.counts.of(t)--
	m.leaveUsage(r)
	m.leaveBlobs(r)
	m.leaveOperation(r)
}

// awaitsDeadline reports whether a Tick must look at t when its deadline comes (SPEC R1).
func awaitsDeadline(t *Task) bool { return t.Deadline != 0 && !t.Final() && t.CancelCode == "" }

// enterFuture makes r wait for its time.
func (m *Machine) enterFuture(r *row) {
	b, t := m.of(r), m.task(r)
	r.queue, r.at = inFuture, int64(t.NotBefore)
	b.future.Push(r.at, t.CreatedRev, &r.pos, r)
	if t.Status == Failure {
		b.retrying++
	}
	m.lookAhead(b)
}

func (m *Machine) leaveFuture(r *row) {
	b := m.of(r)
	b.future.Remove(&r.pos)
	if m.task(r).Status == Failure {
		b.retrying--
	}
	m.lookAhead(b)
}

// lookAhead keeps b in Machine.futures by its next task.
func (m *Machine) lookAhead(b *behaviorRow) {
	n := b.future.Head()
	if at := m.futures.At(b.ahead); at != nil {
		if n != nil && at.Key == n.Key && at.Tie == n.Tie {
			return
		}
		m.futures.Remove(&b.ahead)
	}
	if n != nil {
		m.futures.Push(n.Key, n.Tie, &b.ahead, b)
	}
}

// becomeEligible makes tasks due whose not_before has come (SPEC T3).
func (m *Machine) becomeEligible() {
	for n := m.futures.Head(); n != nil && n.Key <= int64(m.now); n = m.futures.Head() {
		r := n.Item.future.Head().Item
		m.leaveFuture(r)
		m.enterDue(r)
		m.settle(m.of(r), m.store.rows.look(r).key)
		m.tickChange = true
	}
}

// enterDue makes r, whose time has come, wait for a worker.
func (m *Machine) enterDue(r *row) {
	r.queue, r.at = inDue, int64(m.task(r).dueSince())
	m.of(r).due.push(m.store, r)
	m.enterTeam(r)
}

// enterTeam puts a due task into its lane, or behind its key if there is a limit per key.
func (m *Machine) enterTeam(r *row) {
	t, b := m.task(r), m.of(r)
	if t.Bound != 0 {
		m.sessions[t.Bound].due.Push(order(t), t.CreatedRev, &r.place, r)
		return
	}
	if !b.limits.keyed(t) {
		m.enterLane(r)
		return
	}
	e := m.store.rows.extra(r)
	if e.key == nil {
		e.key = b.keyQueue(t.ConcurrencyKey)
	}
	e.key.team(b.limits.holds(t)).waiting.Push(order(t), t.CreatedRev, &r.place, r)
}

func (m *Machine) leaveDue(r *row) {
	m.of(r).due.remove(m.store, r)
	m.leaveTeam(r)
}

// leaveTeam undoes enterTeam.
func (m *Machine) leaveTeam(r *row) {
	t := m.task(r)
	if t.Bound != 0 {
		m.sessions[t.Bound].due.Remove(&r.place)
		return
	}
	if k := m.store.rows.look(r).key; k != nil {
		team := k.team(m.of(r).limits.holds(t))
		if !r.inLane {
			team.waiting.Remove(&r.place)
			return
		}
		team.promoted.Remove(&m.store.rows.extra(r).side)
	}
	m.leaveLane(r)
}

// of returns the total that t counts in.
func (c *Counts) of(t *Task) *int64 {
	if t.Status == Success && t.NotBefore != 0 {
		return &c.Repeating
	}
	return countOf(t, &c.Created, &c.Running, &c.Retrying, &c.Success, &c.Failure)
}

// countOf returns the one of the counts that t is in.
func countOf(t *Task, waiting, running, retrying, success, failure *int64) *int64 {
	switch {
	case t.Status == Created:
		return waiting
	case t.Status == Running:
		return running
	case t.NotBefore != 0:
		return retrying
	case t.Status == Success:
		return success
	default:
		return failure
	}
}
