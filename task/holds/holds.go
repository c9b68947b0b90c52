// Package holds keeps the holds on blobs (SPEC C8). Whoever saves a backup has a hold. While a hold lives, no blob is dropped.
package holds

import (
	"cmp"
	"slices"

	"github.com/taskrt/taskrt/task/hash"
)

// The bounds of what is kept.
const (
	Max     = 16      // holds at a time
	MaxTTL  = 600_000 // milliseconds
	maxName = 256     // bytes of an ID, and of a holder
)

// Hold is one hold. Values never change.
type Hold struct {
	ID     string `cbor:"1,keyasint"`
	Holder string `cbor:"2,keyasint"` // whom it is for, in words
	TTL    int64  `cbor:"3,keyasint"` // how long it lives without a renewal, in milliseconds of the lease clock
	Until  int64  `cbor:"4,keyasint"` // by the lease clock
}

// Table holds the holds, by ID.
type Table struct {
	all  []Hold
	kind uint64
	sum  uint64
}

// NewTable returns an empty table. kind begins the hashes of what it keeps.
func NewTable(kind uint64) Table { return Table{kind: kind} }

// Sum returns the sum of the hashes of all holds.
func (t *Table) Sum() uint64 { return t.sum }

// Recount returns what Sum should be.
func (t *Table) Recount() (sum uint64) {
	for _, x := range t.all {
		sum += t.hash(x)
	}
	return sum
}

func (t *Table) hash(x Hold) uint64 {
	h := hash.New(t.kind)
	h.Str(x.ID)
	h.Str(x.Holder)
	h.Int(x.TTL)
	h.Int(x.Until)
	return h.Sum()
}

// All returns the holds, by ID. The slice is the caller's.
func (t *Table) All() []Hold { return slices.Clone(t.all) }

// Len returns how many holds there are.
func (t *Table) Len() int { return len(t.all) }

// Next returns when the first hold is over; 0: there is none.
func (t *Table) Next() (until int64) {
	for _, x := range t.all {
		if until == 0 || x.Until < until {
			until = max(x.Until, 1)
		}
	}
	return until
}

func (t *Table) find(id string) (int, bool) {
	return slices.BinarySearchFunc(t.all, id, func(x Hold, id string) int { return cmp.Compare(x.ID, id) })
}

// Has reports whether a hold lives.
func (t *Table) Has(id string) bool {
	_, ok := t.find(id)
	return ok
}

// Put makes a hold, or lets the hold with the same ID live on. ok says whether there was room.
func (t *Table) Put(x Hold) (ok bool) {
	i, there := t.find(x.ID)
	if !there && len(t.all) >= Max {
		return false
	}
	t.all = slices.Clone(t.all) // frozen views keep the former slice
	if there {
		t.sum -= t.hash(t.all[i])
		t.all[i] = x
	} else {
		t.all = slices.Insert(t.all, i, x)
	}
	t.sum += t.hash(x)
	return true
}

// Renew lets a hold live for its whole TTL from an instant of the lease clock on.
func (t *Table) Renew(id string, ttl, now int64) {
	if i, ok := t.find(id); ok {
		x := t.all[i]
		x.TTL, x.Until = ttl, now+ttl
		t.Put(x)
	}
}

// End ends a hold.
func (t *Table) End(id string) {
	if i, ok := t.find(id); ok {
		t.sum -= t.hash(t.all[i])
		t.all = slices.Delete(slices.Clone(t.all), i, i+1)
	}
}

// Expire ends the holds that are over at an instant of the lease clock, and reports whether there were any.
func (t *Table) Expire(now int64) (any bool) {
	for _, x := range t.All() {
		if x.Until <= now {
			t.End(x.ID)
			any = true
		}
	}
	return any
}

// Extend lets every hold live for its whole TTL from an instant of the lease clock on: while nobody led, nobody could renew.
func (t *Table) Extend(now int64) {
	for _, x := range t.All() {
		t.Renew(x.ID, x.TTL, now)
	}
}

// Restore takes over what a snapshot holds, in the place of what is there.
func (t *Table) Restore(all []Hold) {
	*t = NewTable(t.kind)
	for _, x := range all {
		t.Put(x)
	}
}

// Carry carries out what somebody asks of a hold: to make it, to let it live for its TTL from an instant of the lease clock on, or to end it if the
// TTL is 0. field names a field that is wrong. over says that a hold that does not live was to be renewed or ended.
func (t *Table) Carry(x Hold, renew bool, now int64) (field, why string, over bool) {
	if field, why = wrong(x); field != "" {
		return field, why, false
	}
	switch lives := t.Has(x.ID); {
	case !lives && (renew || x.TTL == 0):
		return "", "", true
	case x.TTL == 0:
		t.End(x.ID)
	case lives:
		t.Renew(x.ID, x.TTL, now)
	default:
		if x.Until = now + x.TTL; !t.Put(x) {
			return "id", "16 holds live already", false
		}
	}
	return "", "", false
}

// wrong says what is wrong with a hold that is asked for; "" if nothing is.
func wrong(x Hold) (field, why string) {
	switch {
	case x.ID == "" || len(x.ID) > maxName:
		return "id", "a hold's ID has 1 to 256 bytes"
	case len(x.Holder) > maxName:
		return "holder", "it has at most 256 bytes"
	case x.TTL < 0 || x.TTL > MaxTTL:
		return "ttl", "it is 0 to 600,000 milliseconds"
	}
	return "", ""
}
