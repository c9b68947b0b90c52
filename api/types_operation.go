package api

import (
	"encoding/json"
	"time"
)

// StartOperationRequest is POST /v1/operations (SPEC O1).
type StartOperationRequest struct {
	Namespace  string            `json:"namespace,omitempty"`
	ID         string            `json:"id,omitempty"` // 3..100 characters of A-Z a-z 0-9 . _ -; drawn if absent
	Behavior   string            `json:"behavior"`
	Target     string            `json:"target,omitempty"`
	Object     string            `json:"object,omitempty"`
	Partitions Partitions        `json:"partitions"` // how many, or their names
	Arg        json.RawMessage   `json:"arg,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	Priority   *int              `json:"priority,omitempty"`
}

// Partitions are a number, or a list of names: 1 to 100,000 (SPEC O1).
type Partitions struct {
	Count int64
	Names []string // nil: "0", "1", …
}

// Operation is one fan-out as JSON (SPEC section 7).
type Operation struct {
	Namespace string `json:"namespace"`
	ID        string `json:"id"`
	Behavior  string `json:"behavior"`
	Version   string `json:"version"`
	Target    string `json:"target"`
	Object    string `json:"object,omitempty"`
	Instance  int64  `json:"instance"` // counts up per target and behavior
	Status    string `json:"status"`   // RUNNING, COMPLETING, SUCCESS, FAILURE
	// Stopping says that the operation was cancelled, or failed fast: its tasks that are not final are being cancelled.
	Stopping     bool              `json:"stopping,omitempty"`
	Partitions   int64             `json:"partitions"`
	Counts       OperationCounts   `json:"counts"`
	Cleanups     OperationCleanups `json:"cleanups"`
	Arg          json.RawMessage   `json:"arg,omitempty"`
	Result       json.RawMessage   `json:"result,omitempty"` // of the completion
	ResultBase64 []byte            `json:"result_base64,omitempty"`
	Error        *TaskError        `json:"error,omitempty"`
	Completion   string            `json:"completion,omitempty"` // ID of the completion's task, once there is one
	Labels       map[string]string `json:"labels"`
	Priority     int               `json:"priority"`
	Rev          uint64            `json:"rev"`
	CreatedAt    Time              `json:"created_at"`
	FinishedAt   *Time             `json:"finished_at,omitempty"`
	CreatedBy    string            `json:"created_by,omitempty"` // as a task's
	Traceparent  string            `json:"traceparent,omitempty"`
	Tracestate   string            `json:"tracestate,omitempty"`
}

// Final reports whether the operation has ended.
func (o *Operation) Final() bool { return o.Status == "SUCCESS" || o.Status == "FAILURE" }

// OperationCounts count the partitions of an operation by what they do. Their sum is the number of partitions.
type OperationCounts struct {
	Waiting  int64 `json:"waiting"`
	Running  int64 `json:"running"`
	Retrying int64 `json:"retrying"`
	Success  int64 `json:"success"`
	Failure  int64 `json:"failure"`
}

// OperationCleanups count the cleanups of an operation (SPEC O3).
type OperationCleanups struct {
	Made    int64 `json:"made"`
	Dropped int64 `json:"dropped"` // the session that should have run them had ended
}

// OperationGet are the query parameters of GET /v1/operations/{id}.
type OperationGet struct {
	Wait     time.Duration
	Until    string // final (default), completing, rev:N
	Stale    bool
	MinIndex uint64
}

// OperationsRequest are the query parameters of GET /v1/operations.
type OperationsRequest struct {
	Namespace, Status, Behavior, Target string
	Limit                               int // default 100, at most 1,000
	Cursor                              string
	Stale                               bool
	MinIndex                            uint64
	// Sight says what the caller may see, by behavior and by the number of the token that created it. Nil: everything.
	Sight func(behavior string, creator uint64) bool
}

// OperationsReply is a page of operations in order of creation.
type OperationsReply struct {
	Operations []*Operation `json:"operations"`
	Cursor     string       `json:"cursor,omitempty"`
}

// PartitionsRequest are the query parameters of GET /v1/operations/{id}/partitions. The answer is a page of tasks in order of
// their partitions. A partition whose task is not made yet is left out.
type PartitionsRequest struct {
	Namespace, ID, Status string
	Limit                 int
	Cursor                string
}
