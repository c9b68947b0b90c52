package table

import (
	"fmt"
	"math/bits"
)

// PageRows is how many rows a page of a Slab has. With rows of 32 bytes the page then fills a size of Go's allocator
// (2304 bytes); with 64 rows a tenth would be wasted. A user who keeps more about each row, in Pages with as many rows,
// lets a page go when Remove says so.
const PageRows = 71

// Slab holds rows that do not move: a pointer to a row is good until the row is removed. The zero value is empty.
type Slab[T any] struct {
	pages []*slabPage[T] // by number; nil: none. Page 0 is not used, so that no handle is 0
	gone  []uint32       // numbers of pages that are nil, except 0
	open  []uint32       // numbers of pages that have room, in no order
}

type slabPage[T any] struct {
	rows [PageRows]T
	free [2]uint64 // a bit for each row that nobody has
	open int       // place in Slab.open + 1; 0: not in it
}

// Row returns the row with this handle.
func (s *Slab[T]) Row(h Handle) *T { return &s.pages[h/PageRows].rows[h%PageRows] }

// Add returns a row that nobody has.
func (s *Slab[T]) Add() (Handle, *T) {
	if len(s.open) == 0 {
		s.addPage()
	}
	no := s.open[len(s.open)-1]
	p := s.pages[no]
	slot := p.take()
	if p.free == [2]uint64{} {
		s.close(p)
	}
	return Handle(no*PageRows) + Handle(slot), &p.rows[slot]
}

// take takes the first free slot. There must be one.
func (p *slabPage[T]) take() int {
	word := 0
	if p.free[0] == 0 {
		word = 1
	}
	bit := bits.TrailingZeros64(p.free[word])
	p.free[word] &^= 1 << bit
	return 64*word + bit
}

// allFree returns the free slots of an empty page.
func allFree() [2]uint64 { return [2]uint64{1<<64 - 1, 1<<(PageRows-64) - 1} }

func (s *Slab[T]) addPage() {
	if len(s.pages) == 0 {
		s.pages = append(s.pages, nil)
	}
	no := uint32(len(s.pages))
	if last := len(s.gone) - 1; last >= 0 {
		no = s.gone[last]
		s.gone = s.gone[:last]
	} else {
		s.pages = append(s.pages, nil)
	}
	s.open = append(s.open, no)
	s.pages[no] = &slabPage[T]{free: allFree(), open: len(s.open)}
}

// close takes a page out of the pages that have room.
func (s *Slab[T]) close(p *slabPage[T]) {
	last := s.open[len(s.open)-1]
	s.open[p.open-1] = last
	s.pages[last].open = p.open
	s.open = s.open[:len(s.open)-1]
	p.open = 0
}

// Remove gives a row up, and reports whether its page went with it. An empty page stays if no other page has room.
func (s *Slab[T]) Remove(h Handle) bool {
	no, slot := uint32(h/PageRows), h%PageRows
	p := s.pages[no]
	var none T
	p.rows[slot] = none
	p.free[slot/64] |= 1 << (slot % 64)
	if p.open == 0 {
		s.open = append(s.open, no)
		p.open = len(s.open)
	}
	if p.free != allFree() || len(s.open) == 1 {
		return false
	}
	s.close(p)
	s.pages[no] = nil
	s.gone = append(s.gone, no)
	return true
}

// All yields the rows that somebody has, and their handles.
func (s *Slab[T]) All(yield func(Handle, *T) bool) {
	for no, p := range s.pages {
		for slot := range PageRows {
			if p != nil && p.free[slot/64]>>(slot%64)&1 == 0 && !yield(Handle(no*PageRows+slot), &p.rows[slot]) {
				return
			}
		}
	}
}

// Check verifies the free lists. dropped reports whether the user has let the page with this number go.
func (s *Slab[T]) Check(dropped func(page int) bool) error {
	open, gone, empty := 0, 0, 0
	for no, p := range s.pages {
		if p == nil {
			if gone++; !dropped(no) {
				return fmt.Errorf("slab: page %d is gone, and what belongs to it is not", no)
			}
			continue
		}
		if (p.open != 0) != (p.free != [2]uint64{}) {
			return fmt.Errorf("slab: page %d has room, and nobody knows, or the other way round", no)
		}
		if p.open != 0 {
			if open++; p.open > len(s.open) || s.open[p.open-1] != uint32(no) {
				return fmt.Errorf("slab: page %d: place among those with room", no)
			}
		}
		if p.free == allFree() {
			empty++
		}
	}
	if empty > 1 || open != len(s.open) || gone != min(len(s.pages), len(s.gone)+1) {
		return fmt.Errorf("slab: %d empty pages; %d with room, recounted %d; %d gone, recounted %d", empty, len(s.open), open, len(s.gone), gone-1)
	}
	return nil
}
