package queue

import (
	"fmt"

	"github.com/taskrt/taskrt/task/table"
)

// Row is where one task stands. It has no pointers, and stays where it is until the task is removed.
type Row struct {
	At       int64 // the order of its queue: not_before of a later task, since when a due task is due, finished_at of a final task
	ID       table.Handle
	Behavior uint32    // Queues.Number
	Pos      table.Pos // in the queue that it is in by time
	Place    table.Pos // due: in its lane, or waiting behind its key, or in its session
	more     uint32    // its Extra + 1
	Kind     Kind
	InLane   bool // due, and may be assigned
	Priority int8
}

// Kind says in which queue by time a row is.
type Kind uint8

// Nowhere is for rows on their way from one queue to another.
const (
	Nowhere Kind = iota
	Future       // Queues.Future
	Due          // Queues.Due
	Final        // a queue of final tasks
	Runs         // the heap of running tasks
)

// Extra is what few rows have.
type Extra struct {
	Key      *Key      // set while a limit per key counts it
	Side     table.Pos // due: among the promoted of its key; running: in the heap of external leases
	Deadline table.Pos // in the heap of deadlines
	Doomed   table.Pos // running: in the heap of what a purge cancels
	Part     table.Pos // in a queue of its operation
	Bound    table.Pos // a cleanup that is not final: among those of its session
}

// Rows holds all rows.
type Rows struct {
	slab    table.Slab[Row]
	extras  []*Extra
	spare   []uint32 // numbers of extras that are nil
	created func(h table.Handle) uint64
}

// NewRows returns an empty table. created tells of each row when its task was created.
func NewRows(created func(h table.Handle) uint64) Rows { return Rows{created: created} }

// Row returns the row with the handle. It must be in use.
func (t *Rows) Row(h table.Handle) *Row { return t.slab.Row(h) }

// Add returns a row that was not in use.
func (t *Rows) Add() *Row {
	h, r := t.slab.Add()
	r.ID = h
	return r
}

// Remove frees r, and reports whether its page went with it.
func (t *Rows) Remove(r *Row) bool {
	t.dropExtra(r)
	return t.slab.Remove(r.ID)
}

// Look returns the Extra of r to be read.
func (t *Rows) Look(r *Row) Extra {
	if r.more == 0 {
		return Extra{}
	}
	return *t.extras[r.more-1]
}

// Has returns the Extra of r, or nil.
func (t *Rows) Has(r *Row) *Extra {
	if r.more == 0 {
		return nil
	}
	return t.extras[r.more-1]
}

// Extra returns the Extra of r, made on first use.
func (t *Rows) Extra(r *Row) *Extra {
	if r.more != 0 {
		return t.extras[r.more-1]
	}
	e := &Extra{}
	if last := len(t.spare) - 1; last >= 0 {
		r.more = t.spare[last] + 1
		t.spare = t.spare[:last]
		t.extras[r.more-1] = e
		return e
	}
	t.extras = append(t.extras, e)
	r.more = uint32(len(t.extras))
	return e
}

// Tidy gives up an Extra in which nothing is left.
func (t *Rows) Tidy(r *Row) {
	if r.more != 0 && *t.extras[r.more-1] == (Extra{}) {
		t.dropExtra(r)
	}
}

func (t *Rows) dropExtra(r *Row) {
	if r.more != 0 {
		t.extras[r.more-1] = nil
		t.spare = append(t.spare, r.more-1)
		r.more = 0
	}
}

// Check verifies that exactly the rows of tasks are used, and that every Extra has a row. dropped reports whether the user has let the
// page of a number go.
func (t *Rows) Check(met map[table.Handle]bool, dropped func(page int) bool) error {
	used, extras := 0, 0
	for h, r := range t.slab.All {
		used++
		if !met[h] || r.ID != h {
			return fmt.Errorf("row %d: of no task", h)
		}
		if r.more == 0 {
			continue
		}
		if extras++; t.extras[r.more-1] == nil {
			return fmt.Errorf("row %d: its extra is gone", h)
		}
	}
	if used != len(met) || extras+len(t.spare) != len(t.extras) {
		return fmt.Errorf("%d rows for %d tasks; %d extras, %d of them spare, recounted %d", used, len(met), len(t.extras), len(t.spare), extras)
	}
	return t.slab.Check(dropped)
}
