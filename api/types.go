package api

import (
	"encoding/json"
	"io"
	"time"
)

// Task is a task record as JSON (SPEC section 3, H2). Times are RFC 3339 with milliseconds, UTC.
//
//fields:json answer
type Task struct {
	Namespace string `json:"namespace" field:"shared"`
	ID        string `json:"id"`
	Behavior  string `json:"behavior" field:"shared"`
	Version   string `json:"version,omitempty"`
	Status    string `json:"status" field:"shared"` // CREATED, RUNNING, SUCCESS, FAILURE
	Final     bool   `json:"final"`

	Params       json.RawMessage `json:"params,omitempty"`
	ParamsBase64 []byte          `json:"params_base64,omitempty"`
	Result       json.RawMessage `json:"result,omitempty"` // "null" for a SUCCESS without a result
	ResultBase64 []byte          `json:"result_base64,omitempty"`
	Error        *TaskError      `json:"error,omitempty"`

	NotBefore *Time `json:"not_before,omitempty"`
	Deadline  *Time `json:"deadline,omitempty"`

	Attempt   int64 `json:"attempt"`
	Failures  int64 `json:"failures"`
	LostCount int64 `json:"lost_count"`

	Lease            *Lease          `json:"lease,omitempty"`
	Progress         json.RawMessage `json:"progress,omitempty"`
	Checkpoint       json.RawMessage `json:"checkpoint,omitempty"`
	CheckpointBase64 []byte          `json:"checkpoint_base64,omitempty"`
	Resubmit         *ResubmitFlag   `json:"resubmit,omitempty"`
	CancelRequested  bool            `json:"cancel_requested,omitempty"`

	Rev        uint64 `json:"rev"`
	CreatedAt  Time   `json:"created_at"`
	StartedAt  *Time  `json:"started_at,omitempty"`
	FinishedAt *Time  `json:"finished_at,omitempty"`

	History   []Attempt         `json:"history"`
	Parent    string            `json:"parent,omitempty"`
	Partition string            `json:"partition,omitempty"`
	Labels    map[string]string `json:"labels"`
	Priority  int               `json:"priority"`
	// CreatedBy is the name of the token that created the task, or token:N if that is gone; absent in a cluster that is open.
	CreatedBy string `json:"created_by,omitempty"`
	// Traceparent is the W3C trace context of what made the task due (SPEC U2), and of an accepted task that of its attempt.
	Traceparent string `json:"traceparent,omitempty"`
	// Tracestate is the W3C trace state that came with it.
	Tracestate string `json:"tracestate,omitempty"`
}

// Minimal returns a copy of the task with only the fields that name it and say where it is.
func (t *Task) Minimal() *Task {
	return &Task{
		Namespace: t.Namespace, ID: t.ID, Behavior: t.Behavior, Status: t.Status, Final: t.Final, Rev: t.Rev, CreatedAt: t.CreatedAt,
	}
}

// TaskError is the error of a FAILURE (SPEC T5).
type TaskError struct {
	Code      string          `json:"code"`
	Message   string          `json:"message"`
	Retryable bool            `json:"retryable"`
	Details   json.RawMessage `json:"details,omitempty"`
}

// Lease is the current lease of a RUNNING task. Its times are estimates by this node's wall clock, and move on with every
// renewal. LostNotBefore is the earliest time at which the task can be lost. RecheckNotBefore is the time at which the next
// renewal is due.
//
//fields:json answer
type Lease struct {
	Token            uint64 `json:"token"`
	Worker           string `json:"worker"`
	Node             string `json:"node,omitempty"`
	External         bool   `json:"external,omitempty"` // SPEC section 8: the worker itself renews the lease
	LeaseMS          int64  `json:"lease_ms,omitempty"` // what remains of an external lease; not in events
	LostNotBefore    *Time  `json:"lost_not_before,omitempty"`
	RecheckNotBefore *Time  `json:"recheck_not_before,omitempty"`
}

// ResubmitFlag says that the task will be due again when its run ends (SPEC I3).
//
//fields:json
type ResubmitFlag struct {
	NotBefore Time `json:"not_before"`
}

// Attempt is one entry of a task's history, which has at most 5, the oldest first.
//
//fields:json answer
type Attempt struct {
	Attempt    int64  `json:"attempt"`
	Token      uint64 `json:"token"`
	Worker     string `json:"worker"`
	Node       string `json:"node,omitempty"`
	StartedAt  Time   `json:"started_at"`
	FinishedAt *Time  `json:"finished_at,omitempty"`
	Outcome    string `json:"outcome"`
	FuelUsed   int64  `json:"fuel_used,omitempty"` // units, at most 2^53; absent if nothing was metered, or the attempt was lost
	// PeakMemoryBytes is the most linear memory that its guest had, in whole pages of 64 KiB; absent as FuelUsed, and before feature level 3.
	PeakMemoryBytes int64 `json:"peak_memory_bytes,omitempty"`
}

// Time is written in JSON as RFC 3339 with milliseconds, in UTC (SPEC H2).
type Time struct{ time.Time }

// Duration is written in JSON as in Go: "30s" (SPEC H2).
type Duration time.Duration

// SubmitRequest is the body of POST /v1/tasks (SPEC H1, R1, I1, I3). Unknown fields are refused.
//
//fields:json submit
type SubmitRequest struct {
	Namespace    string            `json:"namespace,omitempty" field:"shared"`
	Behavior     string            `json:"behavior" field:"shared"`
	ID           string            `json:"id,omitempty"`
	Params       json.RawMessage   `json:"params,omitempty" field:"compact"`
	ParamsBase64 []byte            `json:"params_base64,omitzero"`
	IfExists     string            `json:"if_exists,omitempty"` // join, fail, rerun, resubmit
	NotBefore    *Time             `json:"not_before,omitempty"`
	Delay        *Duration         `json:"delay,omitempty"`
	Deadline     *Time             `json:"deadline,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	Priority     *int              `json:"priority,omitempty"`
	Traceparent  string            `json:"traceparent,omitempty"` // instead of that of the request; an invalid one is ignored (SPEC U2)
	Tracestate   string            `json:"tracestate,omitempty"`  // of this traceparent

	// Wait is ?wait=. Submit answers when the task's present cycle has an outcome, or after this time with TimedOut (SPEC W1).
	// If the wait fails, its error is CodeRemoved or CodeOutcomeUnknown, because the task was submitted. 0 means: do not wait.
	Wait time.Duration `json:"-"`
	// Minimal is Prefer: return=minimal. The answer has what Task.Minimal leaves of the task, or more. It is for programs that
	// submit many tasks: showing their params again would cost more than taking them. It means nothing with a Wait.
	Minimal bool `json:"-"`
	// Refused is why the caller may not submit this, one of a batch. Nothing is done then, and this is the answer.
	Refused *Error `json:"-"`
}

// SubmitReply answers one submit (SPEC I4). Outcome is created, existing, existing_other_params or updated.
//
//fields:json answer
type SubmitReply struct {
	Task     *Task  `json:"task"`
	Outcome  string `json:"outcome" field:"shared"`
	TimedOut bool   `json:"timed_out,omitempty"` // the time of ?wait= was over before there was an outcome
}

// SubmitResult is the answer to one task of a batch: a reply or an error.
type SubmitResult struct {
	*SubmitReply
	Error *Error `json:"error,omitempty"`
}

// GetOptions are the query parameters of GET /v1/tasks/{id} (SPEC W1, W4).
type GetOptions struct {
	Wait     time.Duration // 0: do not wait
	Until    string        // final (default), running, waiting, success, failure, outcome (of a cycle), rev:N, attempt:N
	Since    uint64        // for success, failure and outcome: the rev above which the outcome must be; 0: the current rev
	Stale    bool          // consistency=stale
	MinIndex uint64
}

// ListRequest are the query parameters of GET /v1/tasks (SPEC Q1). Zero fields ask for nothing in particular.
type ListRequest struct {
	Namespace    string
	Statuses     []string // any of them: CREATED, RUNNING, SUCCESS, FAILURE, RETRYING (a FAILURE that waits), DEAD (one that is final)
	Final        *bool
	Behaviors    []string // any of them; "*" stands for any text
	Errors       []string // codes; any of them
	Worker, Node string   // of the current attempt, or of the last
	Parent       string
	Labels       []string // name=value: all of them, at most 64
	IDPrefix     string
	DueBefore    *time.Time // tasks whose not_before is not later

	Created, Started, Finished TimeRange

	Desc     bool     // the last ones first
	Count    bool     // how many there are is answered, too
	Fields   []string // of each task, these fields only; none: all
	Limit    int      // default 100, at most 1,000
	Cursor   string
	Stale    bool
	MinIndex uint64
	// Sight says what the caller may see, by behavior and by the number of the token that created it. Nil: everything.
	Sight func(behavior string, creator uint64) bool `json:"-"`
}

// TimeRange is from From, up to but without To. Nil is no bound.
type TimeRange struct{ From, To *time.Time }

// ListReply is a page of tasks: in the order of the one range of Started and Finished that was given, else of creation.
type ListReply struct {
	Tasks  []*Task `json:"tasks"`
	Cursor string  `json:"cursor,omitempty"`
	// Examined is how many records were read: a page ends after 100,000, with a cursor, however few of them it has.
	Examined int64 `json:"examined,omitempty"`
	// Count is how many there are, if it was asked for. CountMore: there may be more, as nothing is counted behind 10,000 tasks or 100,000 records.
	Count     *int64 `json:"count,omitempty"`
	CountMore bool   `json:"count_more,omitempty"`
}

// CancelReply answers a cancel. Told (202) means that the worker is being told; else the cancel is done (200).
type CancelReply struct {
	Task *Task `json:"task"`
	Told bool  `json:"-"`
}

// LogsGet are the query parameters of GET /v1/tasks/{id}/logs: where the answer begins. The zero value is the beginning.
type LogsGet struct {
	FromToken  uint64 // attempts with lesser tokens are left out
	FromOffset int64  // so many bytes of the attempt with this token are left out: the End of what was answered before
}

// LogsReply is what the attempts of a task logged, oldest first.
type LogsReply struct {
	Attempts []AttemptLog `json:"attempts"`
}

// AttemptLog is what one attempt wrote, bounded by limits.log_bytes. Such logs live on nodes' disks, not in the log of Raft:
// the logs of a lost node are lost.
type AttemptLog struct {
	Attempt int64  `json:"attempt"`
	Token   uint64 `json:"token"`
	Text    string `json:"text"`
	End     int64  `json:"end,omitempty"` // how many bytes the attempt had logged behind the last one of Text
}

// PushRequest is POST /v1/modules.
type PushRequest struct {
	Namespace string
	Name      string          // behavior name for a module without a manifest
	Manifest  json.RawMessage // if given, it is used instead of the module's own
	Wasm      io.Reader
	Size      int64 // -1: unknown
	// May returns an error if the caller may not deploy a behavior. Nil: it may deploy all.
	May func(behavior string) error
}

// Module is an uploaded module.
type Module struct {
	Digest    string           `json:"digest"`
	Version   string           `json:"version"`
	Size      int64            `json:"size"`
	Behaviors []ModuleBehavior `json:"behaviors"`
}

// ModuleBehavior is one behavior that a module holds.
type ModuleBehavior struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Active  bool   `json:"active"`
}

// Behavior is a line of GET /v1/behaviors.
type Behavior struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Kind    string `json:"kind"` // wasm, external
	Paused  bool   `json:"paused"`
}

// BehaviorDetail is GET /v1/behaviors/{name}.
type BehaviorDetail struct {
	Behavior
	Module   string            `json:"module"`
	Manifest json.RawMessage   `json:"manifest"` // the behavior's entry, defaults filled in
	Versions []BehaviorVersion `json:"versions"` // newest first
}

// BehaviorVersion is one kept version.
type BehaviorVersion struct {
	Version     string `json:"version"`
	Module      string `json:"module"`
	Active      bool   `json:"active"`
	ActivatedAt Time   `json:"activated_at"`
}

// Cluster is GET /v1/cluster.
type Cluster struct {
	Leader       string       `json:"leader"` // "" if none is known
	Nodes        []Node       `json:"nodes"`
	Workers      []Worker     `json:"workers"`
	Tasks        Totals       `json:"tasks"`
	FeatureLevel FeatureLevel `json:"feature_level"`
}

// FeatureLevel says which entries the log of a cluster may hold: those that builds of this level know (SPEC C9). The level
// rises by itself once all members have known the next level for ten minutes.
type FeatureLevel struct {
	Level  uint64   `json:"level"`
	Known  uint64   `json:"known"`             // the highest level that the answering node knows
	HeldBy []string `json:"held_by,omitempty"` // members that keep the level from being raised, by what they said when they started
}

// Node is one member. If the member does not answer, Reachable is false, and Node has only what other members know of it.
type Node struct {
	ID           string     `json:"id"`
	HTTP         string     `json:"http"`
	Raft         string     `json:"raft"` // node-to-node address; workers' streams go there too
	Role         string     `json:"role"` // leader, follower, candidate, nonvoter, unreachable
	Reachable    bool       `json:"reachable"`
	Term         uint64     `json:"term"`
	AppliedIndex uint64     `json:"applied_index"`
	Digest       string     `json:"digest"` // "index:hex"
	Version      string     `json:"version"`
	FeatureLevel uint64     `json:"feature_level,omitempty"` // the highest that its build knows
	Drained      bool       `json:"drained,omitempty"`       // its workers get no new tasks (SPEC L10)
	Voter        bool       `json:"voter"`                   // it votes now
	Vote         string     `json:"vote,omitempty"`          // what is settled (SPEC C2): newcomer, voter, held; absent: nothing is, below feature level 3
	Blobs        *NodeBlobs `json:"blobs,omitempty"`         // nil: the member does not answer
}

// Worker is one live session, or a program that holds external leases.
type Worker struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"` // session, external
	Node    string `json:"node,omitempty"`
	Session uint64 `json:"session,omitempty"`
	Slots   int64  `json:"slots,omitempty"`
	Running int64  `json:"running"`           // leases that it holds; with short tasks they may be more than Slots
	Drained bool   `json:"drained,omitempty"` // its node is drained
	Wall    *Wall  `json:"wall,omitempty"`    // around the process of its guests; absent: there is none, or the leader does not say
}

// Wall says what the kernel refuses to a process of guests (SPEC A10), as the process has read it back.
type Wall struct {
	InForce []string `json:"in_force"`          // no_new_privs, not_dumpable, no_core, seccomp, landlock, memory_cgroup
	Missing []string `json:"missing,omitempty"` // what is not in force, and why: "landlock: not supported by this kernel, …"

	OOMKills int64 `json:"oom_kills,omitempty"` // how often the kernel has ended such a process of the worker, because its cgroup needed too much memory
}

// Totals count the tasks of all namespaces.
type Totals struct {
	Created   int64 `json:"created"`
	Running   int64 `json:"running"`
	Retrying  int64 `json:"retrying"`  // failed, and due again
	Repeating int64 `json:"repeating"` // succeeded, and due again
	Success   int64 `json:"success"`
	Failure   int64 `json:"failure"`
}
