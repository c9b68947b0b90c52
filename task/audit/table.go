package audit

import (
	"fmt"

	"github.com/taskrt/taskrt/task/hash"
)

// Bounds say how much is kept. All replicas must have the same bounds, so a build with other bounds needs a feature level.
type Bounds struct {
	Changes, Refusals int   // records
	Age               int64 // milliseconds that a record is kept
}

// Default returns the bounds of a cluster.
func Default() Bounds { return Bounds{Changes: 100_000, Refusals: 10_000, Age: 30 * 24 * 3_600_000} }

// How often refusals are recorded, by the log's clock in milliseconds.
const (
	refusalEvery = 60_000 // of one token, route and namespace
	refusalPause = 1_000  // after this pause maxRefusals may be recorded again
	maxRefusals  = 10
)

// Scalars are what a Table knows besides its records.
type Scalars struct {
	Last uint64 `cbor:"1,keyasint,omitempty"` // number of the newest record that ever was
	Lost int64  `cbor:"2,keyasint,omitempty"` // refusals that no record counts, because there were too many records
}

// Table holds the records of changes and the records of refusals in two rings, so no flood of refusals pushes a change out. Reads may run beside each
// other, not beside writes; Freeze is a write.
type Table struct {
	changes, refusals ring
	Scalars
	age  int64
	kind uint64 // of hashes
	sum  uint64
}

// NewTable returns an empty table. The kind begins the hashes of its records, and the one after it the hash of its Scalars.
func NewTable(kind uint64, b Bounds) Table {
	return Table{changes: newRing(b.Changes), refusals: newRing(b.Refusals), age: b.Age, kind: kind}
}

// Len returns how many records there are.
func (t *Table) Len() int64 { return int64(t.changes.n) + int64(t.refusals.n) }

// Head stands in the head of a snapshot: the Scalars, and how many records follow.
type Head struct {
	Scalars
	Records int64 `cbor:"3,keyasint,omitempty"`
}

// Len returns how many records follow. nil is the head of an empty table.
func (h *Head) Len() int64 {
	if h == nil {
		return 0
	}
	return h.Records
}

// Head returns nil if nothing was ever recorded. Such snapshots have the bytes that they had before there was an audit.
func (t *Table) Head() *Head {
	if t.Scalars == (Scalars{}) {
		return nil
	}
	return &Head{t.Scalars, t.Len()}
}

// Begin takes the Scalars of a snapshot. Its records come next.
func (t *Table) Begin(h *Head) {
	if h != nil {
		t.Scalars = h.Scalars
	}
}

// Sum returns the sum of the hashes of all records, and of the scalars if they are not zero. A write subtracts the hash of what is in
// memory, so that a record that was damaged there shows.
func (t *Table) Sum() uint64 {
	if t.Scalars == (Scalars{}) {
		return t.sum
	}
	h := hash.New(t.kind + 1)
	h.Word(t.Last)
	h.Int(t.Lost)
	return t.sum + h.Sum()
}

// ring returns the ring of a record's kind.
func (t *Table) ring(x *Record) *ring {
	if x.Refused() {
		return &t.refusals
	}
	return &t.changes
}

// Put adds a record as the newest, and gives it its number. If there is no room, the oldest record of its kind goes.
func (t *Table) Put(x *Record) {
	t.Last++
	x.Number = t.Last
	t.push(x)
}

func (t *Table) push(x *Record) {
	r := t.ring(x)
	if r.n == r.room {
		t.pop(r)
	}
	r.push(x)
	t.sum += x.hash(t.kind)
}

func (t *Table) pop(r *ring) {
	x := r.record(0)
	t.sum -= x.hash(t.kind)
	r.pop()
}

// Add adds a record of a snapshot, and reports whether it may stand there.
func (t *Table) Add(x *Record) bool {
	r := t.ring(x)
	if !x.sound() || x.Number > t.Last || r.n == r.room || r.n > 0 && r.row(r.n-1).number >= x.Number {
		return false
	}
	t.push(x)
	return true
}

// Refuse records refusals. If there is a record of the same token, route and target that is not a minute old, they are counted there. Refuse reports
// whether x has become a record of its own.
func (t *Table) Refuse(x *Record) bool {
	r := &t.refusals
	lately, about := 0, x.about()
	for i := r.n - 1; i >= 0 && r.row(i).at > x.At-refusalEvery; i-- {
		if r.row(i).at > x.At-refusalPause {
			lately++
		}
		if r.row(i).about != about {
			continue
		}
		former := r.record(i)
		if former.Token != x.Token || former.Route != x.Route || former.Target != x.Target {
			continue
		}
		next := former
		next.Count += min(x.Count, 1<<62-former.Count)
		t.sum += next.hash(t.kind) - former.hash(t.kind)
		r.replace(i, &next)
		return false
	}
	if lately >= maxRefusals {
		t.Lost += min(x.Count, 1<<62-t.Lost)
		return false
	}
	t.Put(x)
	return true
}

// Expire removes up to so many records that are too old at a time, and reports whether there were any.
func (t *Table) Expire(now int64, most int64) bool {
	some := false
	for range most {
		at := t.Next()
		if at == 0 || at > now {
			break
		}
		some = true
		if t.changes.n > 0 && t.changes.row(0).at+t.age <= now {
			t.pop(&t.changes)
		} else {
			t.pop(&t.refusals)
		}
	}
	return some
}

// Next returns when Expire will next remove something; 0: never.
func (t *Table) Next() int64 {
	next := int64(0)
	for _, r := range [...]*ring{&t.changes, &t.refusals} {
		if r.n > 0 && (next == 0 || r.row(0).at+t.age < next) {
			next = max(r.row(0).at+t.age, 1)
		}
	}
	return next
}

// Frozen are the records as they were. They may be read from another goroutine while the table goes on.
type Frozen struct{ changes, refusals ring }

// Freeze returns the records as they are and will stay.
func (t *Table) Freeze() Frozen { return Frozen{t.changes.freeze(), t.refusals.freeze()} }

// All yields the records of changes, and then the records of refusals.
func (f *Frozen) All(yield func(*Record) bool) bool {
	return f.changes.all(yield) && f.refusals.all(yield)
}

// Check compares what is derived with a recount, and verifies each record.
func (t *Table) Check(index uint64) error {
	sum := uint64(0)
	for _, r := range [...]*ring{&t.changes, &t.refusals} {
		if err := r.check(index); err != nil {
			return err
		}
		for i := range r.n {
			x := r.record(i)
			sum += x.hash(t.kind)
			if t.ring(&x) != r || x.Number > t.Last {
				return fmt.Errorf("A8: record %d is in the wrong ring, or younger than the newest", x.Number)
			}
		}
	}
	if sum != t.sum {
		return fmt.Errorf("A8: the sum of the records is %x, recounted %x", t.sum, sum)
	}
	return nil
}
