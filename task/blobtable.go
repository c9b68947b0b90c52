package task

import (
	"bytes"
	"encoding/hex"
	"slices"
	"sort"
)

// digest is a SHA-256 as the machine keeps it. Its text, lower-case hex, is what everybody else sees.
type digest [32]byte

// parseDigest reads the text of a digest; ok is false for anything else.
func parseDigest(s string) (d digest, ok bool) {
	if len(s) != 2*len(d) {
		return d, false
	}
	for i := range s {
		if s[i] >= 'A' && s[i] <= 'F' {
			return d, false
		}
	}
	_, err := hex.Decode(d[:], []byte(s))
	return d, err == nil
}

func (d digest) String() string { return hex.EncodeToString(d[:]) }

func (d digest) compare(e digest) int { return bytes.Compare(d[:], e[:]) }

// blobRow is what the machine holds for one blob: 72 bytes without a pointer.
type blobRow struct {
	digest digest
	size   int64
	noted  Time
	made   uint64
	refs   int64 // derived: how many records need it
	ready  bool
}

// blob returns the record of the row.
func (r *blobRow) blob() *Blob {
	return &Blob{Digest: r.digest.String(), Size: r.size, Ready: r.ready, Noted: r.noted, Made: r.made}
}

// blobTable holds all blobs: found and walked by digest, frozen without copying them. Rows live in pages in order of
// their digest. A page that a Frozen can see is cloned before it is written (page.epoch < table.epoch), so freezing
// copies the table of pages and nothing else. Digests come in no order: a full page is split, and merged with a neighbor
// when both are nearly empty; what is appended in order, as a snapshot is read, fills its pages.
type blobTable struct {
	pages  []*blobPage // none empty
	firsts []digest    // of each page's first row: searched without touching the pages
	epoch  uint64
	n      int
}

const (
	pageBlobs     = 128
	pageBlobMerge = pageBlobs / 4 // a page with fewer rows looks for a neighbor to merge with
)

type blobPage struct {
	epoch uint64
	n     int
	rows  [pageBlobs]blobRow
}

// find returns the first slot whose digest is not below d, and whether it is d.
func (p *blobPage) find(d digest) (slot int, ok bool) {
	slot = sort.Search(p.n, func(i int) bool { return p.rows[i].digest.compare(d) >= 0 })
	return slot, slot < p.n && p.rows[slot].digest == d
}

// page returns page i, writable.
func (t *blobTable) page(i int) *blobPage {
	p := t.pages[i]
	if p.epoch != t.epoch {
		clone := *p
		clone.epoch = t.epoch
		p = &clone
		t.pages[i] = p
	}
	return p
}

// locate returns the page that d is in or belongs into, and its slot there. There is at least one page if ok.
func (t *blobTable) locate(d digest) (page, slot int, ok bool) {
	i := sort.Search(len(t.firsts), func(i int) bool { return t.firsts[i].compare(d) > 0 }) - 1
	if i < 0 {
		return 0, 0, false
	}
	slot, ok = t.pages[i].find(d)
	return i, slot, ok
}

// get returns the row of d to be read, or nil.
func (t *blobTable) get(d digest) *blobRow {
	if i, slot, ok := t.locate(d); ok {
		return &t.pages[i].rows[slot]
	}
	return nil
}

// edit returns the row of d to be written before the next freeze, or nil. Its digest must stay.
func (t *blobTable) edit(d digest) *blobRow {
	if i, slot, ok := t.locate(d); ok {
		return &t.page(i).rows[slot]
	}
	return nil
}

// insert adds a row whose digest is not there.
func (t *blobTable) insert(r blobRow) {
	i, slot, _ := t.locate(r.digest)
	switch {
	case len(t.pages) == 0:
		t.insertPage(0, &blobPage{epoch: t.epoch})
	case t.pages[i].n == pageBlobs && i == len(t.pages)-1 && slot == pageBlobs:
		i, slot = i+1, 0
		t.insertPage(i, &blobPage{epoch: t.epoch})
	case t.pages[i].n == pageBlobs:
		t.split(i)
		if slot > pageBlobs/2 {
			i, slot = i+1, slot-pageBlobs/2
		}
	}
	p := t.page(i)
	copy(p.rows[slot+1:], p.rows[slot:p.n])
	p.rows[slot] = r
	p.n++
	t.firsts[i] = p.rows[0].digest
	t.n++
}

func (t *blobTable) insertPage(i int, p *blobPage) {
	t.pages = slices.Insert(t.pages, i, p)
	t.firsts = slices.Insert(t.firsts, i, p.rows[0].digest)
}

// split moves the upper half of a full page into a new one behind it.
func (t *blobTable) split(i int) {
	p, upper := t.page(i), &blobPage{epoch: t.epoch, n: pageBlobs / 2}
	copy(upper.rows[:], p.rows[pageBlobs/2:])
	clear(p.rows[pageBlobs/2:])
	p.n = pageBlobs / 2
	t.insertPage(i+1, upper)
}

// remove takes the row of d out, which is there.
func (t *blobTable) remove(d digest) {
	i, slot, _ := t.locate(d)
	p := t.page(i)
	copy(p.rows[slot:], p.rows[slot+1:p.n])
	p.n--
	p.rows[p.n] = blobRow{}
	t.n--
	if p.n > 0 {
		t.firsts[i] = p.rows[0].digest
	}
	t.shrink(i)
}

// shrink drops page i if it is empty and merges it with a neighbor if both together fill at most half a page.
func (t *blobTable) shrink(i int) {
	p := t.pages[i]
	switch {
	case p.n == 0:
	case p.n >= pageBlobMerge:
		return
	case i > 0 && t.pages[i-1].n+p.n <= pageBlobs/2:
		t.appendPage(i-1, p)
	case i+1 < len(t.pages) && t.pages[i+1].n+p.n <= pageBlobs/2:
		i++
		t.appendPage(i-1, t.pages[i])
	default:
		return
	}
	t.pages = slices.Delete(t.pages, i, i+1)
	t.firsts = slices.Delete(t.firsts, i, i+1)
}

func (t *blobTable) appendPage(i int, from *blobPage) {
	to := t.page(i)
	copy(to.rows[to.n:], from.rows[:from.n])
	to.n += from.n
}

// from yields the rows behind d in order; nil: all.
func (t *blobTable) from(d *digest) func(yield func(*blobRow) bool) {
	return func(yield func(*blobRow) bool) {
		i, slot := 0, 0
		if d != nil {
			var ok bool
			if i, slot, ok = t.locate(*d); ok {
				slot++
			}
		}
		for ; i < len(t.pages); i, slot = i+1, 0 {
			p := t.pages[i]
			for ; slot < p.n; slot++ {
				if !yield(&p.rows[slot]) {
					return
				}
			}
		}
	}
}

// freeze returns the pages as they are and will stay, but for refs, which no snapshot carries.
func (t *blobTable) freeze() []*blobPage {
	t.epoch++
	return slices.Clone(t.pages)
}
