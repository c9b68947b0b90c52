// Package records holds the records of the TaskStore API of one namespace (SPEC X2): found by ID, listed by group, the
// k-th available one of a group picked in O(log n), frozen for snapshots without copying them. It is a container: who
// may change what is decided by package task. Like that package it is pure: what it answers depends only on the records
// and on the time it is given, never on how they came to be there.
//
// Records live in pages in order of their ID. IDs rise, so that adding only appends. A page that a Frozen can see is
// cloned before it is written (page.epoch < Set.epoch), so freezing copies the table of pages and nothing else.
package records

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"sort"
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
	pages  []*page  // none empty
	firsts []uint64 // ID of each page's first row: searched without touching the pages
	epoch  uint64
	n      int
}

const (
	pageRows  = 128
	pageMerge = pageRows / 4 // a page with fewer rows looks for a neighbor to merge with
)

type page struct {
	epoch uint64
	n     int
	rows  [pageRows]row
}

// row is a record: 56 bytes and those of its data. The name of the group is shared.
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
func New() *Set { return &Set{groups: map[string]*group{}} }

// Len returns the number of records.
func (s *Set) Len() int { return s.n }

// First returns the record with the least ID.
func (s *Set) First() (Record, bool) {
	if len(s.pages) == 0 {
		return Record{}, false
	}
	return s.pages[0].rows[0].record(), true
}

// Get returns a record.
func (s *Set) Get(id uint64) (Record, bool) {
	if r := s.row(id); r != nil {
		return r.record(), true
	}
	return Record{}, false
}

func (s *Set) row(id uint64) *row {
	if i, slot, ok := s.locate(id); ok {
		return &s.pages[i].rows[slot]
	}
	return nil
}

// locate returns the page and the slot of a record.
func (s *Set) locate(id uint64) (pageIndex, slot int, ok bool) {
	i := sort.Search(len(s.firsts), func(i int) bool { return s.firsts[i] > id }) - 1
	if i < 0 {
		return 0, 0, false
	}
	slot, ok = s.pages[i].find(id)
	return i, slot, ok
}

func (p *page) find(id uint64) (slot int, ok bool) {
	slot = sort.Search(p.n, func(i int) bool { return p.rows[i].id >= id })
	return slot, slot < p.n && p.rows[slot].id == id
}

// page returns page i, writable.
func (s *Set) page(i int) *page {
	p := s.pages[i]
	if p.epoch != s.epoch {
		clone := *p
		clone.epoch = s.epoch
		p = &clone
		s.pages[i] = p
	}
	return p
}

// Add adds a record whose ID is greater than every other's before it. now is the time by which the caller judges.
func (s *Set) Add(r Record, now int64) {
	g := s.groups[r.Group]
	if g == nil { // groups come with their first record
		g = &group{name: r.Group}
		s.groups[r.Group] = g
	}
	g.add(r.ID, r.Available, now)
	last := len(s.pages) - 1
	if last < 0 || s.pages[last].n == pageRows {
		s.pages = append(s.pages, &page{epoch: s.epoch})
		s.firsts = append(s.firsts, r.ID)
		last++
	}
	p := s.page(last)
	p.rows[p.n] = row{id: r.ID, owner: r.Owner, available: r.Available, data: r.Data, group: g, blob: r.Blob}
	p.n++
	s.n++
}

// Remove removes a record and returns it as it was in memory.
func (s *Set) Remove(id uint64) (Record, bool) {
	i, slot, ok := s.locate(id)
	if !ok {
		return Record{}, false
	}
	p := s.page(i)
	removed := p.rows[slot]
	copy(p.rows[slot:], p.rows[slot+1:p.n])
	p.n--
	p.rows[p.n] = row{}
	s.n--
	if p.n > 0 {
		s.firsts[i] = p.rows[0].id
	}
	s.shrink(i)
	g := removed.group
	g.remove(id)
	if g.n == 0 { // and go with their last
		delete(s.groups, g.name)
	} else if g.stale() {
		g.future.Keep(func(_ int64, id uint64) bool { return s.row(id) != nil })
	}
	return removed.record(), true
}

// shrink drops page i if it is empty and merges it with a neighbor if both together fill at most half a page, so that
// the next removals or additions do not split or merge again at once.
func (s *Set) shrink(i int) {
	p := s.pages[i]
	switch {
	case p.n == 0:
	case p.n >= pageMerge:
		return
	case i > 0 && s.pages[i-1].n+p.n <= pageRows/2:
		s.appendPage(i-1, p)
	case i+1 < len(s.pages) && s.pages[i+1].n+p.n <= pageRows/2:
		i++
		s.appendPage(i-1, s.pages[i])
	default:
		return
	}
	s.pages = slices.Delete(s.pages, i, i+1)
	s.firsts = slices.Delete(s.firsts, i, i+1)
}

func (s *Set) appendPage(i int, from *page) {
	to := s.page(i)
	copy(to.rows[to.n:], from.rows[:from.n])
	to.n += from.n
}

// Available returns how many records of a group are available at now, which is not before any time given to it or to
// Add. It is a write: what has become available since is noted.
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

// Pick returns the k-th, from 0, of the records counted by the last Available of the group, by ID.
func (s *Set) Pick(name string, k int) Record { return s.row(s.groups[name].pick(k)).record() }

// Groups returns the names of all groups, sorted.
func (s *Set) Groups() []string { return slices.Sorted(maps.Keys(s.groups)) }

// Group yields the records of a group by ID: all of them, or only those that are available at a time, which need not be
// one that the Set was told of.
func (s *Set) Group(name string, all bool, at int64) iter.Seq[Record] {
	return func(yield func(Record) bool) {
		g := s.groups[name]
		if g == nil {
			return
		}
		next := g.future.Head()
		noted := next == nil || next.Key > at // what is available has been noted: pass over the rest
		c := cursor{set: s}
		for i := range g.chunks {
			if !all && noted && g.chunks[i].open == 0 {
				continue
			}
			for _, e := range g.chunks[i].entries {
				if !all && noted && !e.open() {
					continue
				}
				if r := c.row(e.id()); (all || r.available <= at) && !yield(r.record()) {
					return
				}
			}
		}
	}
}

// cursor finds rows by rising IDs that are there: mostly in the page of the one before.
type cursor struct {
	set  *Set
	page int
}

func (c *cursor) row(id uint64) *row {
	s := c.set
	if id < s.firsts[c.page] || c.page+1 < len(s.firsts) && s.firsts[c.page+1] <= id {
		c.page, _, _ = s.locate(id)
	}
	slot, _ := s.pages[c.page].find(id)
	return &s.pages[c.page].rows[slot]
}

// Frozen is a Set as it was. It may be read from another goroutine while the Set goes on.
type Frozen struct {
	pages []*page
	n     int
}

// Freeze returns the records as they are and will stay; the Set clones a page before it writes it next.
func (s *Set) Freeze() Frozen {
	s.epoch++
	return Frozen{slices.Clone(s.pages), s.n}
}

// Len returns the number of records.
func (f Frozen) Len() int { return f.n }

// All yields the records by ID.
func (f Frozen) All(yield func(Record) bool) {
	for _, p := range f.pages {
		for i := range p.rows[:p.n] {
			if !yield(p.rows[i].record()) {
				return
			}
		}
	}
}

// Check verifies what is derived against a recount, in O(n).
func (s *Set) Check() error {
	if len(s.pages) != len(s.firsts) {
		return fmt.Errorf("records: %d pages, %d firsts", len(s.pages), len(s.firsts))
	}
	n, last, members := 0, uint64(0), map[*group]int{}
	for i, p := range s.pages {
		if p.n == 0 || s.firsts[i] != p.rows[0].id {
			return fmt.Errorf("records: page %d is empty or misplaced", i)
		}
		n += p.n
		for j := range p.rows {
			r := &p.rows[j]
			switch {
			case j >= p.n && *r != (row{}):
				return fmt.Errorf("records: page %d keeps a removed record", i)
			case j < p.n && (r.id <= last || s.groups[r.group.name] != r.group):
				return fmt.Errorf("records: record %d: order or group", r.id)
			case j < p.n:
				last = r.id
				members[r.group]++
			}
		}
	}
	if n != s.n || len(members) != len(s.groups) {
		return fmt.Errorf("records: %d records in %d groups, counted %d in %d", n, len(members), s.n, len(s.groups))
	}
	for g, n := range members { // order-free: any violation will do
		if err := g.check(n, s.row); err != nil {
			return err
		}
	}
	return nil
}
