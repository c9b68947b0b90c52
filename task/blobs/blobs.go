// Package blobs holds what the log knows of the files of the blob store: which files there are, how old each is, and how many records need
// it (SPEC M3). It finds and walks blobs by digest, and freezes them without copying them. It also finds references to blobs in JSON.
//
// The package is a container: package task decides what may be noted, referred to and dropped. Like package task it is pure.
package blobs

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/taskrt/taskrt/task/holds"
	"github.com/taskrt/taskrt/task/table"
)

// Digest is a SHA-256 as it is kept. Its text, lower-case hex, is what everybody else sees.
type Digest [32]byte

// Parse reads the text of a digest; ok is false for anything else.
func Parse(s string) (d Digest, ok bool) {
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

// ValidDigest reports whether s is the text of a digest: lower-case hex SHA-256.
func ValidDigest(s string) bool {
	_, ok := Parse(s)
	return ok
}

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

func (d Digest) compare(e Digest) int { return bytes.Compare(d[:], e[:]) }

// Row is what is held for one blob: 72 bytes without a pointer. Instants are those of the caller's clock.
type Row struct {
	Digest Digest
	Size   int64
	Noted  int64  // its last upload or reference
	Made   uint64 // index of the entry that made the row
	Refs   int64  // derived: how many records need it; no part of the Sum
	Ready  bool   // records may refer to it
}

// Table holds blobs. Digests come in no order, except from a snapshot. Reads may run beside each other, not beside writes; Freeze is a write.
type Table struct {
	rows table.Sorted[Digest, Row, page]
	kind uint64
	sum  uint64

	Holds holds.Table // while there are any, nobody removes a blob
}

type page = [128]Row

// New returns an empty table. kind begins the hashes of blobs, held those of holds.
func New(kind, held uint64) Table {
	return Table{kind: kind, Holds: holds.NewTable(held), rows: table.NewSorted[Digest, Row, page](table.Order[Digest, Row]{
		Key: func(r *Row) Digest { return r.Digest }, Compare: Digest.compare,
	})}
}

// hash returns the hash of a row without its Refs.
func (t *Table) hash(r *Row) uint64 { return r.Blob().Hash(t.kind) }

// Len returns how many blobs there are.
func (t *Table) Len() int { return t.rows.Len() }

// Sum returns the sum of the hashes of all rows and holds. A write subtracts the hash of what is in memory, so that a row that was damaged there
// shows.
func (t *Table) Sum() uint64 { return t.sum + t.Holds.Sum() }

// Get returns a blob to be read, or nil.
func (t *Table) Get(d Digest) *Row { return t.rows.Get(d) }

// Find is Get by the text of a digest. It returns nil for a text that is no digest.
func (t *Table) Find(s string) *Row {
	if d, ok := Parse(s); ok {
		return t.rows.Get(d)
	}
	return nil
}

// After yields the blobs behind a digest, to be read. It yields all blobs for a text that is no digest.
func (t *Table) After(s string) func(yield func(*Row) bool) {
	if d, ok := Parse(s); ok {
		return t.rows.After(d)
	}
	return t.rows.All
}

// Add adds a blob that is not there.
func (t *Table) Add(r Row) {
	t.sum += t.hash(&r)
	t.rows.Insert(r.Digest, r)
}

// Note writes that a blob was put at an instant, and, if ready, that records may refer to it from now on. It reports whether it has just become
// ready. A blob that is not there is made, at the index.
func (t *Table) Note(d Digest, size, at int64, ready bool, index uint64) bool {
	r := t.rows.Edit(d)
	if r == nil {
		t.Add(Row{Digest: d, Size: size, Noted: at, Made: index, Ready: ready})
		return ready
	}
	t.sum -= t.hash(r)
	news := ready && !r.Ready
	r.Size, r.Noted, r.Ready = size, at, r.Ready || ready
	t.sum += t.hash(r)
	return news
}

// Refresh makes a blob that is there as young as a blob that was put at the instant.
func (t *Table) Refresh(d Digest, at int64) {
	r := t.rows.Edit(d)
	t.sum -= t.hash(r)
	r.Noted = at
	t.sum += t.hash(r)
}

// Refer counts that so many more, or fewer, records need a blob that is there.
func (t *Table) Refer(d Digest, by int64) { t.rows.Edit(d).Refs += by }

// Remove removes a blob that is there.
func (t *Table) Remove(d Digest) {
	t.sum -= t.hash(t.rows.Get(d))
	t.rows.Remove(d)
}

// Frozen are the blobs as they were. They may be read from another goroutine while the table goes on.
type Frozen = table.Frozen[Row, page]

// Freeze returns the blobs as they are and will stay.
func (t *Table) Freeze() Frozen { return t.rows.Freeze() }

// Check recounts the sum, and how many records need each blob, given that by the text of its digest.
func (t *Table) Check(refs map[string]int64) error {
	sum := uint64(0)
	for r := range t.rows.All {
		sum += t.hash(r)
		if want := refs[r.Digest.String()]; r.Refs != want {
			return fmt.Errorf("M3: blob %s is needed %d times, recounted %d", r.Digest, r.Refs, want)
		}
	}
	if t.Holds.Sum() != t.Holds.Recount() {
		return errors.New("the sum of the holds is wrong")
	}
	if sum != t.sum {
		return fmt.Errorf("the sum over the blobs is %x, recounted %x", t.sum, sum)
	}
	return t.rows.Check(func(free *Row) bool { return *free == Row{} })
}
