package table

import (
	"fmt"
	"iter"
	"slices"
	"sort"
)

// Rows are the arrays that a page of a Sorted can be. They are listed because a type parameter in Go cannot be a number.
type Rows[V any] interface{ [128]V | [284]V }

// slice returns the rows of a page.
func slice[V any, A Rows[V]](rows *A) []V {
	switch rows := any(rows).(type) {
	case *[128]V:
		return rows[:]
	case *[284]V:
		return rows[:]
	}
	return nil
}

// Order says by what the rows of a Sorted are sorted.
type Order[K, V any] struct {
	Key     func(row *V) K // must not change while the row is there, and no two rows may have the same
	Compare func(a, b K) int
}

// Sorted holds rows in order of their keys, in pages that are frozen without being copied. Finding, inserting and removing take O(log n) and the
// length of a page. A full page is split. A page that is nearly empty is merged with a neighbor if both fill at most half a page. Rows that come in
// order fill their pages.
type Sorted[K, V any, A Rows[V]] struct {
	pages  Pages[run[A]] // no page is empty
	firsts []K           // the first key of each page: searched without touching the pages
	n      int
	order  Order[K, V]
}

// run is a page of rows. The first n rows are taken.
type run[A any] struct {
	n    int
	rows A
}

// NewSorted returns an empty table.
func NewSorted[K, V any, A Rows[V]](o Order[K, V]) Sorted[K, V, A] { return Sorted[K, V, A]{order: o} }

// Len returns the number of rows.
func (t *Sorted[K, V, A]) Len() int { return t.n }

// Pages returns how many pages the rows are in.
func (t *Sorted[K, V, A]) Pages() int { return len(t.firsts) }

// taken returns the rows of page i for reading.
func (t *Sorted[K, V, A]) taken(i int) []V {
	p := t.pages.At(i)
	return slice[V](&p.rows)[:p.n]
}

// find returns the first slot of page i whose key is not below k, and whether its key is k.
func (t *Sorted[K, V, A]) find(i int, k K) (slot int, ok bool) {
	rows := t.taken(i)
	low, high := 0, len(rows)
	for low < high {
		middle := int(uint(low+high) / 2)
		switch c := t.order.Compare(t.order.Key(&rows[middle]), k); {
		case c == 0:
			return middle, true
		case c < 0:
			low = middle + 1
		default:
			high = middle
		}
	}
	return low, false
}

// locate returns the page that k is in or belongs into, and its slot there. page is -1 if k belongs before all pages.
func (t *Sorted[K, V, A]) locate(k K) (page, slot int, ok bool) {
	if t.n > 0 && t.order.Compare(t.firsts[0], k) == 0 { // most rows that go are the oldest
		return 0, 0, true
	}
	i := sort.Search(len(t.firsts), func(i int) bool { return t.order.Compare(t.firsts[i], k) > 0 }) - 1
	if i < 0 {
		return i, 0, false
	}
	slot, ok = t.find(i, k)
	return i, slot, ok
}

// First returns the first row for reading, or nil.
func (t *Sorted[K, V, A]) First() *V {
	if t.n == 0 {
		return nil
	}
	return &t.taken(0)[0]
}

// Get returns the row of k for reading, or nil.
func (t *Sorted[K, V, A]) Get(k K) *V {
	if i, slot, ok := t.locate(k); ok {
		return &t.taken(i)[slot]
	}
	return nil
}

// Edit returns the row of k for writing, until the next freeze, or nil. Its key must not change.
func (t *Sorted[K, V, A]) Edit(k K) *V {
	if i, slot, ok := t.locate(k); ok {
		return &slice[V](&t.pages.Edit(i).rows)[slot]
	}
	return nil
}

// Append adds the row of a key that is greater than every other. The key is a parameter, because a row that is handed
// to a function would be put on the heap.
func (t *Sorted[K, V, A]) Append(k K, row V) {
	last := len(t.firsts) - 1
	if last < 0 || len(t.taken(last)) == len(slice[V](&t.pages.At(last).rows)) {
		last++
		t.pages.insert(last)
		t.firsts = append(t.firsts, k)
	}
	p := t.pages.Edit(last)
	slice[V](&p.rows)[p.n] = row
	p.n++
	t.n++
}

// Insert adds the row of a key that is not there.
func (t *Sorted[K, V, A]) Insert(k K, row V) {
	i, slot, _ := t.locate(k)
	if i == len(t.firsts)-1 && (i < 0 || slot == t.pages.At(i).n) {
		t.Append(k, row)
		return
	}
	i = max(i, 0)
	if rows := slice[V](&t.pages.At(i).rows); t.pages.At(i).n == len(rows) {
		t.split(i)
		if slot > len(rows)/2 {
			i, slot = i+1, slot-len(rows)/2
		}
	}
	p := t.pages.Edit(i)
	rows := slice[V](&p.rows)
	copy(rows[slot+1:], rows[slot:p.n])
	rows[slot] = row
	p.n++
	t.firsts[i] = t.order.Key(&rows[0])
	t.n++
}

// split moves the upper half of a full page into a new one behind it.
func (t *Sorted[K, V, A]) split(i int) {
	p := t.pages.Edit(i)
	rows := slice[V](&p.rows)
	upper := t.pages.insert(i + 1)
	p.n = len(rows) / 2
	upper.n = copy(slice[V](&upper.rows), rows[p.n:])
	clear(rows[p.n:])
	t.firsts = slices.Insert(t.firsts, i+1, t.order.Key(&slice[V](&upper.rows)[0]))
}

// Remove takes the row of k out and returns it as it was. ok is false if there is no such row.
func (t *Sorted[K, V, A]) Remove(k K) (row V, ok bool) {
	i, slot, ok := t.locate(k)
	if !ok {
		return row, false
	}
	p := t.pages.Edit(i)
	rows := slice[V](&p.rows)
	row = rows[slot]
	copy(rows[slot:], rows[slot+1:p.n])
	p.n--
	clear(rows[p.n : p.n+1])
	t.n--
	if p.n > 0 {
		t.firsts[i] = t.order.Key(&rows[0])
	}
	t.shrink(i)
	return row, true
}

// shrink drops page i if it is empty. If the page is less than a quarter full, and with a neighbor fills at most half a
// page, shrink merges the two. So the next removals or additions do not split or merge again at once.
func (t *Sorted[K, V, A]) shrink(i int) {
	n, room := t.pages.At(i).n, len(slice[V](&t.pages.At(i).rows))
	switch {
	case n == 0:
	case n >= room/4:
		return
	case i > 0 && t.pages.At(i-1).n+n <= room/2:
		t.merge(i - 1)
	case i+1 < len(t.firsts) && t.pages.At(i+1).n+n <= room/2:
		t.merge(i)
		i++
	default:
		return
	}
	t.pages.remove(i)
	t.firsts = slices.Delete(t.firsts, i, i+1)
}

// merge appends to page i the rows of the page behind it.
func (t *Sorted[K, V, A]) merge(i int) {
	p := t.pages.Edit(i)
	p.n += copy(slice[V](&p.rows)[p.n:], t.taken(i+1))
}

// All yields the rows in order, for reading.
func (t *Sorted[K, V, A]) All(yield func(row *V) bool) { t.walk(0, 0, yield) }

// After yields the rows with keys above k in order, for reading.
func (t *Sorted[K, V, A]) After(k K) iter.Seq[*V] {
	return func(yield func(row *V) bool) {
		i, slot, ok := t.locate(k)
		if ok {
			slot++
		}
		t.walk(max(i, 0), slot, yield)
	}
}

func (t *Sorted[K, V, A]) walk(i, slot int, yield func(row *V) bool) {
	for ; i < len(t.firsts); i, slot = i+1, 0 {
		rows := t.taken(i)
		for ; slot < len(rows); slot++ {
			if !yield(&rows[slot]) {
				return
			}
		}
	}
}

// Freeze returns the rows as they are and will stay.
func (t *Sorted[K, V, A]) Freeze() Frozen[V, A] { return Frozen[V, A]{t.pages.Freeze(), t.n} }

// Frozen are the rows of a Sorted as they were. They may be read from another goroutine while the Sorted goes on.
type Frozen[V any, A Rows[V]] struct {
	pages Pages[run[A]]
	n     int
}

// Len returns the number of rows.
func (f *Frozen[V, A]) Len() int { return f.n }

// All yields the rows in order.
func (f *Frozen[V, A]) All(yield func(row *V) bool) {
	for i := range f.pages.Len() {
		p := f.pages.At(i)
		for j := range p.n {
			if !yield(&slice[V](&p.rows)[j]) {
				return
			}
		}
	}
}

// Finder finds rows by keys that rise and that are there. Most are in the same page as the key before.
type Finder[K, V any, A Rows[V]] struct {
	t *Sorted[K, V, A]
	i int
}

// Finder returns a finder that has found nothing yet.
func (t *Sorted[K, V, A]) Finder() Finder[K, V, A] { return Finder[K, V, A]{t: t} }

// Get returns the row of k for reading.
func (f *Finder[K, V, A]) Get(k K) *V {
	t := f.t
	if t.order.Compare(k, t.firsts[f.i]) < 0 || f.i+1 < len(t.firsts) && t.order.Compare(t.firsts[f.i+1], k) <= 0 {
		f.i, _, _ = t.locate(k)
	}
	slot, _ := t.find(f.i, k)
	return &t.taken(f.i)[slot]
}

// Check verifies the order of the rows and what is derived from them. empty reports whether a row is what a free slot
// must hold.
func (t *Sorted[K, V, A]) Check(empty func(row *V) bool) error {
	if t.pages.Len() != len(t.firsts) {
		return fmt.Errorf("%d pages, %d firsts", t.pages.Len(), len(t.firsts))
	}
	n := 0
	var last *V
	for i := range t.firsts {
		rows := t.taken(i)
		if len(rows) == 0 || t.order.Compare(t.firsts[i], t.order.Key(&rows[0])) != 0 {
			return fmt.Errorf("page %d is empty or misplaced", i)
		}
		for j := range rows {
			if last != nil && t.order.Compare(t.order.Key(last), t.order.Key(&rows[j])) >= 0 {
				return fmt.Errorf("page %d, slot %d: out of order", i, j)
			}
			last = &rows[j]
		}
		for j, free := range slice[V](&t.pages.At(i).rows)[len(rows):] {
			if !empty(&free) {
				return fmt.Errorf("page %d, slot %d: what was removed is kept", i, len(rows)+j)
			}
		}
		n += len(rows)
	}
	if n != t.n {
		return fmt.Errorf("%d rows, counted %d", n, t.n)
	}
	return nil
}
