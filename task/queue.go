package task

import (
	"cmp"
	"slices"

	"github.com/taskrt/taskrt/task/queue"
	"github.com/taskrt/taskrt/task/store"
	"github.com/taskrt/taskrt/task/table"
)

// row is where one task stands: what the machine derives for it. It is in no snapshot.
type row = queue.Row

// heap lets items be removed from its middle. Its ties are unique, so the order of two items never depends on history.
type heap[I any] = table.Heap[*table.Pos, uint64, I]

type behaviorName struct{ namespace, name string }

// behaviorRow is what the machine holds for one behavior name: its record, and what is derived for its tasks. A deleted
// behavior's row stays while there are tasks of the name (SPEC I5, B8).
type behaviorRow struct {
	behaviorName
	behavior *Behavior
	space    *namespaceRow

	queue.Queues

	tasks   int64 // all of them, including final tasks of operations
	running int64
	pins    map[string]int64 // tasks per pinned version (SPEC B2)
	held    map[string]int64 // versions that operations keep, and how many operations
	limits  allowance        // of the active version
}

// behaviorRow returns the row of a behavior name in an existing namespace. It makes the row on first use.
func (m *Machine) behaviorRow(namespace, name string) *behaviorRow {
	k := behaviorName{namespace, name}
	b := m.behaviors[k]
	if b == nil {
		b = &behaviorRow{
			behaviorName: k, space: m.namespaces[namespace], Queues: queue.NewQueues(), pins: map[string]int64{}, held: map[string]int64{},
		}
		m.behaviors[k] = b
		b.Number = m.store.AddOwner(store.Owner{Namespace: namespace, Name: name})
		if int(b.Number) == len(m.numbered) {
			m.numbered = append(m.numbered, nil)
		}
		m.numbered[b.Number] = b
		i, _ := m.findBehavior(k)
		m.byName = slices.Insert(m.byName, i, b)
	}
	return b
}

// findBehavior returns the place of a name in byName, and whether the name stands there.
func (m *Machine) findBehavior(k behaviorName) (int, bool) {
	return slices.BinarySearchFunc(m.byName, k, func(b *behaviorRow, k behaviorName) int {
		return cmp.Or(cmp.Compare(b.namespace, k.namespace), cmp.Compare(b.name, k.name))
	})
}

// dueSince returns since when a task that is due counts as waiting (SPEC T4).
func (t *Task) dueSince() Time { return max(t.NotBefore, t.DueSince) }

// facts returns what package queue needs to know of t. It is inlined and returns a pointer, so that the fields are written where they stay. To copy
// the whole struct right after writing its fields would make a processor wait for these writes.
func facts(t *Task) *queue.Task {
	return &queue.Task{
		Created: t.CreatedRev, Lane: laneOf(t), Key: t.ConcurrencyKey, Running: t.Status == Running, Failed: t.Status == Failure,
		Begun: t.Version != "" && t.Status != Running && !t.Final(), Bound: t.Bound != 0,
	}
}

func laneOf(t *Task) queue.LaneName { return queue.LaneName{Version: t.Version, Suspects: t.Suspect} }

// waiting tells package queue of tasks.
type waiting struct{ m *Machine }

func (w waiting) Waiting(r *row) queue.Task { return *facts(w.m.task(r)) }

// finalQueue returns the queue of final tasks with the status.
func (b *behaviorRow) finalQueue(s Status) *queue.Line {
	if s == Success {
		return &b.Success
	}
	return &b.Failure
}

// enqueue enters the record of r into everything derived. The caller must then settle the key of r.
func (m *Machine) enqueue(r *row) {
	t, b := m.task(r), m.of(r)
	x := facts(t)
	m.enterOperation(r)
	switch {
	case t.Status == Running:
		m.enterLease(r)
	case t.NotBefore == 0:
		m.board.EnterFinal(m.finalQueue(t, b), r, x, int64(t.FinishedAt))
	case t.NotBefore > m.now:
		m.board.EnterFuture(&b.Queues, r, x, int64(t.NotBefore))
	default:
		m.enterDue(r, x)
	}
	b.tasks++
	m.board.EnterKey(&b.Queues, r, x)
	if awaitsDeadline(t) {
		m.deadlines.Push(int64(t.Deadline), t.CreatedRev, &m.store.Rows.Extra(r).Deadline, r)
	}
	if t.Version != "" {
		b.pins[t.Version]++
	}
	*m.counts.of(t)++
	m.countTask(b, t, 1)
	m.countBlobs(1, t.payloads())
}

// dequeue takes the record of r out of everything derived. The caller must then settle the former key of r.
func (m *Machine) dequeue(r *row) {
	t, b := m.task(r), m.of(r)
	x := facts(t)
	b.tasks--
	m.board.LeaveKey(&b.Queues, r, x)
	switch r.Kind {
	case queue.Runs:
		m.leaveLease(r)
	case queue.Future:
		m.board.LeaveFuture(&b.Queues, r, x)
	case queue.Due:
		m.leaveDue(r, x)
	default:
		m.finalQueue(t, b).Remove(&m.store.Rows, r)
	}
	r.Kind = queue.Nowhere
	if e := m.store.Rows.Has(r); e != nil {
		if e.Key = nil; e.Deadline != 0 {
			m.deadlines.Remove(&e.Deadline)
		}
	}
	if t.Version != "" {
		if b.pins[t.Version]--; b.pins[t.Version] == 0 {
			delete(b.pins, t.Version)
		}
	}
	*m.counts.of(t)--
	m.countTask(b, t, -1)
	m.countBlobs(-1, t.payloads())
	m.leaveOperation(r)
}

// awaitsDeadline reports whether a Tick must look at t when its deadline comes (SPEC R1).
func awaitsDeadline(t *Task) bool { return t.Deadline != 0 && !t.Final() && t.CancelCode == "" }

// becomeEligible makes tasks due whose not_before has come (SPEC T3).
func (m *Machine) becomeEligible() {
	for r, at := m.board.Next(); r != nil && at <= int64(m.now); r, at = m.board.Next() {
		x := facts(m.task(r))
		m.board.LeaveFuture(&m.of(r).Queues, r, x)
		m.enterDue(r, x)
		m.settle(r)
		m.tickChange = true
	}
}

// settle lets the key of r have as many tasks in lanes as it has slots for. It must follow every change of the key.
func (m *Machine) settle(r *row) { m.board.Settle(&m.of(r).Queues, m.store.Rows.Look(r).Key) }

// enterDue lets r, whose time has come, wait for a worker: a cleanup in its session, and any other task where all workers find it.
func (m *Machine) enterDue(r *row, x *queue.Task) {
	t := m.task(r)
	m.board.EnterDue(&m.of(r).Queues, r, x, int64(t.dueSince()))
	if t.Bound != 0 {
		m.sessions[t.Bound].due.Push(r.Order(), t.CreatedRev, &r.Place, r)
	}
}

func (m *Machine) leaveDue(r *row, x *queue.Task) {
	if t := m.task(r); t.Bound != 0 {
		m.sessions[t.Bound].due.Remove(&r.Place)
	}
	m.board.LeaveDue(&m.of(r).Queues, r, x)
}

// of returns the total that includes t.
func (c *Counts) of(t *Task) *int64 {
	if t.Status == Success && t.NotBefore != 0 {
		return &c.Repeating
	}
	return countOf(t, &c.Created, &c.Running, &c.Retrying, &c.Success, &c.Failure)
}

// countOf returns the count that includes t.
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
