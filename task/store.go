package task

import (
	"slices"
	"sort"
)

// store holds all tasks: found by key, walked in order of creation, frozen without copying them. It is the seam behind
// which tasks are kept without pointers, so that a collection of garbage does not grow with them: rules use only its
// methods and keep nothing but *row and *Task.
//
// A task that runs is kept as the *Task that it is (live); any other one is packed into the arena, and made anew for who
// looks at it. What a row's number leads to is a cell: where the record is now. Cells and the order of creation live in
// pages that are cloned before they are written if a Frozen can see them (page.epoch < store.epoch), so freezing copies
// tables of pages and chunks, and nothing else.
type store struct {
	rows    rowTable
	index   idIndex
	view             // what records are read from
	cells   []*cells // by the page of the row
	arena   arena
	spare   []uint32 // numbers of live that are free
	left    []uint32 // numbers of behaviors that are free
	scratch []byte   // of pack

	order  []*page  // none empty
	firsts []uint64 // CreatedRev of each page's first task: searched without touching the pages
	epoch  uint64
	n      int

	open bool  // an entry is being applied: warm may be used
	warm *row  // looked at last in this entry
	told *Task // its record
}

// Pages of the order of creation: creation only appends, removal shrinks a page and merges it with a neighbor when both
// are nearly empty: on average the pages stay a quarter full.
const (
	pageTasks = 284
	pageMerge = pageTasks / 4 // a page with fewer tasks looks for a neighbor to merge with
)

type page struct {
	epoch uint64
	n     int
	rows  [pageTasks]handle
}

// cell is what a snapshot needs of a row.
type cell struct {
	record  ref
	created uint64 // CreatedRev
}

type cells struct {
	epoch uint64
	cells [pageRows]cell
}

// livePage holds tasks that run.
type livePage struct {
	epoch uint64
	tasks [pageRows]*Task
}

func newStore() store {
	return store{rows: newRowTable(), index: idIndex{shards: make([]indexShard, 1)}, arena: newArena()}
}

// get returns the row of k, or nil.
func (s *store) get(k Key) *row { return s.find(hashKey(k.Namespace, k.ID), k) }

func (s *store) cell(h handle) *cell { return &s.cells[h/pageRows].cells[h%pageRows] }

// writableCell returns the cell of a row to be written before the next freeze.
func (s *store) writableCell(h handle) *cell {
	p := s.cells[h/pageRows]
	if p.epoch != s.epoch {
		clone := *p
		clone.epoch = s.epoch
		p = &clone
		s.cells[h/pageRows] = p
	}
	return &p.cells[h%pageRows]
}

// task returns the record of r. Between two entries many may call it at once: it keeps nothing then.
func (s *store) task(r *row) *Task {
	if s.warm == r {
		return s.told
	}
	t := s.view.task(s.cell(r.id))
	if s.open {
		s.warm, s.told = r, t
	}
	return t
}

// begin and end are called around an entry.
func (s *store) begin() { s.open = true }
func (s *store) end()   { s.open, s.warm, s.told = false, nil, nil }

// orderPage returns page i of the order of creation, writable.
func (s *store) orderPage(i int) *page {
	p := s.order[i]
	if p.epoch != s.epoch {
		clone := *p
		clone.epoch = s.epoch
		p = &clone
		s.order[i] = p
	}
	return p
}

// locate returns the page and the slot of the task created at rev; ok is false if there is none, and the place is then
// the one before which it would be.
func (s *store) locate(rev uint64) (pageIndex, slot int, ok bool) {
	i := s.pageOf(rev)
	if i < 0 {
		return 0, 0, false
	}
	p := s.order[i]
	slot = sort.Search(p.n, func(j int) bool { return s.cell(p.rows[j]).created >= rev })
	return i, slot, slot < p.n && s.cell(p.rows[slot]).created == rev
}

// pageOf returns the page in which the task created at rev is if there is one; negative: before all pages.
func (s *store) pageOf(rev uint64) int {
	return sort.Search(len(s.firsts), func(i int) bool { return s.firsts[i] > rev }) - 1
}

// addBehavior gives b its number; dropBehavior takes it back when no task of b is left.
func (s *store) addBehavior(b *behaviorRow) {
	if last := len(s.left) - 1; last >= 0 {
		b.number = s.left[last]
		s.left = s.left[:last]
		s.behaviors[b.number] = b
		return
	}
	b.number = uint32(len(s.behaviors))
	s.behaviors = append(s.behaviors, b)
}

func (s *store) dropBehavior(b *behaviorRow) {
	s.behaviors[b.number] = nil
	s.left = append(s.left, b.number)
}

// add makes a row for t, a task of b; its CreatedRev is greater than every other.
func (s *store) add(b *behaviorRow, t *Task) *row {
	r := s.rows.add()
	no := int(r.id / pageRows)
	for len(s.cells) <= no {
		s.cells = append(s.cells, nil)
	}
	if s.cells[no] == nil {
		s.cells[no] = &cells{epoch: s.epoch}
	}
	r.behavior, r.priority = b.number, t.Priority
	*s.writableCell(r.id) = cell{s.keep(b, t), t.CreatedRev}
	s.insert(hashKey(t.Namespace, t.ID), r.id)
	s.n++
	last := len(s.order) - 1
	if last < 0 || s.order[last].n == pageTasks {
		s.order = append(s.order, &page{epoch: s.epoch})
		s.firsts = append(s.firsts, t.CreatedRev)
		last++
	}
	p := s.orderPage(last)
	p.rows[p.n] = r.id
	p.n++
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
	c := s.writableCell(r.id)
	former := c.record
	c.record = s.keep(s.behaviors[r.behavior], t)
	s.release(former)
	r.priority = t.Priority
	s.heat(r, t)
	s.compact()
}

// remove takes r out, whose record is t. The row may become another task's.
func (s *store) remove(r *row, t *Task) {
	c := s.writableCell(r.id)
	s.release(c.record)
	s.delete(hashKey(t.Namespace, t.ID), r.id)
	s.n--
	i := s.pageOf(t.CreatedRev)
	p := s.orderPage(i)
	slot := slices.Index(p.rows[:p.n], r.id)
	copy(p.rows[slot:], p.rows[slot+1:p.n])
	p.n--
	p.rows[p.n] = 0
	if p.n > 0 {
		s.firsts[i] = s.cell(p.rows[0]).created
	}
	s.shrink(i)
	*c = cell{}
	if s.warm == r {
		s.warm, s.told = nil, nil
	}
	if no := int(r.id / pageRows); s.rows.remove(r) {
		s.cells[no] = nil
	}
	s.compact()
}

// shrink drops page i if it is empty and merges it with a neighbor if both together fill at most half a page, so that
// the next removals or appends do not split or merge again at once.
func (s *store) shrink(i int) {
	p := s.order[i]
	switch {
	case p.n == 0:
	case p.n >= pageMerge:
		return
	case i > 0 && s.order[i-1].n+p.n <= pageTasks/2:
		s.appendPage(i-1, p)
	case i+1 < len(s.order) && s.order[i+1].n+p.n <= pageTasks/2:
		i++
		s.appendPage(i-1, s.order[i])
	default:
		return
	}
	s.order = slices.Delete(s.order, i, i+1)
	s.firsts = slices.Delete(s.firsts, i, i+1)
}

func (s *store) appendPage(i int, from *page) {
	to := s.orderPage(i)
	copy(to.rows[to.n:], from.rows[:from.n])
	to.n += from.n
}

// from yields the rows of the tasks created after rev, in order of creation.
func (s *store) from(rev uint64) func(yield func(*row) bool) {
	return func(yield func(*row) bool) {
		i, slot, ok := s.locate(rev)
		if ok {
			slot++
		}
		for ; i < len(s.order); i, slot = i+1, 0 {
			p := s.order[i]
			for _, h := range p.rows[min(slot, p.n):p.n] {
				if !yield(s.rows.row(h)) {
					return
				}
			}
		}
	}
}

// keep stores the record t, of a task of b, and returns where.
func (s *store) keep(b *behaviorRow, t *Task) ref {
	if packs(t) {
		return s.pack(b, t)
	}
	if len(s.spare) == 0 {
		for i := range pageRows {
			s.spare = append(s.spare, uint32((len(s.live)+1)*pageRows-1-i))
		}
		s.live = append(s.live, &livePage{epoch: s.epoch})
	}
	last := len(s.spare) - 1
	i := s.spare[last]
	s.spare = s.spare[:last]
	s.writableLive(i).tasks[i%pageRows] = t
	return liveRef(i)
}

// release gives up the place of a record.
func (s *store) release(at ref) {
	if i, ok := at.live(); ok {
		s.writableLive(i).tasks[i%pageRows] = nil
		s.spare = append(s.spare, i)
		return
	}
	s.free(at)
}

func (s *store) writableLive(i uint32) *livePage {
	p := s.live[i/pageRows]
	if p.epoch != s.epoch {
		clone := *p
		clone.epoch = s.epoch
		p = &clone
		s.live[i/pageRows] = p
	}
	return p
}

// frozenTasks are the tasks at one index.
type frozenTasks struct {
	view
	order []*page
	cells []*cells
}

// freeze returns the tasks as they are and will stay; the store clones a page before it writes it next.
func (s *store) freeze() frozenTasks {
	s.epoch++
	v := s.view
	v.chunks, v.live, v.names, v.behaviors = slices.Clone(v.chunks), slices.Clone(v.live), s.names.freeze(), slices.Clone(v.behaviors)
	return frozenTasks{view: v, order: slices.Clone(s.order), cells: slices.Clone(s.cells)}
}

// all yields the tasks in order of creation.
func (f *frozenTasks) all(yield func(*Task) bool) {
	for _, p := range f.order {
		for _, h := range p.rows[:p.n] {
			if !yield(f.task(&f.cells[h/pageRows].cells[h%pageRows])) {
				return
			}
		}
	}
}
