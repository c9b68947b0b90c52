package task

import (
	"cmp"
	"slices"

	"github.com/taskrt/taskrt/task/queue"
	"github.com/taskrt/taskrt/task/table"
)

// row is where one task stands: what the machine derives for it. It is in no snapshot.
type row = queue.Row

// handle is the number of a row; 0 is none.
type handle = table.Handle

// heap is one from whose middle items are removed. Its ties are revs, tokens and the like, so that the order of two items never
// depends on history.
type heap[I any] = table.Heap[*table.Pos, uint64, I]

// pageRows is how many tasks a page of anything kept for each of them has.
const pageRows = table.PageRows

// store holds all tasks: found by key, walked in order of creation, frozen without copying them. It is the seam behind
// which tasks are kept without pointers, so that a collection of garbage does not grow with them: rules use only its
// methods and keep nothing but *row and *Task.
//
// A task that runs is kept as the *Task that it is (live); any other one is packed into the arena, and made anew for who
// looks at it. What a row's number leads to is a cell: where the record is now. Cells and the order of creation live in
// pages that are cloned before they are written if a Frozen can see them (package table), so freezing copies tables of
// pages and chunks, and nothing else.
type store struct {
	rows    queue.Rows
	index   table.Index
	view                       // what records are read from
	cells   table.Pages[cells] // by the page of the row
	order   orderTable         // rows in order of creation
	spare   []uint32           // numbers of live that are free
	left    []uint32           // numbers of behaviors that are free
	scratch []byte             // of pack

	open bool  // an entry is being applied: warm may be used
	warm *row  // looked at last in this entry
	told *Task // its record
}

// cell is what a snapshot needs of a row.
type cell struct {
	record  ref
	created uint64 // CreatedRev
}

// cells are those of a page of rows.
type cells [pageRows]cell

// orderTable holds rows by CreatedRev. Removal leaves its pages a quarter full on average.
type orderTable = table.Sorted[uint64, handle, orderPage]

type orderPage = [284]handle

// live are tasks that run.
type live [pageRows]*Task

func newStore() *store {
	s := &store{index: table.NewIndex(), view: view{arena: table.NewArena()}}
	s.rows = queue.NewRows(func(h handle) uint64 { return s.cell(h).created })
	s.order = table.NewSorted[uint64, handle, orderPage](table.Order[uint64, handle]{
		Key: func(h *handle) uint64 { return s.cell(*h).created }, Compare: cmp.Compare[uint64],
	})
	return s
}

// get returns the row of k, or nil.
func (s *store) get(k Key) *row {
	h := s.index.Find(hashKey(k.Namespace, k.ID), func(h handle) bool {
		return s.hasID(s.cell(h).record, k.ID) && s.behaviors[s.rows.Row(h).Behavior].namespace == k.Namespace
	})
	if h == 0 {
		return nil
	}
	return s.rows.Row(h)
}

// hashKey is not part of any contract: it orders nothing that anybody sees.
func hashKey(namespace, id string) uint64 {
	h := newHasher(0)
	h.Str(id)
	h.Str(namespace)
	return h.Sum()
}

// hashOf returns the hash of the key of a row.
func (s *store) hashOf(h handle) uint64 {
	x := newHasher(0)
	s.hashID(&x, s.cell(h).record)
	x.Str(s.behaviors[s.rows.Row(h).Behavior].namespace)
	return x.Sum()
}

func (s *store) cell(h handle) *cell { return &s.cells.At(int(h / pageRows))[h%pageRows] }

// writableCell returns the cell of a row to be written before the next freeze.
func (s *store) writableCell(h handle) *cell { return &s.cells.Edit(int(h / pageRows))[h%pageRows] }

// task returns the record of r. Between two entries many may call it at once: it keeps nothing then.
func (s *store) task(r *row) *Task {
	if s.warm == r {
		return s.told
	}
	t := s.view.task(s.cell(r.ID))
	if s.open {
		s.warm, s.told = r, t
	}
	return t
}

// begin and end are called around an entry.
func (s *store) begin() { s.open = true }
func (s *store) end()   { s.open, s.warm, s.told = false, nil, nil }

// addBehavior gives b its number; dropBehavior takes it back when no task of b is left.
func (s *store) addBehavior(b *behaviorRow) {
	if last := len(s.left) - 1; last >= 0 {
		b.Number = s.left[last]
		s.left = s.left[:last]
		s.behaviors[b.Number] = b
		return
	}
	b.Number = uint32(len(s.behaviors))
	s.behaviors = append(s.behaviors, b)
}

func (s *store) dropBehavior(b *behaviorRow) {
	s.behaviors[b.Number] = nil
	s.left = append(s.left, b.Number)
}

// add makes a row for t, a task of b; its CreatedRev is greater than every other.
func (s *store) add(b *behaviorRow, t *Task) *row {
	r := s.rows.Add()
	if no := int(r.ID / pageRows); !s.cells.Has(no) {
		s.cells.Put(no)
	}
	r.Behavior, r.Priority = b.Number, t.Priority
	*s.writableCell(r.ID) = cell{s.keep(b, t), t.CreatedRev}
	s.index.Insert(hashKey(t.Namespace, t.ID), r.ID, s.hashOf)
	s.order.Append(t.CreatedRev, r.ID)
	s.heat(r, t)
	return r
}

// heat notes that t is the record of r now.
func (s *store) heat(r *row, t *Task) {
	if s.open {
		s.warm, s.told = r, t
	}
}

// replace makes t the record of r.
func (s *store) replace(r *row, t *Task) {
	c := s.writableCell(r.ID)
	former := c.record
	c.record = s.keep(s.behaviors[r.Behavior], t)
	s.release(former)
	r.Priority = t.Priority
	s.heat(r, t)
	s.arena.Compact(s.kept)
}

// remove takes r out, whose record is t. The row may become another task's.
func (s *store) remove(r *row, t *Task) {
	c := s.writableCell(r.ID)
	s.release(c.record)
	s.index.Delete(hashKey(t.Namespace, t.ID), r.ID)
	s.order.Remove(t.CreatedRev)
	*c = cell{}
	if s.warm == r {
		s.warm, s.told = nil, nil
	}
	if no := int(r.ID / pageRows); s.rows.Remove(r) {
		s.cells.Drop(no)
	}
	s.arena.Compact(s.kept)
}

// from yields the rows of the tasks created after rev, in order of creation.
func (s *store) from(rev uint64) func(yield func(*row) bool) {
	return func(yield func(*row) bool) {
		for h := range s.order.After(rev) {
			if !yield(s.rows.Row(*h)) {
				return
			}
		}
	}
}

// ref says where a record is: in the arena, or among those that run.
type ref = table.Ref

const refLive ref = 1 << 63

func liveRef(i uint32) ref { return refLive | ref(i) }

// isLive returns the place among those that run, if the record is there.
func isLive(r ref) (uint32, bool) { return uint32(r), r&refLive != 0 }

// keep stores the record t, of a task of b, and returns where.
func (s *store) keep(b *behaviorRow, t *Task) ref {
	if packs(t) {
		return s.pack(b, t)
	}
	if len(s.spare) == 0 {
		for i := range pageRows {
			s.spare = append(s.spare, uint32((s.live.Len()+1)*pageRows-1-i))
		}
		s.live.Put(s.live.Len())
	}
	last := len(s.spare) - 1
	i := s.spare[last]
	s.spare = s.spare[:last]
	s.live.Edit(int(i / pageRows))[i%pageRows] = t
	return liveRef(i)
}

// release gives up the place of a record.
func (s *store) release(at ref) {
	if i, ok := isLive(at); ok {
		s.live.Edit(int(i / pageRows))[i%pageRows] = nil
		s.spare = append(s.spare, i)
		return
	}
	s.dropNames(s.arena.Record(at))
	s.arena.Free(at)
}

// owner returns the row whose record is at a place, or nil if it is dead: a record is alive if the task of its key has it.
func (s *store) owner(at ref, record []byte) *row {
	b := s.behaviors[behaviorNumber(record)]
	if b == nil {
		return nil
	}
	r := s.get(Key{b.namespace, recordID(record)})
	if r == nil || s.cell(r.ID).record != at {
		return nil
	}
	return r
}

// kept returns where the row says that its record is at a place, to be written, or nil if the record is dead.
func (s *store) kept(at ref, record []byte) *ref {
	if r := s.owner(at, record); r != nil {
		return &s.writableCell(r.ID).record
	}
	return nil
}

// frozenTasks are the tasks at one index.
type frozenTasks struct {
	view
	order table.Frozen[handle, orderPage]
	cells table.Pages[cells]
}

// freeze returns the tasks as they are and will stay; the store clones a page before it writes it next.
func (s *store) freeze() frozenTasks {
	v := view{s.arena.Freeze(), s.live.Freeze(), s.names.Freeze(), slices.Clone(s.behaviors)}
	return frozenTasks{view: v, order: s.order.Freeze(), cells: s.cells.Freeze()}
}

// all yields the tasks in order of creation.
func (f *frozenTasks) all(yield func(*Task) bool) {
	for h := range f.order.All {
		if !yield(f.task(&f.cells.At(int(*h / pageRows))[*h%pageRows])) {
			return
		}
	}
}
