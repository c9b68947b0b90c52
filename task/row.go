package task

import "github.com/taskrt/taskrt/task/table"

// handle is the number of a row; 0 is none.
type handle uint32

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

// pageRows, as the numbers of rows in other pages, is such that a page has a length that Go's allocator has memory for (2304
// bytes; 1152 of cells): with 64, a tenth would be wasted.
const pageRows = 71

// rowTable holds all rows, in pages. A page that is empty is dropped.
type rowTable struct {
	pages  []*rowPage // by number; nil: none. Page 0 is not used, so that no handle is 0
	gone   []uint32   // numbers of pages that are nil, but for 0
	open   []uint32   // numbers of pages that have room, in no order
	extras []*extra
	spare  []uint32 // numbers of extras that are nil
}

type rowPage struct {
	rows  [pageRows]row
	used  int
	fresh int    // rows from here on were never used
	free  uint32 // slot + 1 of one that was; the next one is in its field more
	open  int    // place in rowTable.open + 1
}

func newRowTable() rowTable { return rowTable{pages: []*rowPage{nil}} }

func (t *rowTable) row(h handle) *row { return &t.pages[h/pageRows].rows[h%pageRows] }

// add returns a row that nobody has.
func (t *rowTable) add() *row {
	if len(t.open) == 0 {
		t.addPage()
	}
	no := t.open[len(t.open)-1]
	p := t.pages[no]
	slot := p.fresh
	if p.free != 0 {
		slot = int(p.free) - 1
		p.free = p.rows[slot].more
	} else {
		p.fresh++
	}
	if p.used++; p.used == pageRows {
		t.close(p)
	}
	r := &p.rows[slot]
	*r = row{id: handle(no*pageRows) + handle(slot)}
	return r
}

func (t *rowTable) addPage() {
	no := uint32(len(t.pages))
	if last := len(t.gone) - 1; last >= 0 {
		no = t.gone[last]
		t.gone = t.gone[:last]
	} else {
		t.pages = append(t.pages, nil)
	}
	t.open = append(t.open, no)
	t.pages[no] = &rowPage{open: len(t.open)}
}

// close takes a page out of those that have room.
func (t *rowTable) close(p *rowPage) {
	last := t.open[len(t.open)-1]
	t.open[p.open-1] = last
	t.pages[last].open = p.open
	t.open = t.open[:len(t.open)-1]
	p.open = 0
}

// remove gives r up, and reports whether its page went with it: an empty one stays if no other has room.
func (t *rowTable) remove(r *row) bool {
	no := uint32(r.id / pageRows)
	p, slot := t.pages[no], uint32(r.id%pageRows)
	t.dropExtra(r)
	*r = row{more: p.free}
	p.free = slot + 1
	p.used--
	if p.open == 0 {
		t.open = append(t.open, no)
		p.open = len(t.open)
	}
	if p.used > 0 || len(t.open) == 1 {
		return false
	}
	t.close(p)
	t.pages[no] = nil
	t.gone = append(t.gone, no)
	return true
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
