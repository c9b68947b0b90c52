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

// TrimBehavior drops, for a run, what of a behavior nothing needs: versions beyond the kept ones that no task is pinned
// to; of one deleted with its tasks up to Max tasks that do not run, and operations that nothing runs for (SPEC B8), then
// itself. Result.Count says how many tasks and operations went, Left how many are left (also what runs, and what Ticks are
// removing), Changed whether anything went.
type TrimBehavior struct {
	Token     uint64 `cbor:"1,keyasint"`
	Namespace string `cbor:"2,keyasint"`
	Name      string `cbor:"3,keyasint"`
	Max       int64  `cbor:"4,keyasint"` // ≤ MaxDrop
}

// PurgeNamespace removes up to Max records of a namespace in PURGING, for a run. Running tasks are being cancelled and go
// when they have ended; tasks of operations that are removed go by Ticks. Result.Count says how many went, Left how many
// are there still.
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
