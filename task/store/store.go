// Package store keeps the records of tasks. It finds records by key, walks them in the order of their creation, and freezes them without
// copying them. Records are kept without pointers, so a million of them do not make garbage collection longer. The package does not know the
// fields of a record: a Form packs records and unpacks them. Like package task it is pure.
//
// The record of a running task is live: the store keeps the *T itself. Any other record is packed into an arena of bytes, and is made anew for
// each reader. The number of a row leads to a cell, and the cell says where the record is. Cells and the order of creation live in pages
// (package table). A page that a Frozen can see is cloned before it is written. So freezing copies only the tables of pages and chunks.
package store

import (
	"cmp"
	"iter"
	"slices"

	"github.com/taskrt/taskrt/task/hash"
	"github.com/taskrt/taskrt/task/queue"
	"github.com/taskrt/taskrt/task/table"
)

// Form is what a Store cannot know of records T.
type Form[T any] interface {
	Key(t *T) (namespace, id string)
	Created(t *T) uint64 // it rises, and no two records have the same
	Packs(t *T) bool     // whether it can be packed
	Stays(t *T) bool     // whether it is unlikely to change soon; this only decides beside which records it is kept
	// AppendNames appends the names of a packed record: how many there are, and for each its number in names.
	AppendNames(b []byte, names *table.Names, t *T) []byte
	// AppendBody appends the rest of the record: everything but its ID, its owner and when it was created.
	AppendBody(b []byte, t *T) []byte
	// Read makes the record of an owner again. names and body may be kept: they never change.
	Read(of *Owner, id string, created uint64, names Names, body []byte) *T
}

// Owner is what very many records have in common.
type Owner struct{ Namespace, Name string }

// Store holds records. Reads may run beside each other between End and Begin, not beside writes; Freeze is a write.
type Store[T any] struct {
	Rows    queue.Rows
	index   table.Index
	view[T]                    // the records are read from it
	cells   table.Pages[cells] // by the page of the row
	order   orderTable         // rows in order of creation
	spare   []uint32           // numbers of live that are free
	left    []uint32           // numbers of owners that are free
	scratch []byte             // of pack

	open bool       // an entry is being applied: warm may be used
	warm *queue.Row // looked at last in this entry
	told *T         // its record

	seen uint32 // keeps the reads of Ahead: nobody needs what they read
}

// pageRows is how many rows each page has that keeps something for every row.
const pageRows = table.PageRows

// cell is what a snapshot needs of a row.
type cell struct {
	record  table.Ref
	created uint64
}

// cells are the cells of a page of rows.
type cells [pageRows]cell

// orderTable holds rows by when they were created. Removal leaves its pages a quarter full on average.
type orderTable = table.Sorted[uint64, table.Handle, orderPage]

type orderPage = [284]table.Handle

// live are records that are not packed.
type live[T any] [pageRows]*T

// view is what is needed to read records, of the store itself or of a Frozen.
type view[T any] struct {
	form   Form[T]
	arena  table.Arena
	live   table.Pages[live[T]]
	names  table.Names
	owners []Owner // by number; empty for free numbers
}

// New returns an empty store.
func New[T any](form Form[T]) *Store[T] {
	s := &Store[T]{index: table.NewIndex(), view: view[T]{form: form, arena: table.NewArena()}}
	s.Rows = queue.NewRows(func(h table.Handle) uint64 { return s.cell(h).created })
	s.order = table.NewSorted[uint64, table.Handle, orderPage](table.Order[uint64, table.Handle]{
		Key: func(h *table.Handle) uint64 { return s.cell(*h).created }, Compare: cmp.Compare[uint64],
	})
	return s
}

// Len returns how many records there are.
func (s *Store[T]) Len() int { return s.order.Len() }

// Get returns the row of a key, or nil.
func (s *Store[T]) Get(namespace, id string) *queue.Row {
	h := s.index.Find(hashKey(namespace, id), func(h table.Handle) bool {
		return s.hasID(s.cell(h).record, id) && s.owners[s.Rows.Row(h).Behavior].Namespace == namespace
	})
	if h == 0 {
		return nil
	}
	return s.Rows.Row(h)
}

// hashKey is not part of any contract, because nobody can see an order that it makes.
func hashKey(namespace, id string) uint64 {
	h := hash.New(0)
	h.Str(id)
	h.Str(namespace)
	return h.Sum()
}

// hashOf returns the hash of the key of a row.
func (s *Store[T]) hashOf(h table.Handle) uint64 {
	x := hash.New(0)
	s.hashID(&x, s.cell(h).record)
	x.Str(s.owners[s.Rows.Row(h).Behavior].Namespace)
	return x.Sum()
}

func (s *Store[T]) cell(h table.Handle) *cell { return &s.cells.At(int(h / pageRows))[h%pageRows] }

// writableCell returns the cell of a row to be written before the next freeze.
func (s *Store[T]) writableCell(h table.Handle) *cell {
	return &s.cells.Edit(int(h / pageRows))[h%pageRows]
}

// Created returns when the task of r was created.
func (s *Store[T]) Created(r *queue.Row) uint64 { return s.cell(r.ID).created }

// Record returns the record of r. Between two entries many readers may call it at once, so it remembers nothing then.
func (s *Store[T]) Record(r *queue.Row) *T {
	if s.warm == r {
		return s.told
	}
	t := s.record(s.cell(r.ID))
	if s.open {
		s.warm, s.told = r, t
	}
	return t
}

// Begin and End are called around an entry.
func (s *Store[T]) Begin() { s.open = true }

// End is called after an entry.
func (s *Store[T]) End() { s.open, s.warm, s.told = false, nil, nil }

// AddOwner returns a number for an owner; DropOwner takes it back when no record of the owner is left.
func (s *Store[T]) AddOwner(o Owner) uint32 {
	if last := len(s.left) - 1; last >= 0 {
		n := s.left[last]
		s.left = s.left[:last]
		s.owners[n] = o
		return n
	}
	s.owners = append(s.owners, o)
	return uint32(len(s.owners) - 1)
}

// DropOwner undoes AddOwner.
func (s *Store[T]) DropOwner(n uint32) {
	s.owners[n] = Owner{}
	s.left = append(s.left, n)
}

// Add makes a row for the record t of an owner. t was created after all others.
func (s *Store[T]) Add(owner uint32, t *T) *queue.Row {
	r := s.Rows.Add()
	if no := int(r.ID / pageRows); !s.cells.Has(no) {
		s.cells.Put(no)
	}
	r.Behavior = owner
	created := s.form.Created(t)
	*s.writableCell(r.ID) = cell{s.keep(owner, t), created}
	s.index.Insert(hashKey(s.form.Key(t)), r.ID, s.hashOf)
	s.order.Append(created, r.ID)
	s.heat(r, t)
	return r
}

// heat notes that t is the record of r now.
func (s *Store[T]) heat(r *queue.Row, t *T) {
	if s.open {
		s.warm, s.told = r, t
	}
}

// Replace makes t the record of r.
func (s *Store[T]) Replace(r *queue.Row, t *T) {
	c := s.writableCell(r.ID)
	former := c.record
	c.record = s.keep(r.Behavior, t)
	s.release(former)
	s.heat(r, t)
	s.arena.Compact(s.kept)
}

// Remove takes out r, whose record is t. Another task may get the row.
func (s *Store[T]) Remove(r *queue.Row, t *T) {
	c := s.writableCell(r.ID)
	s.release(c.record)
	s.index.Delete(hashKey(s.form.Key(t)), r.ID)
	s.order.Remove(c.created)
	*c = cell{}
	if s.warm == r {
		s.warm, s.told = nil, nil
	}
	if no := int(r.ID / pageRows); s.Rows.Remove(r) {
		s.cells.Drop(no)
	}
	s.arena.Compact(s.kept)
}

// At returns the row of the record that was created then, or nil.
func (s *Store[T]) At(created uint64) *queue.Row {
	h := s.order.Get(created)
	if h == nil {
		return nil
	}
	return s.Rows.Row(*h)
}

// From yields the rows of the records that were created after that, in order of creation.
func (s *Store[T]) From(created uint64) iter.Seq[*queue.Row] {
	return func(yield func(*queue.Row) bool) {
		for h := range s.order.After(created) {
			if !yield(s.Rows.Row(*h)) {
				return
			}
		}
	}
}

// refLive is set in a Ref that is a place in live.
const refLive table.Ref = 1 << 63

// isLive returns the place in live, if the record is there.
func isLive(r table.Ref) (uint32, bool) { return uint32(r), r&refLive != 0 }

// keep stores the record t of an owner and returns where.
func (s *Store[T]) keep(owner uint32, t *T) table.Ref {
	if s.form.Packs(t) {
		return s.pack(owner, t)
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
	return refLive | table.Ref(i)
}

// release gives up the place of a record.
func (s *Store[T]) release(at table.Ref) {
	if i, ok := isLive(at); ok {
		s.live.Edit(int(i / pageRows))[i%pageRows] = nil
		s.spare = append(s.spare, i)
		return
	}
	for n := range namesOf(s.arena.Record(at)).All {
		s.names.Drop(uint32(n))
	}
	s.arena.Free(at)
}

// owner returns the row whose record is at a place, or nil if the record is dead. A record is alive if the row of its key has it.
func (s *Store[T]) owner(at table.Ref, record []byte) *queue.Row {
	r := s.Get(s.owners[ownerOf(record)].Namespace, recordID(record))
	if r == nil || s.cell(r.ID).record != at {
		return nil
	}
	return r
}

// kept returns the Ref by which a row says that its record is at a place, to be overwritten. It returns nil if the record is dead.
func (s *Store[T]) kept(at table.Ref, record []byte) *table.Ref {
	if r := s.owner(at, record); r != nil {
		return &s.writableCell(r.ID).record
	}
	return nil
}

// Frozen are the records at one index. They may be read from another goroutine while the store goes on.
type Frozen[T any] struct {
	view[T]
	order table.Frozen[table.Handle, orderPage]
	cells table.Pages[cells]
}

// Freeze returns the records as they are and will stay; the store clones a page before it writes it next.
func (s *Store[T]) Freeze() Frozen[T] {
	v := view[T]{s.form, s.arena.Freeze(), s.live.Freeze(), s.names.Freeze(), slices.Clone(s.owners)}
	return Frozen[T]{view: v, order: s.order.Freeze(), cells: s.cells.Freeze()}
}

// Len returns how many records there are.
func (f *Frozen[T]) Len() int { return f.order.Len() }

// All yields the records in order of creation.
func (f *Frozen[T]) All(yield func(*T) bool) {
	for h := range f.order.All {
		if !yield(f.record(&f.cells.At(int(*h / pageRows))[*h%pageRows])) {
			return
		}
	}
}

// Of yields the records of the wanted owners in order of creation. wanted is asked once for each owner. Packed records of other owners are passed
// over without being read. Other records of other owners are yielded, too, and the caller has to pass over them.
func (f *Frozen[T]) Of(wanted func(*Owner) bool, yield func(*T) bool) {
	skip := make([]bool, len(f.owners))
	for i := range f.owners {
		skip[i] = !wanted(&f.owners[i])
	}
	for h := range f.order.All {
		c := &f.cells.At(int(*h / pageRows))[*h%pageRows]
		if _, live := isLive(c.record); !live && skip[ownerOf(f.arena.Record(c.record))] {
			continue
		}
		if !yield(f.record(c)) {
			return
		}
	}
}
