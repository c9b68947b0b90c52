package task

import (
	"github.com/taskrt/taskrt/task/bounds"
	"github.com/taskrt/taskrt/task/names"
)

// Namespace is the scope of task IDs and behaviors (SPEC N1). Values are immutable.
//
//fields:hash record
type Namespace struct {
	Name      string          `cbor:"1,keyasint"` // 3..64 of a-z 0-9 - _, beginning with a letter; "_…" are the system's
	Status    NamespaceStatus `cbor:"2,keyasint"`
	Quota     Quota           `cbor:"3,keyasint,omitempty"`
	Retention Retention       `cbor:"4,keyasint,omitempty"`
	Rev       uint64          `cbor:"5,keyasint"`
	CreatedAt Time            `cbor:"6,keyasint"`
	ChangedAt Time            `cbor:"7,keyasint,omitempty"` // of the status

	// Bucket and the field after it are the bucket of submits_per_second: what was left at a time, in thousandths of a
	// submit. Writing it makes no rev.
	Bucket   int64 `cbor:"8,keyasint,omitempty"`
	BucketAt Time  `cbor:"9,keyasint,omitempty"`

	// Share of the workers' slots (SPEC N2).
	Weight     int64 `cbor:"10,keyasint,omitempty"` // 1..100; 0: the default, 10
	MaxRunning int64 `cbor:"11,keyasint,omitempty"` // tasks that run at once; 0: no limit

	Usage Usage `cbor:"-"` // derived: filled in by the read methods only
}

// NamespaceStatus is the status of a namespace (SPEC N1).
type NamespaceStatus uint8

// The four statuses.
const (
	NamespaceIsActive NamespaceStatus = iota + 1
	NamespaceIsInactive
	NamespaceIsPurging
	NamespaceIsPurged
)

func (s NamespaceStatus) String() string {
	return names.Word(s, "INVALID", "ACTIVE", "INACTIVE", "PURGING", "PURGED")
}

// Quota bounds what a namespace may hold, and how fast it may take submits. 0: no limit.
type Quota struct {
	MaxTasks         int64 `cbor:"1,keyasint,omitempty"` // task records, final ones included; an operation's partitions count from its start
	MaxBytes         int64 `cbor:"2,keyasint,omitempty"` // of payloads of tasks, operations and records, blobs that they refer to included
	SubmitsPerSecond int64 `cbor:"3,keyasint,omitempty"` // tasks created, rerun or resubmitted, and operations started, per second of the log's clock; bursts up to one second's
}

// Retention is what a namespace keeps where a behavior says nothing. 0: the default (SPEC T9), < 0: for ever.
type Retention struct {
	Success Millis `cbor:"1,keyasint,omitempty"`
	Failure Millis `cbor:"2,keyasint,omitempty"`
	Count   int64  `cbor:"3,keyasint,omitempty"` // final tasks of the namespace; 0: Limit.Finals
}

// What is kept by default (SPEC T9).
const (
	DefaultKeepSuccess Millis = 3 * 24 * 3600 * 1000
	DefaultKeepFailure Millis = 14 * 24 * 3600 * 1000
)

// Usage is what a namespace holds, in O(1).
type Usage = bounds.Usage

// PutNamespace creates a namespace, or changes a namespace's settings.
type PutNamespace struct {
	Name      string     `cbor:"1,keyasint"`
	Create    bool       `cbor:"2,keyasint,omitempty"` // it must not exist, or be PURGED
	Quota     *Quota     `cbor:"3,keyasint,omitempty"` // nil: as it was
	Retention *Retention `cbor:"4,keyasint,omitempty"`
	Share     *Share     `cbor:"5,keyasint,omitempty"`
}

// Share is how much of the workers' slots a namespace gets (SPEC N2).
type Share struct {
	Weight     int64 `cbor:"1,keyasint,omitempty"`
	MaxRunning int64 `cbor:"2,keyasint,omitempty"`
}

// MaxWeight bounds Namespace.Weight.
const MaxWeight = 100

// SetNamespaceStatus makes a namespace ACTIVE, INACTIVE or PURGING. A namespace in PURGING stays so (SPEC N1).
type SetNamespaceStatus struct {
	Name   string          `cbor:"1,keyasint"`
	Status NamespaceStatus `cbor:"2,keyasint"`
}

// ImportRecords takes up records of an export as they are (SPEC M5), in the order of the export. Running tasks become due. It leaves alone a record
// whose name is taken, and a module that no behavior of the same command needs. Result.Count says how many records were taken up.
type ImportRecords struct {
	Namespace  string         `cbor:"1,keyasint"`
	Modules    []*Module      `cbor:"2,keyasint,omitempty"`
	Behaviors  []*Behavior    `cbor:"3,keyasint,omitempty"`
	Operations []*Operation   `cbor:"4,keyasint,omitempty"`
	Tasks      []*Task        `cbor:"5,keyasint,omitempty"`
	Records    []*StoreRecord `cbor:"6,keyasint,omitempty"` // their IDs are new
}
