// Package api is the contract of taskrt: the Service interface, its values, its one kind of error, and what a request may
// be. Package client implements Service over HTTP, package server serves any Service, node.Node implements it in-process.
package api

import (
	"context"
	"io"
)

// Service is what a cluster does for its users. Every error is an *Error (or wraps one).
type Service interface {
	// Submit creates one task or meets an existing one. It returns once the task is durable (SPEC T6, I3, I4).
	Submit(ctx context.Context, r SubmitRequest) (*SubmitReply, error)
	// SubmitBatch submits up to MaxBatch tasks. Each task has its own answer, in the same order (SPEC H1).
	SubmitBatch(ctx context.Context, rs []SubmitRequest) ([]SubmitResult, error)
	// Task returns a task, after waiting for a condition if asked (SPEC W1).
	Task(ctx context.Context, namespace, id string, o GetOptions) (*Task, error)
	// Tasks lists tasks in order of creation.
	Tasks(ctx context.Context, r ListRequest) (*ListReply, error)
	// Cancel asks that a task end as CANCELLED (SPEC L8).
	Cancel(ctx context.Context, namespace, id string) (*CancelReply, error)
	// Remove deletes a record (SPEC L9).
	Remove(ctx context.Context, namespace, id string) error
	// Logs returns what the attempts of a task logged.
	Logs(ctx context.Context, namespace, id string, g LogsGet) (*LogsReply, error)

	// Push uploads a module and activates its behaviors in one log entry (SPEC B2).
	Push(ctx context.Context, r PushRequest) (*Module, error)
	Modules(ctx context.Context, namespace string) ([]Module, error)
	Module(ctx context.Context, namespace, digest string) (*Module, error)
	Behaviors(ctx context.Context, namespace string) ([]Behavior, error)
	Behavior(ctx context.Context, namespace, name string) (*BehaviorDetail, error)

	// Retry makes a task due again that is final, or waits for its retry (SPEC T1, B2).
	Retry(ctx context.Context, r RetryRequest) (*Task, error)
	// Resubmit makes a task that exists due again, or makes it run again after its present run (SPEC I3, J5).
	Resubmit(ctx context.Context, r ResubmitRequest) (*SubmitReply, error)
	// WaitTasks waits for any or all of many tasks (SPEC W2).
	WaitTasks(ctx context.Context, r WaitRequest) (*WaitReply, error)
	// Txn changes several tasks or none (SPEC X1).
	Txn(ctx context.Context, r TxnRequest) (*TxnReply, error)
	// Events subscribes to changes (SPEC W3). The stream must be closed.
	Events(ctx context.Context, r EventsRequest) (EventStream, error)

	// PutBehavior defines an external behavior or changes its policy (SPEC B7, J1).
	PutBehavior(ctx context.Context, r PutBehaviorRequest) (*PutBehaviorReply, error)
	// DeleteBehavior takes a behavior away. Its tasks wait for another behavior of this name, or are removed if purge is true
	// (SPEC B8).
	DeleteBehavior(ctx context.Context, namespace, name string, purge bool) error
	// ActivateVersion makes a kept version the active one (SPEC B2).
	ActivateVersion(ctx context.Context, namespace, name, version string) (*BehaviorDetail, error)
	// PauseBehavior stops or resumes the assignment of a behavior's tasks (SPEC L10).
	PauseBehavior(ctx context.Context, namespace, name string, paused bool) (*BehaviorDetail, error)
	// BehaviorStats counts the tasks of a behavior (SPEC J7).
	BehaviorStats(ctx context.Context, namespace, name string) (*BehaviorStats, error)

	// Accept leases tasks of an external behavior, and waits for the first if asked (SPEC J2).
	Accept(ctx context.Context, r AcceptRequest) (*AcceptReply, error)
	// Heartbeat keeps an external lease and stores progress and checkpoint (SPEC J3).
	Heartbeat(ctx context.Context, r HeartbeatRequest) (*HeartbeatReply, error)
	// Finish ends an external attempt with an outcome (SPEC J4).
	Finish(ctx context.Context, r FinishRequest) (*FinishReply, error)
	// FinishMany is Finish for up to MaxReports attempts. Each has its own answer, in the same order (SPEC J4).
	FinishMany(ctx context.Context, rs []FinishRequest) ([]FinishResult, error)
	// Snooze ends an external attempt without an outcome (SPEC J4, R5).
	Snooze(ctx context.Context, r SnoozeRequest) (*Task, error)

	TaskStore
	Operations
	NamespaceAdmin
	Blobs
	Maintenance

	// Workers lists live sessions and programs that hold external leases (SPEC J7).
	Workers(ctx context.Context) ([]Worker, error)
	// Drain stops or resumes assignments to the workers of a node (SPEC L10).
	Drain(ctx context.Context, node string, drain bool) (*Node, error)
	// Cluster describes the members, the workers and the totals.
	Cluster(ctx context.Context) (*Cluster, error)
	// Ready returns nil if this node knows a leader, is caught up, and its disk works; else an *Error that says what is wrong
	// (SPEC H1).
	Ready(ctx context.Context) error
}

// Limits of requests (SPEC H1, H3).
const (
	MaxBody      = 8 << 20  // JSON body, bytes
	MaxInline    = 64 << 10 // params, result, checkpoint in the log, bytes; a longer one becomes a blob
	MaxPayload   = 16 << 20 // params, result, checkpoint, bytes
	MaxModule    = 32 << 20 // wasm file, bytes
	MaxBlob      = 32 << 20 // file of the blob store, bytes
	MaxBatch     = 10_000   // tasks in one POST /v1/tasks
	MaxListLimit = 1_000
	MaxWait      = 5 * 60 // seconds of one ?wait=
	MaxWaitIDs   = 1_000  // ids of one POST /v1/tasks:wait
	MaxReports   = 1_000  // reports of one POST /v1/tasks:finish
	MaxAccept    = 1_000  // tasks of one accept
	MaxTxnParts  = 1_000  // parts of one POST /v1/txn, depends included
	MaxTxnBytes  = 512 << 10
)

// TaskStore is the part of the service that has no tasks: records in free-form groups (SPEC X2).
type TaskStore interface {
	// StoreGroups names the groups that are not empty, sorted.
	StoreGroups(ctx context.Context, namespace string) ([]string, error)
	// StoreTasks returns records by ID, and nil in the place of a record that does not exist.
	StoreTasks(ctx context.Context, namespace string, ids []uint64) (StoreList, error)
	// StoreGroup lists the records of a group in order of their IDs, at most limit; 0 means all. With owned it also lists the
	// records that somebody owns now.
	StoreGroup(ctx context.Context, namespace, group string, limit int, owned bool) (StoreList, error)
	// StoreUpdate adds, changes and deletes records, all or nothing.
	StoreUpdate(ctx context.Context, r StoreUpdateRequest) (*StoreReply, error)
	// StoreClaim takes a random available record of a group.
	StoreClaim(ctx context.Context, r StoreClaimRequest) (*StoreReply, error)
}

// Operations are fan-outs (SPEC section 7).
type Operations interface {
	StartOperation(ctx context.Context, r StartOperationRequest) (*Operation, error)
	// Operation returns an operation, after waiting for a condition if asked.
	Operation(ctx context.Context, namespace, id string, o OperationGet) (*Operation, error)
	Operations(ctx context.Context, r OperationsRequest) (*OperationsReply, error)
	// Partitions lists the tasks of an operation's partitions.
	Partitions(ctx context.Context, r PartitionsRequest) (*ListReply, error)
	CancelOperation(ctx context.Context, namespace, id string) (*Operation, error)
	// RetryOperation runs the parts of a failed operation again that failed (SPEC O3).
	RetryOperation(ctx context.Context, namespace, id string) (*Operation, error)
	// RemoveOperation deletes an operation and its tasks (SPEC O6).
	RemoveOperation(ctx context.Context, namespace, id string) error
}

// NamespaceAdmin manages namespaces (SPEC N1, M5).
type NamespaceAdmin interface {
	Namespaces(ctx context.Context) ([]Namespace, error)
	Namespace(ctx context.Context, name string) (*Namespace, error)
	CreateNamespace(ctx context.Context, s NamespaceSettings) (*Namespace, error)
	UpdateNamespace(ctx context.Context, s NamespaceSettings) (*Namespace, error)
	// SetNamespaceStatus takes "ACTIVE", "INACTIVE" or "PURGING".
	SetNamespaceStatus(ctx context.Context, name, status string) (*Namespace, error)
	// ExportNamespace streams JSON lines of one state of the namespace. The caller must close the reader.
	ExportNamespace(ctx context.Context, r ExportRequest) (io.ReadCloser, error)
	ImportNamespace(ctx context.Context, r ImportRequest) (*ImportReply, error)
}

// Blobs stores files by their digest (SPEC H3).
type Blobs interface {
	// PutBlob returns when a majority has the file durably.
	PutBlob(ctx context.Context, r PutBlobRequest) (*Blob, error)
	Blob(ctx context.Context, digest string) (*Blob, error)
	BlobContent(ctx context.Context, r BlobRange) (*BlobContent, error)
}

// Maintenance removes what is no longer needed (SPEC M1-M4).
type Maintenance interface {
	StartMaintenance(ctx context.Context, r MaintenanceRequest) (*MaintenanceStarted, error)
	// MaintenanceRuns returns the records of runs that are kept, the newest first.
	MaintenanceRuns(ctx context.Context) ([]MaintenanceRun, error)
	MaintenanceRun(ctx context.Context, run int64) (*MaintenanceRun, error)
	Maintenance(ctx context.Context) (*MaintenanceInfo, error)
}
