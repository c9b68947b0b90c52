package task

import "github.com/taskrt/taskrt/task/names"

// Operation is a fan-out: it has one task for each partition, a completion, and one outcome (SPEC section 7). Values are immutable.
//
//fields:hash parts
type Operation struct {
	Namespace string `cbor:"1,keyasint"`
	ID        string `cbor:"2,keyasint"` // as a task's, but without ":"; its tasks are ID:0, ID:1, …, ID:complete, ID:cleanup:TOKEN
	Behavior  string `cbor:"3,keyasint"`
	Version   string `cbor:"4,keyasint"` // all its tasks are pinned to it
	Target    string `cbor:"5,keyasint,omitempty"`
	Object    string `cbor:"6,keyasint,omitempty"`
	Instance  int64  `cbor:"7,keyasint"` // counts up per (target, behavior), from 1

	Status     OperationStatus `cbor:"8,keyasint" field:"part=state"`
	Policy     OperationPolicy `cbor:"9,keyasint"` // as it was at the start
	Arg        Payload         `cbor:"10,keyasint,omitempty"`
	Partitions int64           `cbor:"11,keyasint"`
	Names      []string        `cbor:"12,keyasint,omitempty"`          // of the partitions; nil: "0", "1", …
	Made       int64           `cbor:"13,keyasint" field:"part=state"` // partitions whose tasks have been made; the rest follows in Ticks

	Stop       string  `cbor:"14,keyasint,omitempty" field:"part=state"` // RUNNING: why tasks that are not final are being cancelled: CANCELLED, or the code of the first failure
	Result     Payload `cbor:"15,keyasint,omitempty" field:"part=state"` // the completion's
	Error      *Error  `cbor:"16,keyasint,omitempty" field:"part=state"` // of the first final failure, of the cancel, or of the completion
	Labels     []Label `cbor:"17,keyasint,omitempty"`                    // of its tasks, too
	Priority   int8    `cbor:"18,keyasint"`
	Removing   bool    `cbor:"19,keyasint,omitempty" field:"part=state"` // removed: its tasks go in Ticks, and nobody sees it
	Dropped    int64   `cbor:"20,keyasint,omitempty" field:"part=state"` // how many cleanups could not be run (SPEC O3)
	Cleanups   int64   `cbor:"21,keyasint,omitempty" field:"part=state"` // how many cleanups were made
	Rev        uint64  `cbor:"22,keyasint" field:"part=state"`
	CreatedRev uint64  `cbor:"23,keyasint"`
	CreatedAt  Time    `cbor:"24,keyasint"`
	FinishedAt Time    `cbor:"25,keyasint,omitempty" field:"part=state"`
	RetryRev   uint64  `cbor:"26,keyasint,omitempty" field:"part=state"` // RUNNING: partitions that failed at this rev or before are still to be made due again

	Creator uint64 `cbor:"27,keyasint,omitempty" field:"late"` // number of the access token that started it (SPEC A5); 0: nobody in particular
	Trace   string `cbor:"28,keyasint,omitempty" field:"late"` // traceparent of its start (SPEC U2), also of its tasks; "": none

	Counts OperationCounts `cbor:"-"` // derived: filled in by the read methods only
}

// Key returns the name of the operation.
func (o *Operation) Key() Key { return Key{o.Namespace, o.ID} }

// Final reports whether the operation has ended.
func (o *Operation) Final() bool { return o.Status >= OperationSuccess }

// OperationStatus is the status of an operation (SPEC O1).
type OperationStatus uint8

// The four statuses.
const (
	OperationRunning OperationStatus = iota + 1
	OperationCompleting
	OperationSuccess
	OperationFailure
)

func (s OperationStatus) String() string {
	return names.Word(s, "INVALID", "RUNNING", "COMPLETING", "SUCCESS", "FAILURE")
}

// OperationPolicy is operation{} of a manifest (SPEC O2).
//
//fields:hash part
type OperationPolicy struct {
	Concurrency  Concurrency `cbor:"1,keyasint,omitempty"`
	Incompatible []string    `cbor:"2,keyasint,omitempty"` // behaviors that may not run on the same target, sorted
	RunAll       bool        `cbor:"3,keyasint,omitempty"` // on_failure: run_all; else fail_fast
	Restart      bool        `cbor:"4,keyasint,omitempty"` // resume: restart: a checkpoint does not outlive its attempt (SPEC O5)
	Complete     string      `cbor:"5,keyasint,omitempty"` // behaviors of the same module and version
	Cleanup      string      `cbor:"6,keyasint,omitempty"`
}

// others returns the behaviors of the operation's tasks other than the operation's own.
func (p *OperationPolicy) others() (names []string) {
	for _, name := range [...]string{p.Complete, p.Cleanup} {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

// Concurrency says which operations of one behavior may run at the same time.
type Concurrency uint8

// Many is the default.
const (
	Many Concurrency = iota
	OnePerTarget
	OnePerObject
)

// OperationCounts counts the partition tasks of an operation by what they do, in O(1). Waiting includes tasks that are not made yet.
type OperationCounts struct {
	Waiting, Running, Retrying, Success, Failure int64 // Retrying: an outcome, and due again; the last two are final
}

// MaxPartitions bounds the partitions of an operation.
const MaxPartitions = 100_000

// OperationFilter selects operations for listing. Zero fields select everything.
type OperationFilter struct {
	Namespace, Behavior, Target string
	Status                      OperationStatus
	Limit                       int    // > 0
	After                       uint64 // as in Filter
	Rows                        int    // as in Filter
}
