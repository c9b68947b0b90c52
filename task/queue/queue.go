// Package queue knows where each task stands (SPEC T3, T4, L11). A task waits for its time, or in a lane for a worker, or behind a key whose
// slots are taken, or it has ended. The package holds a row of 32 bytes for each task, and no record. Package task tells it what it must know of
// a task. A lane holds only what a worker may take. So planning does not grow with the number of blocked tasks.
//
// Like package task it is pure: the place of a task depends only on what the task is, and not on the changes that led there.
package queue

import "github.com/taskrt/taskrt/task/table"

// Heap is a queue that lets rows be taken from its middle. Its ties are revs, tokens and the like, so the order of two rows never depends on history.
type Heap = table.Heap[*table.Pos, uint64, *Row]

// Task is what a Board is told of a task.
type Task struct {
	Created uint64 // when it was created: a number that no other has
	Lane    LaneName
	Key     string // "": none
	Running bool
	Begun   bool // it waits between the runs of one cycle: with strict order it holds a slot of its key
	Failed  bool // it waits for another attempt
	Bound   bool // one session alone may run it: it waits in no lane, and has no key
}

// Source tells of waiting tasks that a call has not named.
type Source interface{ Waiting(r *Row) Task }

// Board holds what waits of all behaviors. Reads may run beside each other, not beside writes.
type Board struct {
	Lanes    []*Lane                                 // that hold a task, in no order
	futures  table.Heap[*table.Pos, uint64, *Queues] // behaviors with later tasks, by the first of them
	rows     *Rows
	suspects int // lanes of suspects that hold a task
	source   Source
}

// NewBoard returns an empty board for rows.
func NewBoard(rows *Rows, source Source) Board { return Board{rows: rows, source: source} }

// Queues are the queues of one behavior.
type Queues struct {
	Number   uint32 // of the behavior: Row.Behavior
	Future   Heap   // waiting, their time is to come; by (not_before, created)
	Retrying int64  // in Future: those that failed
	Due      Line   // waiting, their time has come, blocked or not; by (due since, created)
	Success  Line   // final tasks by (finished_at, created), for retention (SPEC T9)
	Failure  Line
	Excess   Line // tasks of both kinds that are too many to be kept for ever
	Lanes    map[LaneName]*Lane
	Keys     map[string]*Key // by name, while there is a limit per key
	Limits   Limits

	ahead table.Pos // in Board.futures, while Future holds a task
}

// NewQueues returns empty queues.
func NewQueues() Queues { return Queues{Lanes: map[LaneName]*Lane{}, Keys: map[string]*Key{}} }

// OrderOf is the order of due tasks: each step of priority is worth one minute of waiting (SPEC T4).
func OrderOf(since int64, priority int8) int64 { return since - 60_000*int64(priority) }

// Order is OrderOf a row that is due.
func (r *Row) Order() int64 { return OrderOf(r.At, r.Priority) }

// EnterFuture makes r wait for its time.
func (b *Board) EnterFuture(q *Queues, r *Row, x *Task, at int64) {
	r.Kind, r.At = Future, at
	q.Future.Push(at, x.Created, &r.Pos, r)
	if x.Failed {
		q.Retrying++
	}
	b.lookAhead(q)
}

// LeaveFuture undoes EnterFuture.
func (b *Board) LeaveFuture(q *Queues, r *Row, x *Task) {
	q.Future.Remove(&r.Pos)
	if x.Failed {
		q.Retrying--
	}
	b.lookAhead(q)
}

// lookAhead keeps q in futures by its next task.
func (b *Board) lookAhead(q *Queues) {
	n := q.Future.Head()
	if at := b.futures.At(q.ahead); at != nil {
		if n != nil && at.Key == n.Key && at.Tie == n.Tie {
			return
		}
		b.futures.Remove(&q.ahead)
	}
	if n != nil {
		b.futures.Push(n.Key, n.Tie, &q.ahead, q)
	}
}

// Next returns the row in all Futures whose time comes first, and its time; nil if there is none.
func (b *Board) Next() (r *Row, at int64) {
	n := b.futures.Head()
	if n == nil {
		return nil, 0
	}
	return n.Item.Future.Head().Item, n.Key
}

// EnterDue makes r, which is due since an instant, wait for a worker.
func (b *Board) EnterDue(q *Queues, r *Row, x *Task, since int64) {
	r.Kind, r.At = Due, since
	q.Due.Push(b.rows, r, x.Created)
	if !x.Bound {
		b.enterTeam(q, r, x)
	}
}

// LeaveDue undoes EnterDue.
func (b *Board) LeaveDue(q *Queues, r *Row, x *Task) {
	q.Due.Remove(b.rows, r)
	if !x.Bound {
		b.leaveTeam(q, r, x)
	}
}

// EnterFinal adds r, which ended at an instant, to a queue of final tasks.
func (b *Board) EnterFinal(l *Line, r *Row, x *Task, at int64) {
	r.Kind, r.At = Final, at
	l.Push(b.rows, r, x.Created)
}
