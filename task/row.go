package task

import "github.com/taskrt/taskrt/task/table"

// handle is the number of a row; 0 is none.
type handle = table.Handle

// heapPos is where a row, or whatever else, is in a heap.
type heapPos = table.Pos

// heap is one from whose middle items are removed. Its ties are revs, tokens and the like, so that the order of two items
// never depends on history.
type heap[I any] = table.Heap[*table.Pos, uint64, I]

// row is what the machine derives for one task. It is in no snapshot, and has no pointers. It stays where it is until the
// task is removed.
type row struct {
	at       int64 // what its queue goes by: not_before of what waits, when it was set of what is due and had passed, finished_at of what is final
	id       handle
	behavior uint32  // behaviorRow.number
	pos      heapPos // in the queue that it is in by time
	place    heapPos // due: in its lane, or waiting behind its key
	more     uint32  // its extra + 1
	queue    queueKind
	inLane   bool // due, and may be assigned
	priority int8
}

// queueKind says in which queue by time a row is.
type queueKind uint8

const (
	inNone   queueKind = iota
	inFuture           // behaviorRow.future
	inDue              // behaviorRow.due
	inFinals           // Machine.finalQueue
	inRuns             // Machine.overruns
)

// extra is what few rows have.
type extra struct {
	key      *keyQueue // set while a limit per key counts it
	side     heapPos   // due: in its key's promoted; RUNNING: in Machine.losses
	deadline heapPos   // in Machine.deadlines
	doomed   heapPos   // RUNNING: in Machine.doomed
	part     heapPos   // of an operation: in its open, failed or cleanups
	bound    heapPos   // a cleanup that is not final: in its session's cleanups
}

// pageRows is how many tasks a page of anything kept for each of them has.
const pageRows = table.PageRows

// rowTable holds all rows.
type rowTable struct {
	slab   table.Slab[row]
	extras []*extra
	spare  []uint32 // numbers of extras that are nil
}

func (t *rowTable) row(h handle) *row { return t.slab.Row(h) }

// add returns a row that nobody has.
func (t *rowTable) add() *row {
	h, r := t.slab.Add()
	r.id = h
	return r
}

// remove gives r up, and reports whether its page went with it.
func (t *rowTable) remove(r *row) bool {
	t.dropExtra(r)
	return t.slab.Remove(r.id)
}

// look returns the extra of r to be read.
func (t *rowTable) look(r *row) extra {
	if r.more == 0 {
		return extra{}
	}
	return *t.extras[r.more-1]
}

// extra returns the extra of r, made on first use.
func (t *rowTable) extra(r *row) *extra {
	if r.more != 0 {
		return t.extras[r.more-1]
	}
	e := &extra{}
	if last := len(t.spare) - 1; last >= 0 {
		r.more = t.spare[last] + 1
		t.spare = t.spare[:last]
		t.extras[r.more-1] = e
		return e
	}
	t.extras = append(t.extras, e)
	r.more = uint32(len(t.extras))
	return e
}

// tidy gives up an extra in which nothing is left.
func (t *rowTable) tidy(r *row) {
	if r.more != 0 && *t.extras[r.more-1] == (extra{}) {
		t.dropExtra(r)
	}
}

func (t *rowTable) dropExtra(r *row) {
	if r.more != 0 {
		t.extras[r.more-1] = nil
		t.spare = append(t.spare, r.more-1)
		r.more = 0
	}
}
