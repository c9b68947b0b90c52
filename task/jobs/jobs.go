// Package jobs keeps the bulk jobs of a cluster (SPEC Q3): what each job does, with which tasks, and how far it is.
package jobs

import (
	"cmp"
	"slices"

	"github.com/taskrt/taskrt/task/hash"
	"github.com/taskrt/taskrt/task/match"
)

// Action is what a job does with a task.
type Action uint64

// The actions.
const (
	Cancel Action = iota + 1
	Retry
	Resubmit
	Remove
)

// State says how far a job is.
type State uint64

// The states. A job that selects has changed nothing.
const (
	Selecting State = iota + 1
	Acting
	Done
	Cancelled // somebody ended it
	Failed    // Code and Message say why
)

// Bounds of what is kept, and of one job.
const (
	MaxActive  = 4          // jobs that have not ended
	MaxEnded   = 50         // jobs that are remembered
	MaxTasks   = 10_000_000 // of one job
	PerBlob    = 1 << 20    // numbers of tasks in one blob of a selection
	MaxStep    = 256        // tasks of one Step
	MaxRate    = 100_000    // tasks per second
	maxText    = 256        // bytes of a version, and of a code
	maxMessage = 1_024      // bytes
)

// Job is a bulk job. Times are Unix milliseconds of the log's clock; 0 is none. Values never change.
type Job struct {
	Number    uint64 `cbor:"1,keyasint"` // the rev of its start
	Rev       uint64 `cbor:"2,keyasint"`
	Namespace string `cbor:"3,keyasint"`
	Action    Action `cbor:"4,keyasint"`
	State     State  `cbor:"5,keyasint"`
	Spec      []byte `cbor:"6,keyasint"`           // match.Spec: the tasks that are meant
	Rate      int64  `cbor:"7,keyasint"`           // tasks per second, at most
	By        uint64 `cbor:"8,keyasint,omitempty"` // number of its creator's token, under whose rights it acts; 0: the cluster was open
	Version   string `cbor:"9,keyasint,omitempty"` // Retry: as of task.RetryTask
	Keep      bool   `cbor:"10,keyasint,omitempty"`
	Delay     int64  `cbor:"11,keyasint,omitempty"` // Retry, Resubmit: milliseconds

	Index     uint64 `cbor:"12,keyasint"` // of the entry that started it
	CreatedAt int64  `cbor:"13,keyasint"`
	EndedAt   int64  `cbor:"14,keyasint,omitempty"`

	Selected   int64    `cbor:"15,keyasint,omitempty"` // tasks
	SelectedAt uint64   `cbor:"16,keyasint,omitempty"` // index of the state that they were selected of
	Blobs      []string `cbor:"17,keyasint,omitempty"` // their numbers, PerBlob in each; none once the job has ended

	Position int64  `cbor:"18,keyasint,omitempty"` // so many of the tasks had their turn
	Counts   Counts `cbor:"19,keyasint"`

	Code    string `cbor:"20,keyasint,omitempty"`
	Message string `cbor:"21,keyasint,omitempty"`

	filter *match.Filter // derived of Spec
}

// Counts says what became of the tasks that had their turn. They add up to Job.Position.
type Counts struct {
	Done      int64 `cbor:"1,keyasint,omitempty"`
	Changed   int64 `cbor:"2,keyasint,omitempty"` // they no longer fit the filter
	Gone      int64 `cbor:"3,keyasint,omitempty"`
	Refused   int64 `cbor:"4,keyasint,omitempty"` // the command was refused, for instance because the task belongs to an operation
	Forbidden int64 `cbor:"5,keyasint,omitempty"` // the creator lacks a role for them
}

// Outcome is what became of one task.
type Outcome int

// The outcomes, as Counts has them. Later: the task's turn has not come yet.
const (
	Did Outcome = iota
	WasChanged
	WasGone
	WasRefused
	WasForbidden
	Later
)

// Note counts an outcome.
func (c *Counts) Note(o Outcome) {
	switch o {
	case Did:
		c.Done++
	case WasChanged:
		c.Changed++
	case WasGone:
		c.Gone++
	case WasRefused:
		c.Refused++
	case WasForbidden:
		c.Forbidden++
	}
}

func (c *Counts) total() int64 { return c.Done + c.Changed + c.Gone + c.Refused + c.Forbidden }

// Ended reports whether the job does nothing more.
func (x *Job) Ended() bool { return x.State >= Done }

// Filter returns the filter that the job's tasks fit. It must not be changed.
func (x *Job) Filter() *match.Filter { return x.filter }

// End returns the job after it ended at a time.
func (x *Job) End(s State, code, message string, now int64) *Job {
	next := *x
	next.State, next.Code, next.Message, next.EndedAt, next.Blobs = s, code, message, max(now, 1), nil
	return &next
}

// Table holds the jobs, by number. What it has handed out never changes.
type Table struct {
	rows []*Job
	kind uint64
	sum  uint64
}

// NewTable returns an empty table. kind begins the hashes of what it keeps.
func NewTable(kind uint64) Table { return Table{kind: kind} }

// Sum returns the sum of the hashes of all jobs.
func (t *Table) Sum() uint64 { return t.sum }

// All returns the jobs, by number. The slice is the caller's.
func (t *Table) All() []*Job { return slices.Clone(t.rows) }

// Rows returns the jobs, by number. They are the table's.
func (t *Table) Rows() []*Job { return t.rows }

func (t *Table) find(number uint64) (int, bool) {
	return slices.BinarySearchFunc(t.rows, number, func(x *Job, number uint64) int { return cmp.Compare(x.Number, number) })
}

// Of returns the job with a number, or nil.
func (t *Table) Of(number uint64) *Job {
	if i, ok := t.find(number); ok {
		return t.rows[i]
	}
	return nil
}

// Active returns how many jobs have not ended.
func (t *Table) Active() (n int) {
	for _, x := range t.rows {
		if !x.Ended() {
			n++
		}
	}
	return n
}

// Put keeps a job, in the place of the job with the same number. Of the jobs that have ended, the last MaxEnded are remembered.
func (t *Table) Put(x *Job) {
	own := *x
	x = &own
	if i, ok := t.find(x.Number); ok {
		t.sum -= t.hash(t.rows[i])
		x.filter = t.rows[i].filter
		t.rows[i] = x
	} else {
		x = Planned(own)
		t.rows = slices.Insert(t.rows, i, x)
	}
	t.sum += t.hash(x)
	for len(t.rows)-t.Active() > MaxEnded {
		i := t.firstEnded()
		t.sum -= t.hash(t.rows[i])
		t.rows = slices.Delete(t.rows, i, i+1)
	}
}

// firstEnded returns the place of the job that ended first, by the rev of its end. A job must have ended.
func (t *Table) firstEnded() (first int) {
	first = slices.IndexFunc(t.rows, (*Job).Ended)
	for i, x := range t.rows {
		if x.Ended() && x.Rev < t.rows[first].Rev {
			first = i
		}
	}
	return first
}

func (t *Table) hash(x *Job) uint64 {
	h := hash.New(t.kind)
	h.Word(x.Number)
	h.Word(x.Rev)
	h.Str(x.Namespace)
	h.Word(uint64(x.Action))
	h.Word(uint64(x.State))
	h.Bytes(x.Spec)
	h.Int(x.Rate)
	h.Word(x.By)
	h.Str(x.Version)
	h.Bool(x.Keep)
	h.Int(x.Delay)
	h.Word(x.Index)
	h.Int(x.CreatedAt)
	h.Int(x.EndedAt)
	h.Int(x.Selected)
	h.Word(x.SelectedAt)
	h.Word(uint64(len(x.Blobs)))
	for _, digest := range x.Blobs {
		h.Str(digest)
	}
	h.Int(x.Position)
	h.Int(x.Counts.Done)
	h.Int(x.Counts.Changed)
	h.Int(x.Counts.Gone)
	h.Int(x.Counts.Refused)
	h.Int(x.Counts.Forbidden)
	h.Str(x.Code)
	h.Str(x.Message)
	return h.Sum()
}

// Planned returns a job that is in no table, with its filter.
func Planned(x Job) *Job {
	spec, _ := match.Parse(x.Spec)
	f := spec.Filter()
	x.filter = &f
	return &x
}
