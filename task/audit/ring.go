package audit

import (
	"fmt"
	"sort"

	"github.com/taskrt/taskrt/task/table"
)

// ring holds the newest records of one kind, in the order of their numbers. Records are packed into an arena, which gives up a chunk when the last
// record in it has gone. So the collector walks none of them, and freezing copies two lists of pointers.
type ring struct {
	rows  table.Pages[[pageRows]row]
	arena table.Arena
	first int // the place of the oldest
	n     int
	room  int // how many there may be
}

// row has what can be looked at without unpacking the record.
type row struct {
	number uint64
	at     int64
	ref    table.Ref
	about  uint64 // Record.about, so that few records are unpacked to find one
}

// pageRows is how many rows a page has: with 8 bytes more it fills a size of Go's allocator.
const pageRows = 127

func newRing(room int) ring { return ring{arena: table.NewArena(), room: room} }

// slot returns the place of the i-th oldest record, or the place after the newest.
func (r *ring) slot(i int) (page, at int) {
	place := (r.first + i) % r.room
	return place / pageRows, place % pageRows
}

// row returns the i-th oldest record's row for reading.
func (r *ring) row(i int) *row {
	page, at := r.slot(i)
	return &r.rows.At(page)[at]
}

// record returns the i-th oldest record.
func (r *ring) record(i int) Record {
	x := r.row(i)
	return unpack(x, r.arena.Record(x.ref))
}

// push appends a record. There must be room.
func (r *ring) push(x *Record) {
	page, at := r.slot(r.n)
	if !r.rows.Has(page) {
		r.rows.Put(page)
	}
	r.rows.Edit(page)[at] = row{x.Number, x.At, r.arena.Write(x.pack(), false), x.about()}
	r.n++
}

// pop takes the oldest record out.
func (r *ring) pop() {
	page, at := r.slot(0)
	x := &r.rows.Edit(page)[at]
	r.arena.Free(x.ref)
	*x = row{}
	r.first, r.n = (r.first+1)%r.room, r.n-1
}

// replace lets x take the place of the i-th oldest record. x has its number and time.
func (r *ring) replace(i int, x *Record) {
	page, at := r.slot(i)
	row := &r.rows.Edit(page)[at]
	r.arena.Free(row.ref)
	row.ref = r.arena.Write(x.pack(), false)
}

// after returns the place of the first record with a number above a given one.
func (r *ring) after(number uint64) int {
	return sort.Search(r.n, func(i int) bool { return r.row(i).number > number })
}

// all yields the records in their order.
func (r *ring) all(yield func(*Record) bool) bool {
	for i := range r.n {
		if x := r.record(i); !yield(&x) {
			return false
		}
	}
	return true
}

func (r *ring) freeze() ring {
	return ring{rows: r.rows.Freeze(), arena: r.arena.Freeze(), first: r.first, n: r.n, room: r.room}
}

func (r *ring) check(index uint64) error {
	if r.n > r.room {
		return fmt.Errorf("A8: %d records, and room for %d", r.n, r.room)
	}
	var last Record
	for i := range r.n {
		x := r.record(i)
		if !x.sound() || r.row(i).about != x.about() || x.Number <= last.Number || x.Index < last.Index || x.Index > index || x.At < last.At {
			return fmt.Errorf("A8: record %d: %+v after %+v", i, x, last)
		}
		last = x
	}
	return r.arena.Check(func(yield func(table.Ref) bool) {
		for i := range r.n {
			if !yield(r.row(i).ref) {
				return
			}
		}
	})
}
