// Package records holds the records of the TaskStore API of one namespace (SPEC X2). It finds records by ID, lists them by group, picks
// the k-th available record of a group in O(log n), and freezes records for snapshots without copying them.
//
// The package is a container: package task decides who may change what. Like package task it is pure: its answers depend only on the
// records and on the time that the caller gives, and not on the changes that led to the records.
//
// Records live in pages, in the order of their IDs. A page is frozen without a copy (package table). IDs only rise, so a new record is
// always appended.
package records

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/task/table"
)

// Record is one record. Times are milliseconds of the caller's clock, which never goes back.
type Record struct {
	ID        uint64 // rising, never used twice, below 2^63
	Group     string // not empty
	Owner     int64
	Available int64 // it is available from then on
	Data      string
	Blob      *Blob // instead of Data; nil: Data is all. It is not changed
}

// Len returns how many bytes the data has, wherever they are.
func (r *Record) Len() int64 {
	n := int64(len(r.Data))
	if r.Blob != nil {
		n += r.Blob.Size
	}
	return n
}

// Blob says that the data of a record is a blob.
type Blob struct {
	Digest string
	Size   int64 // bytes
}

// Set holds records. The zero value is not ready: use New. Reads may run beside each other, not beside writes; Freeze
// and Available are writes.
type Set struct {
	groups map[string]*group
	rows   table.Sorted[uint64, row, page]
}

type page = [128]row

// row is a record: 56 bytes and the bytes of its data. The name of the group is shared.
type row struct {
	id        uint64
	owner     int64
	available int64
	data      string
	group     *group
	blob      *Blob
}

func (r *row) record() Record {
	return Record{ID: r.id, Group: r.group.name, Owner: r.owner, Available: r.available, Data: r.data, Blob: r.blob}
}

// New returns an empty Set.
func New() *Set {
	return &Set{groups: map[string]*group{}, rows: table.NewSorted[uint64, row, page](table.Order[uint64, row]{
		Key: func(r *row) uint64 { return r.id }, Compare: cmp.Compare[uint64],
	})}
}

// Len returns the number of records.
func (s *Set) Len() int { return s.rows.Len() }

// First returns the record with the least ID.
func (s *Set) First() (Record, bool) {
	if r := s.rows.First(); r != nil {
		return r.record(), true
	}
	return Record{}, false
}

// Get returns a record.
func (s *Set) Get(id uint64) (Record, bool) {
	if r := s.row(id); r != nil {
		return r.record(), true
	}
	return Record{}, false
}

func (s *Set) row(id uint64) *row { return s.rows.Get(id) }

// Add adds a record whose ID is greater than every other's before it. now is the time by which the caller judges.
func (s *Set) Add(r Record, now int64) {
	g := s.groups[r.Group]
	if g == nil { // groups come with their first record
		g = &group{name: r.Group}
		s.groups[r.Group] = g
	}
	g.add(r.ID, r.Available, now)
	s.rows.Append(r.ID, row{id: r.ID, owner: r.Owner, available: r.Available, data: r.Data, group: g, blob: r.Blob})
}

// Remove removes a record and returns it as it was in memory.
func (s *Set) Remove(id uint64) (Record, bool) {
	removed, ok := s.rows.Remove(id)
	if !ok {
		return Record{}, false
	}
	g := removed.group
	g.remove(id)
	if g.n == 0 { // and go with their last
		delete(s.groups, g.name)
	} else if g.stale() {
		g.future.Keep(func(_ int64, id uint64) bool { return s.row(id) != nil })
	}
	return removed.record(), true
}

// Available returns how many records of a group are available at now, which is not before any time given to it or to
// Add. It is a write: it notes the records that have become available since.
func (s *Set) Available(name string, now int64) int {
	g := s.groups[name]
	if g == nil {
		return 0
	}
	for n := g.future.Head(); n != nil && n.Key <= now; n = g.future.Head() {
		if id := g.future.Pop().Tie; s.row(id) != nil {
			g.note(id)
		}
	}
	return g.available.total
}

// Pick returns the k-th (from 0) of the records that the last Available of the group counted, in order of their IDs.
func (s *Set) Pick(name string, k int) Record { return s.row(s.groups[name].pick(k)).record() }

// Groups returns the names of all groups, sorted.
func (s *Set) Groups() []string { return slices.Sorted(maps.Keys(s.groups)) }

// Group yields the records of a group by ID: all of them, or only those that are available at the time at. The Set need not have
// been told of this time.
func (s *Set) Group(name string, all bool, at int64) iter.Seq[Record] {
	return func(yield func(Record) bool) {
		g := s.groups[name]
		if g == nil {
			return
		}
		next := g.future.Head()
		noted := next == nil || next.Key > at // the available records have been noted: pass over the rest
		c := s.rows.Finder()
		for i := range g.chunks {
			if !all && noted && g.chunks[i].open == 0 {
				continue
			}
			for _, e := range g.chunks[i].entries {
				if !all && noted && !e.open() {
					continue
				}
				if r := c.Get(e.id()); (all || r.available <= at) && !yield(r.record()) {
					return
				}
			}
		}
	}
}

// Frozen is a Set as it was. It may be read from another goroutine while the Set goes on.
type Frozen struct{ rows table.Frozen[row, page] }

// Freeze returns the records as they are and will stay.
func (s *Set) Freeze() Frozen { return Frozen{s.rows.Freeze()} }

// Len returns the number of records.
func (f Frozen) Len() int { return f.rows.Len() }

// All yields the records by ID.
func (f Frozen) All(yield func(Record) bool) {
	for r := range f.rows.All {
		if !yield(r.record()) {
			return
		}
	}
}

// Check compares everything that is derived with a recount, in O(n).
func (s *Set) Check() error {
	if err := s.rows.Check(func(free *row) bool { return *free == row{} }); err != nil {
		return fmt.Errorf("records: %w", err)
	}
	members := map[*group]int{}
	for r := range s.rows.All {
		if s.groups[r.group.name] != r.group {
			return fmt.Errorf("records: record %d: group", r.id)
		}
		members[r.group]++
	}
	if len(members) != len(s.groups) {
		return fmt.Errorf("records: %d groups, counted %d", len(members), len(s.groups))
	}
	for g, n := range members { // order-free: any violation will do
		if err := g.check(n, s.row); err != nil {
			return err
		}
	}
	return nil
}
