package task

// Maintenance is a task like any other (SPEC M1): one ID, one lease at a time, lost and taken over. A *run* is one attempt
// of it, and is named by the attempt's number. Every command of a run carries its token, and is refused with halt when
// that is not the current one: a run that was superseded, or whose node was thought dead, deletes nothing.

// The maintenance task, its behavior, and the name under which nodes that have it say that they are ready for it.
const (
	MaintenanceBehavior = "maintenance"
	MaintenanceTask     = "maintenance"
	NativeMaintenance   = "native:maintenance" // Version.Module
)

// MaintenanceKey returns the key of the maintenance task.
func MaintenanceKey() Key { return Key{SystemNamespace, MaintenanceTask} }

// MaintenanceRun is what is remembered of a run (SPEC M4). Values are immutable.
type MaintenanceRun struct {
	Run        int64         `cbor:"1,keyasint"` // the attempt
	Token      uint64        `cbor:"2,keyasint"`
	Worker     string        `cbor:"3,keyasint"`
	DryRun     bool          `cbor:"4,keyasint,omitempty"`
	StartedAt  Time          `cbor:"5,keyasint"`
	FinishedAt Time          `cbor:"6,keyasint,omitempty"` // 0: it runs, or was lost or superseded: see Ended
	Success    bool          `cbor:"7,keyasint,omitempty"`
	Message    string        `cbor:"8,keyasint,omitempty"`
	Before     Time          `cbor:"9,keyasint,omitempty"`  // nothing newer is deleted (SPEC M3)
	Objects    []ObjectCount `cbor:"10,keyasint,omitempty"` // by kind and namespace
	Filter     FilterStats   `cbor:"11,keyasint,omitempty"`
	Ended      string        `cbor:"12,keyasint,omitempty"` // "lost", "superseded", …: it ended without finishing
}

// ObjectCount is what a run did with the objects of one kind in one namespace ("" for those of the cluster).
type ObjectCount struct {
	Kind      string `cbor:"1,keyasint"`
	Namespace string `cbor:"2,keyasint,omitempty"`
	Scanned   int64  `cbor:"3,keyasint,omitempty"`
	Retained  int64  `cbor:"4,keyasint,omitempty"`
	Newer     int64  `cbor:"5,keyasint,omitempty"`
	Deleted   int64  `cbor:"6,keyasint,omitempty"`
}

// FilterStats describe the Bloom filter of a run: the next one is sized by them (SPEC M3).
type FilterStats struct {
	Items  int64 `cbor:"1,keyasint,omitempty"` // objects marked
	Bits   int64 `cbor:"2,keyasint,omitempty"`
	Hashes int64 `cbor:"3,keyasint,omitempty"`
	PPB    int64 `cbor:"4,keyasint,omitempty"` // estimated false positives per billion when marking had ended
}

// MaxRuns is how many runs are remembered (SPEC M4).
const MaxRuns = 50

// MaxObjectCounts bounds MaintenanceRun.Objects.
const MaxObjectCounts = 1_000

// StartMaintenance makes the maintenance task due now with these params (SPEC M1). While a run is unfinished (leased, or
// lost and waiting to be taken over) it is refused, unless Supersede is that run: then its lease ends at once. The next
// run is Result.Task.Attempt + 1.
type StartMaintenance struct {
	Params    Payload `cbor:"1,keyasint,omitempty"`
	Supersede int64   `cbor:"2,keyasint,omitempty"`
}

// RecordRun stores what is to be remembered of the run whose token this is; the last MaxRuns are kept. Unfinished records of other
// runs get an end.
type RecordRun struct {
	Token uint64         `cbor:"1,keyasint"`
	Run   MaintenanceRun `cbor:"2,keyasint"`
}

// DropTasks deletes final tasks for a run (SPEC M2), each only if it still has the rev; at most MaxDrop. Tasks of operations are left
// alone. Result.Count says how many were deleted.
type DropTasks struct {
	Token uint64   `cbor:"1,keyasint"`
	Tasks []KeyRev `cbor:"2,keyasint"`
}

// KeyRev names one version of a record.
type KeyRev struct {
	Key Key    `cbor:"1,keyasint"`
	Rev uint64 `cbor:"2,keyasint"`
}

// DropOperations deletes final operations, with their tasks, for a run.
type DropOperations struct {
	Token      uint64   `cbor:"1,keyasint"`
	Operations []KeyRev `cbor:"2,keyasint"`
}

// TrimBehavior drops, for a run, what of a behavior nothing needs: versions beyond the kept ones that no task is pinned to; of
// one deleted with its tasks up to Max tasks that do not run (SPEC B8), then itself. Result.Count says how many tasks went, Left how many are left to
// go, Changed whether anything did.
type TrimBehavior struct {
	Token     uint64 `cbor:"1,keyasint"`
	Namespace string `cbor:"2,keyasint"`
	Name      string `cbor:"3,keyasint"`
	Max       int64  `cbor:"4,keyasint"` // ≤ MaxDrop
}

// PurgeNamespace removes up to Max records of a namespace in PURGING, for a run. Running tasks are being cancelled and go when they have ended.
// Result.Count says how many went, Left how many are there still.
type PurgeNamespace struct {
	Token     uint64 `cbor:"1,keyasint"`
	Namespace string `cbor:"2,keyasint"`
	Max       int64  `cbor:"3,keyasint"` // ≤ MaxDrop
}

// EndPurge makes a namespace in PURGING that holds nothing PURGED (SPEC M2); one that is PURGED for longer than Forget is forgotten.
type EndPurge struct {
	Token     uint64 `cbor:"1,keyasint"`
	Namespace string `cbor:"2,keyasint"`
	Forget    Millis `cbor:"3,keyasint,omitempty"` // 0: never
}
