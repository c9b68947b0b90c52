package task

import "strings"

// Maintenance is a task like any other (SPEC M1): it has one ID and one lease at a time, and it is lost and taken over. A *run* is one attempt of it,
// and its name is the attempt's number. Every command of a run carries the run's token. If the token is not the current one the command is refused
// with halt. So a run that was superseded, or whose node was thought dead, deletes nothing.

// The maintenance task, its behavior, and its module's name. By this name nodes say that they are ready for the behavior.
const (
	MaintenanceBehavior = "maintenance"
	MaintenanceTask     = "maintenance"
	NativeMaintenance   = "native:maintenance" // Version.Module
)

// Native reports whether a version has no module because its behavior is built into the nodes themselves. Such a
// behavior has no file and no record. Only workers that say that they are ready for it are assigned its tasks.
func Native(module string) bool { return strings.HasPrefix(module, "native:") }

// MaintenanceKey returns the key of the maintenance task.
func MaintenanceKey() Key { return Key{SystemNamespace, MaintenanceTask} }

// DropTasks deletes final tasks for a run (SPEC M2), at most MaxDrop. It deletes a task only if the task still has the
// rev. It leaves alone tasks of operations. Result.Count says how many were deleted.
type DropTasks struct {
	Token uint64   `cbor:"1,keyasint"`
	Tasks []KeyRev `cbor:"2,keyasint"`
}

// KeyRev names one version of a record.
type KeyRev struct {
	Key Key    `cbor:"1,keyasint"`
	Rev uint64 `cbor:"2,keyasint"`
}

// TrimBehavior drops, for a run, all of a behavior that nothing needs. These are versions beyond the kept ones that no
// task is pinned to. If the behavior was deleted with its tasks, they are also up to Max tasks and operations that do
// not run (SPEC B8), and then the behavior itself. Result.Count says how many tasks and operations went. Left says how
// many are left, including running ones and those that Ticks are removing. Changed says whether anything went.
type TrimBehavior struct {
	Token     uint64 `cbor:"1,keyasint"`
	Namespace string `cbor:"2,keyasint"`
	Name      string `cbor:"3,keyasint"`
	Max       int64  `cbor:"4,keyasint"` // ≤ MaxDrop
}

// PurgeNamespace removes up to Max records of a namespace in PURGING, for a run. Running tasks are being cancelled, and they go when they have ended.
// Tasks of removed operations go by Ticks. Result.Count says how many records went, and Left says how many are still there.
type PurgeNamespace struct {
	Token     uint64 `cbor:"1,keyasint"`
	Namespace string `cbor:"2,keyasint"`
	Max       int64  `cbor:"3,keyasint"` // ≤ MaxDrop
}

// EndPurge makes a namespace in PURGING that holds nothing PURGED (SPEC M2). It forgets a namespace that has been PURGED for longer than Forget.
type EndPurge struct {
	Token     uint64 `cbor:"1,keyasint"`
	Namespace string `cbor:"2,keyasint"`
	Forget    Millis `cbor:"3,keyasint,omitempty"` // 0: never
}
