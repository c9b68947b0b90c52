package table

import "slices"

// Pages is a list of pages of T that is frozen without being copied: a page that a frozen list can see is cloned before
// it is written. T is an array, or a struct with one. It has such a length that, with 8 bytes more, it fills a size of
// Go's allocator. The zero value is an empty list.
type Pages[T any] struct {
	list  []*page[T] // nil: no page has this number
	epoch uint64     // how often the list was frozen
}

type page[T any] struct {
	epoch uint64 // the list's epoch when the page was made: while it is the same, no frozen list sees the page
	body  T
}

// Len returns how many page numbers there are, including those without a page.
func (p *Pages[T]) Len() int { return len(p.list) }

// At returns a page for reading.
func (p *Pages[T]) At(i int) *T { return &p.list[i].body }

// Edit returns a page for writing, until the next freeze.
func (p *Pages[T]) Edit(i int) *T {
	if at := p.list[i]; at.epoch == p.epoch {
		return &at.body
	}
	return p.clone(i)
}

func (p *Pages[T]) clone(i int) *T {
	at := &page[T]{p.epoch, p.list[i].body}
	p.list[i] = at
	return &at.body
}

// Has reports whether there is a page with this number.
func (p *Pages[T]) Has(i int) bool { return i < len(p.list) && p.list[i] != nil }

// Put makes an empty page with a number that no page has.
func (p *Pages[T]) Put(i int) {
	for len(p.list) <= i {
		p.list = append(p.list, nil)
	}
	p.list[i] = &page[T]{epoch: p.epoch}
}

// Drop lets a page go. Its number is free then.
func (p *Pages[T]) Drop(i int) { p.list[i] = nil }

// insert makes an empty page before the i-th. The numbers of that page and of all behind it rise.
func (p *Pages[T]) insert(i int) *T {
	at := &page[T]{epoch: p.epoch}
	p.list = slices.Insert(p.list, i, at)
	return &at.body
}

// remove takes the i-th page out. The numbers of all pages behind it fall.
func (p *Pages[T]) remove(i int) { p.list = slices.Delete(p.list, i, i+1) }

// Freeze returns the pages as they are and will stay.
func (p *Pages[T]) Freeze() Pages[T] {
	p.epoch++
	return Pages[T]{slices.Clone(p.list), p.epoch}
}
