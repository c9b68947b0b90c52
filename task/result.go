package task

import (
	"github.com/taskrt/taskrt/task/access"
	"github.com/taskrt/taskrt/task/audit"
	"github.com/taskrt/taskrt/task/jobs"
	"github.com/taskrt/taskrt/task/names"
)

// Code says why a command was refused. "" is success. One table in package api maps codes to HTTP statuses.
type Code string

// The codes of rejections (SPEC L3, L6, L8, I3, I5, N1, H4).
const (
	OK                Code = ""
	NamespaceNotFound Code = "namespace_not_found"
	BehaviorNotFound  Code = "behavior_not_found"
	TaskNotFound      Code = "task_not_found"
	AlreadyExists     Code = "already_exists"
	OtherBehavior     Code = "other_behavior"
	Cancelling        Code = "cancelling"
	NotCancellable    Code = "not_cancellable" // cancel of a final task that was not cancelled
	Halt              Code = "halt"            // the token is not the task's current one
	WorkerInUse       Code = "worker_in_use"
	SessionNotFound   Code = "session_not_found" // ended or never was
	NotEligible       Code = "not_eligible"      // Assign: no longer due, or another rev
	NoFreeSlot        Code = "no_free_slot"
	ModuleMissing     Code = "module_missing" // no version to run
	InvalidCommand    Code = "invalid_command"
	LevelTooLow       Code = "level_too_low"    // SPEC C9: a command of a feature level that the cluster has not reached
	OriginForgotten   Code = "origin_forgotten" // SPEC H4: the machine no longer knows this proposer's answers

	NotExternal         Code = "not_external"         // the lease, or the behavior, is not external (SPEC section 8)
	OtherKind           Code = "other_kind"           // the behavior is external and should become a module's, or the other way round
	VersionNotFound     Code = "version_not_found"    // no kept version of the behavior has this name
	BehaviorWasChanged  Code = "behavior_changed"     // the behavior is not the one that the proposer validated with: validate again
	BehaviorPaused      Code = "behavior_paused"      // Assign: SPEC L10
	WorkerDrained       Code = "worker_drained"       // Assign: SPEC L10
	LimitReached        Code = "limit_reached"        // Assign: SPEC L11
	NotFinal            Code = "not_final"            // retry of a task that runs or waits
	Conflict            Code = "conflict"             // Txn: see Result.Reasons (SPEC X1)
	IdempotencyMismatch Code = "idempotency_mismatch" // the key was used with another request (SPEC H4)
	KeysExhausted       Code = "keys_exhausted"       // too many idempotency keys are kept: try again later
	StoreConflict       Code = "store_conflict"       // StoreUpdate, StoreClaim: see Result.Refusal (SPEC X2)

	NamespaceInactive  Code = "namespace_inactive"  // SPEC N1: INACTIVE
	NamespacePurging   Code = "namespace_purging"   // SPEC N1: PURGING
	NamespaceTaken     Code = "namespace_exists"    // create of a namespace that is not PURGED
	NamespaceReserved  Code = "namespace_reserved"  // default cannot be purged, _system not changed at all, "_…" not created
	NamespaceNotEmpty  Code = "namespace_not_empty" // EndPurge of a namespace that holds something, import into one that is not new
	QuotaExceeded      Code = "quota_exceeded"      // Field names the quota: max_tasks, max_bytes, submits_per_second
	BlobGone           Code = "blob_gone"           // a payload or module needs a blob that is not stored (SPEC M3)
	OperationNotFound  Code = "operation_not_found" //
	OperationConflict  Code = "operation_conflict"  // Result.Operation is the running one that excludes it (SPEC O2)
	OperationTask      Code = "operation_task"      // the task belongs to an operation, which alone may do this (SPEC O6)
	OperationState     Code = "operation_state"     // cancel of a completing operation, retry of an operation that did not fail (SPEC O3)
	NotAnOperation     Code = "not_an_operation"    // the behavior's manifest says nothing of operations
	ReservedID         Code = "reserved_id"         // the ID begins with the ID of an operation and ":"
	MaintenanceRunning Code = "maintenance_running" // SPEC M1: Result.Task is the task whose attempt is the unfinished run
	RunNotFound        Code = "run_not_found"       // supersede of a run that is not the unfinished one

	JobNotFound Code = jobs.CodeNotFound // SPEC Q3
	JobMoved    Code = jobs.CodeMoved    // SelectJob, StepJob
	TooManyJobs Code = jobs.CodeTooMany

	TokenRevoked  Code = "token_revoked"      // the access token of the command's caller holds no longer (SPEC A4)
	Forbidden     Code = access.CodeForbidden // the command's caller lacks a role for what the command is about (SPEC A5)
	TokenExists   Code = access.CodeExists
	TokenNotFound Code = access.CodeNotFound
	TooManyTokens Code = access.CodeTooMany
	SignInChanged Code = access.CodeSignInChanged
)

// SubmitOutcome is the answer to a submit (SPEC I4).
type SubmitOutcome uint8

// The values of SubmitOutcome. Results of other commands have 0.
const (
	SubmitCreated SubmitOutcome = iota + 1
	SubmitExisting
	SubmitExistingOtherParams
	SubmitUpdated
)

func (o SubmitOutcome) String() string {
	return names.Word(o, "", "created", "existing", "existing_other_params", "updated")
}

// Result is the machine's answer to one command, the same on every replica. A rejection is a Result, never a Go error.
//
//fields:hash part
//fields:wire value
type Result struct {
	Code    Code   `cbor:"1,keyasint,omitempty" field:"shared"`
	Message string `cbor:"2,keyasint,omitempty" field:"shared"`
	Field   string `cbor:"3,keyasint,omitempty" field:"shared"` // the field of the request that is wrong, if one is

	Task     *Task         `cbor:"4,keyasint,omitempty" field:"given=taskHash"` // the record after the command (nil after Remove)
	Outcome  SubmitOutcome `cbor:"5,keyasint,omitempty"`
	Told     bool          `cbor:"6,keyasint,omitempty"` // Cancel: the task runs and its worker is being told (202)
	Repeated bool          `cbor:"7,keyasint,omitempty"` // Finish: this very finish was applied before

	Session  *Session  `cbor:"8,keyasint,omitempty"`
	Behavior *Behavior `cbor:"9,keyasint,omitempty"` // PutBehavior, ActivateVersion, PauseBehavior: after the command
	Changed  bool      `cbor:"10,keyasint,omitempty"`

	Index uint64 `cbor:"11,keyasint,omitempty"` // log index at which the command was applied

	Tasks   []*Task        `cbor:"12,keyasint,omitempty"` // Txn: lean records of submits, updates and finishes, in this order
	Reasons []Reason       `cbor:"13,keyasint,omitempty"` // Txn: why not
	Records []*StoreRecord `cbor:"14,keyasint,omitempty"` // StoreUpdate: adds, then changes; StoreClaim: none or one
	Refusal *StoreRefusal  `cbor:"15,keyasint,omitempty"` // StoreUpdate, StoreClaim: why not

	Operation *Operation `cbor:"16,keyasint,omitempty"` // of an operation's commands: the record after it; the running one of a conflict
	Space     *Namespace `cbor:"17,keyasint,omitempty"` // of a namespace's commands: the record after it
	Count     int64      `cbor:"18,keyasint,omitempty"` // how many of many were deleted or imported
	Left      int64      `cbor:"19,keyasint,omitempty"` // PurgeNamespace: how many records are left
}

// Reason is one reason why a transaction was refused (SPEC X1).
type Reason struct {
	Kind string `cbor:"1,keyasint"` // missing, changed, leased, exists
	ID   string `cbor:"2,keyasint"`
}

// The kinds of Reason.
const (
	ReasonMissing = "missing"
	ReasonChanged = "changed"
	ReasonLeased  = "leased"
	ReasonExists  = "exists"
)

// Origin makes a command safe to send again (SPEC H4). The machine remembers its answers to (Process, Seq) for every
// Seq ≥ Lowest, and answers a repeat from memory. A zero Origin asks for no such care. A process that the machine does
// not know is accepted only with Lowest == 1. Otherwise the answer is OriginForgotten.
type Origin struct {
	Process uint64 `cbor:"1,keyasint,omitempty"` // random, one per proposing process
	Seq     uint64 `cbor:"2,keyasint,omitempty"` // 1, 2, 3, … within the process
	Lowest  uint64 `cbor:"3,keyasint,omitempty"` // lowest Seq whose answer the process has not received yet

	// Body is not 0 if this Origin is a client's idempotency key. Then Process is the hash of the key, and Body is the hash of the request. The answers
	// are kept for an hour, whoever proposes the request again. Another Body under the same key is refused. Seq is the place of the command in the
	// request. Lowest is the place of the first command that was proposed with this one: an unknown key cannot begin in the middle of a request.
	Body uint64 `cbor:"4,keyasint,omitempty"`
}

// Proposal is a command and where it came from.
type Proposal struct {
	Origin  Origin
	Caller  Caller
	Command Command
}

// Header stands before the commands of one log entry, stamped by the leader (SPEC C3).
type Header struct {
	Index    uint64 // of the log entry; not encoded, the log knows it
	Term     uint64 // of the log entry; not encoded
	Now      Time
	LeaseNow LeaseTime
}

// EventKind says what happened.
type EventKind uint8

// Kinds of events. Event.Task is the record after the change, or for TaskRemoved the record before it. Each version of a record is announced by one
// TaskChanged, and its end by one TaskRemoved. The other kinds of events follow, and say what somebody has to do.
const (
	TaskChanged      EventKind = iota + 1
	TaskRemoved                // SPEC L9; Lease is set if it was running: its worker must be told to halt
	TaskAssigned               // to Lease.Session: push it
	TaskCancelling             // Lease's worker must be told to cancel
	LeaseEnded                 // a lease ended without its worker's own report: tell the worker to halt
	SessionOpened              //
	SessionEnded               // closed, expired or replaced
	BehaviorChanged            //
	DrainChanged               // SPEC L10: which nodes are drained; Task, Lease, Session and Behavior are nil
	OperationChanged           // Operation; its counts change with its tasks and are not announced
	OperationRemoved           // the last task of a removed operation is gone; Operation is the last record
	NamespaceChanged           // Space
	BlobNoted                  // Digests: commands may refer to them from now on
	BlobsDropped               // Digests: unlink them (SPEC M3)
	AccessChanged              // Access; nil: the root token was turned off or on (SPEC A4)
	AccessRemoved              // Access as it was: it was revoked, or has expired
	AuditNoted                 // Audit: a change, or refusals, were recorded (SPEC A8)
	JobChanged                 // Job (SPEC Q3)
)

// Event drives waiters, the console and the leader loop (docs/architecture.md#the-main-types). Events of one entry are
// in the order in which things happened.
type Event struct {
	Kind     EventKind
	Index    uint64
	Rev      uint64 // the state's rev after it; every TaskChanged and TaskRemoved has its own (SPEC W3)
	Task     *Task
	Prev     *Task // TaskChanged: the record before it; nil: it is new
	Lease    *Lease
	Session  *Session
	Behavior *Behavior

	Operation *Operation
	Space     *Namespace
	Digests   []string
	Access    *access.Token
	Audit     *audit.Record
	Job       *Job
}

// Digest is the running digest of the state at an index (SPEC C4): equal logs give equal digests.
type Digest struct {
	Index uint64 `cbor:"1,keyasint"`
	Sum   uint64 `cbor:"2,keyasint"`
}
