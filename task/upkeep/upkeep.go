// Package upkeep keeps the records of maintenance runs (SPEC M4).
package upkeep

import (
	"errors"
	"fmt"
	"slices"

	"github.com/taskrt/taskrt/task/hash"
)

// Run is the record of a run (SPEC M4). Times are Unix milliseconds of the log's clock. Values are immutable.
type Run struct {
	Run        int64    `cbor:"1,keyasint"` // the attempt's number
	Token      uint64   `cbor:"2,keyasint"`
	Worker     string   `cbor:"3,keyasint"`
	DryRun     bool     `cbor:"4,keyasint,omitempty"`
	StartedAt  int64    `cbor:"5,keyasint"`
	FinishedAt int64    `cbor:"6,keyasint,omitempty"` // 0: it runs, or ended without an outcome: see Ended
	Success    bool     `cbor:"7,keyasint,omitempty"`
	Message    string   `cbor:"8,keyasint,omitempty"`
	Before     int64    `cbor:"9,keyasint,omitempty"`  // nothing newer is deleted (SPEC M3)
	Objects    []Object `cbor:"10,keyasint,omitempty"` // by kind and namespace
	Filter     Filter   `cbor:"11,keyasint,omitempty"`
	Ended      string   `cbor:"12,keyasint,omitempty"` // it ended without finishing: lost, given_back, snoozed, superseded, removed
	By         int64    `cbor:"13,keyasint,omitempty"` // Ended: the run that took its place; 0: none has yet
}

// Object is what a run did with the objects of one kind in one namespace, or in the cluster for "".
type Object struct {
	Kind      string `cbor:"1,keyasint"`
	Namespace string `cbor:"2,keyasint,omitempty"`
	Scanned   int64  `cbor:"3,keyasint,omitempty"`
	Retained  int64  `cbor:"4,keyasint,omitempty"`
	Newer     int64  `cbor:"5,keyasint,omitempty"`
	Deleted   int64  `cbor:"6,keyasint,omitempty"`
}

// The kinds of objects that commands of a run delete.
const (
	OfTask      = "task"
	OfOperation = "operation"
	OfBlob      = "blob"
	OfVersion   = "version"
	OfBehavior  = "behavior"
	OfPurged    = "purged" // records of namespaces in PURGING, of all kinds
)

// Filter describes the Bloom filter of a run. It gives the size of the next filter (SPEC M3).
type Filter struct {
	Items  int64 `cbor:"1,keyasint,omitempty"` // objects marked
	Bits   int64 `cbor:"2,keyasint,omitempty"`
	Hashes int64 `cbor:"3,keyasint,omitempty"`
	PPB    int64 `cbor:"4,keyasint,omitempty"` // estimated false positives per billion when marking had ended
}

// Bounds of what is kept.
const (
	Max        = 50      // runs that are remembered (SPEC M4)
	MaxObjects = 1_000   // of one run
	MaxMessage = 4 << 10 // bytes
	maxName    = 128     // bytes of a kind or namespace of an Object
)

// Why a run ended without finishing, besides the outcomes of its attempt.
const (
	Superseded = "superseded"
	Removed    = "removed" // the task was removed
)

// Over reports whether the run has ended, in whatever way.
func (r *Run) Over() bool { return r.FinishedAt != 0 || r.Ended != "" }

// Wrong says what is wrong with a record: the field, and why. It returns "" for both if nothing is.
func (r *Run) Wrong() (field, why string) {
	switch {
	case r.Success && r.FinishedAt == 0:
		return "run.success", "a run that has not finished is no success"
	case len(r.Message) > MaxMessage:
		return "run.message", "the message of a run is at most 4096 bytes"
	case len(r.Objects) > MaxObjects:
		return "run.objects", "a run counts at most 1000 kinds and namespaces"
	case min(r.Filter.Items, r.Filter.Bits, r.Filter.Hashes, r.Filter.PPB) < 0:
		return "run.filter", "a number is negative"
	}
	for i := range r.Objects {
		o := &r.Objects[i]
		switch {
		case len(o.Kind) > maxName || len(o.Namespace) > maxName:
			return "run.objects", "a kind or namespace is at most 128 bytes"
		case min(o.Scanned, o.Retained, o.Newer, o.Deleted) < 0:
			return "run.objects", "a number is negative"
		}
	}
	return "", ""
}

// Table holds the records, the oldest first. What it has handed out never changes.
type Table struct {
	rows []*Run
	kind uint64
	sum  uint64
}

// NewTable returns an empty table. kind begins the hashes of what it keeps.
func NewTable(kind uint64) Table { return Table{kind: kind} }

// Sum returns the sum of the hashes of all records.
func (t *Table) Sum() uint64 { return t.sum }

// Rows returns the records, the oldest first. They are the table's: Check reads them, and its tests change them.
func (t *Table) Rows() []*Run { return t.rows }

// All returns the records, the oldest first. The slice is the caller's.
func (t *Table) All() []*Run { return slices.Clone(t.rows) }

// Len returns how many runs are remembered.
func (t *Table) Len() int { return len(t.rows) }

// Of returns the place of the record of the token's run, or the place behind all records.
func (t *Table) Of(token uint64) int {
	if i := slices.IndexFunc(t.rows, func(r *Run) bool { return r.Token == token }); i >= 0 {
		return i
	}
	return len(t.rows)
}

// Put makes r the record at a place, which may be the place behind all records.
func (t *Table) Put(i int, r *Run) {
	if i == len(t.rows) {
		t.rows = append(t.rows, nil)
	} else {
		t.sum -= t.Hash(t.rows[i])
	}
	t.rows[i] = r
	t.sum += t.Hash(r)
}

// Begin makes the record of a run that begins. The run takes the place of former runs that ended without an outcome. The oldest records go.
func (t *Table) Begin(r *Run) {
	for i, former := range t.rows {
		if former.Ended != "" && former.By == 0 {
			next := *former
			next.By = r.Run
			t.Put(i, &next)
		}
	}
	for len(t.rows) >= Max {
		t.sum -= t.Hash(t.rows[0])
		t.rows = slices.Delete(t.rows, 0, 1)
	}
	t.Put(len(t.rows), r)
}

// Supersede notes that the last run, which was lost, must not be taken over any more.
func (t *Table) Supersede() {
	if i := len(t.rows) - 1; i >= 0 && t.rows[i].Ended != "" {
		next := *t.rows[i]
		next.Ended = Superseded
		t.Put(i, &next)
	}
}

// Tally counts what a run deletes in the record of the run, at once. So the record shows this, whatever becomes of the run. At its end the run tells
// everything that it counted, also on the members' disks.
func (t *Table) Tally(token uint64, kind, namespace string, deleted int64) {
	i := t.Of(token)
	if deleted == 0 || i == len(t.rows) {
		return
	}
	next := *t.rows[i]
	next.Objects = slices.Clone(next.Objects)
	at := slices.IndexFunc(next.Objects, func(o Object) bool { return o.Kind == kind && o.Namespace == namespace })
	if at < 0 && len(next.Objects) >= MaxObjects {
		return
	}
	if at < 0 {
		at = len(next.Objects)
		next.Objects = append(next.Objects, Object{Kind: kind, Namespace: namespace})
	}
	next.Objects[at].Deleted += deleted
	t.Put(i, &next)
}

// Check verifies the records. leased is the token of the run that goes on; 0: no run goes on.
func (t *Table) Check(leased uint64) error {
	last, sum := uint64(0), uint64(0)
	if len(t.rows) > Max || leased != 0 && t.Of(leased) != len(t.rows)-1 {
		return fmt.Errorf("%d runs, and the one that goes on has no record, or not the last", len(t.rows))
	}
	for _, r := range t.rows {
		sum += t.Hash(r)
		field, _ := r.Wrong()
		switch {
		case r.Token <= last:
			return fmt.Errorf("runs out of order at %d", r.Run)
		case !r.Over() && r.Token != leased:
			return fmt.Errorf("run %d looks as if it went on", r.Run)
		case r.FinishedAt != 0 && r.Ended != "", r.Ended == "" && r.By != 0:
			return fmt.Errorf("run %d ended in two ways", r.Run)
		case field != "":
			return fmt.Errorf("run %d: %+v", r.Run, r)
		}
		last = r.Token
	}
	if sum != t.sum {
		return errors.New("the sum of the runs is wrong")
	}
	return nil
}

// Hash hashes every field of a Run.
func (t *Table) Hash(x *Run) uint64 {
	h := hash.New(t.kind)
	h.Int(x.Run)
	h.Word(x.Token)
	h.Str(x.Worker)
	h.Bool(x.DryRun)
	h.Int(x.StartedAt)
	h.Int(x.FinishedAt)
	h.Bool(x.Success)
	h.Str(x.Message)
	h.Int(x.Before)
	h.Word(uint64(len(x.Objects)))
	for i := range x.Objects {
		y := &x.Objects[i]
		h.Str(y.Kind)
		h.Str(y.Namespace)
		h.Int(y.Scanned)
		h.Int(y.Retained)
		h.Int(y.Newer)
		h.Int(y.Deleted)
	}
	h.Int(x.Filter.Items)
	h.Int(x.Filter.Bits)
	h.Int(x.Filter.Hashes)
	h.Int(x.Filter.PPB)
	h.Str(x.Ended)
	h.Int(x.By)
	return h.Sum()
}
