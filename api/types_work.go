package api

import (
	"encoding/json"
	"iter"
	"time"
)

// RetryRequest is POST /v1/tasks/{id}/retry.
type RetryRequest struct {
	Namespace      string    `json:"-"`
	ID             string    `json:"-"`
	Version        string    `json:"version,omitempty"` // "active", or a kept version: re-pin (SPEC B2)
	NotBefore      *Time     `json:"not_before,omitempty"`
	Delay          *Duration `json:"delay,omitempty"`
	Deadline       *Time     `json:"deadline,omitempty"`
	KeepCheckpoint bool      `json:"keep_checkpoint,omitempty"` // keep it although another version, which may not understand it, will run
}

// ResubmitRequest is POST /v1/tasks/{id}/resubmit (SPEC J5, I3).
type ResubmitRequest struct {
	Namespace    string          `json:"-"`
	ID           string          `json:"-"`
	NotBefore    *Time           `json:"not_before,omitempty"`
	Delay        *Duration       `json:"delay,omitempty"`
	Deadline     *Time           `json:"deadline,omitempty"`
	Params       json.RawMessage `json:"params,omitempty"`
	ParamsBase64 []byte          `json:"params_base64,omitzero"`
}

// TxnRequest is POST /v1/txn (SPEC X1). It has at most 1,000 parts (MaxTxnParts) and 512 KiB (MaxTxnBytes). A task may stand
// only once in submit, update, finish and delete together.
type TxnRequest struct {
	Namespace string          `json:"namespace,omitempty"`
	Depends   []TxnDepend     `json:"depends,omitempty"`
	Submit    []SubmitRequest `json:"submit,omitempty"`
	Update    []TxnUpdate     `json:"update,omitempty"`
	Finish    []FinishRequest `json:"finish,omitempty"`
	Delete    []TxnDelete     `json:"delete,omitempty"`
}

// TxnDepend is a condition of a transaction: the task exists, and has this rev, or this current token.
type TxnDepend struct {
	ID    string `json:"id"`
	Rev   uint64 `json:"rev,omitempty"`
	Token uint64 `json:"token,omitempty"`
}

// TxnUpdate changes a task that is not running. A field that is absent stays as it is.
type TxnUpdate struct {
	ID           string            `json:"id"`
	Rev          uint64            `json:"rev,omitempty"`
	NotBefore    *Time             `json:"not_before,omitempty"`
	Delay        *Duration         `json:"delay,omitempty"`
	Deadline     *Time             `json:"deadline,omitempty"`
	Priority     *int              `json:"priority,omitempty"`
	Labels       map[string]string `json:"labels,omitzero"` // {} takes all labels away
	Params       json.RawMessage   `json:"params,omitempty"`
	ParamsBase64 []byte            `json:"params_base64,omitzero"`
}

// TxnDelete removes a task that is not running.
type TxnDelete struct {
	ID  string `json:"id"`
	Rev uint64 `json:"rev,omitempty"`
}

// TxnReply has the records of submits, updates and finishes, in this order. They lack the payloads that the transaction did not
// set.
type TxnReply struct {
	Tasks []*Task `json:"tasks"`
}

// Reason is one reason why a transaction was refused: an element of Error.Reasons.
type Reason struct {
	Kind string `json:"kind"` // missing, changed, leased, exists
	ID   string `json:"id"`
}

// PutBehaviorRequest is PUT /v1/behaviors/{name} (SPEC J1). Policy is the body: {"kind":"external","lease":"10s",…} with
// the policy fields of a manifest's behavior.
type PutBehaviorRequest struct {
	Namespace string
	Name      string
	Policy    json.RawMessage
}

// PutBehaviorReply says whether the behavior is new (201).
type PutBehaviorReply struct {
	Behavior *BehaviorDetail `json:"behavior"`
	Created  bool            `json:"-"`
}

// BehaviorStats counts a behavior's tasks (SPEC J7).
type BehaviorStats struct {
	Due      int64 `json:"due"`              // tasks whose time has come; also those that a limit, a pause or a missing module blocks
	Delayed  int64 `json:"delayed"`          // tasks whose first run or repeat lies ahead
	Running  int64 `json:"running"`          //
	Retrying int64 `json:"retrying"`         // failed tasks whose retry lies ahead
	Oldest   *Time `json:"oldest,omitempty"` // not_before of the oldest due task
}

// AcceptRequest is POST /v1/behaviors/{name}/accept (SPEC J2).
//
//fields:json
type AcceptRequest struct {
	Namespace    string    `json:"-"`
	Behavior     string    `json:"-"`
	Worker       string    `json:"worker"`                   // 1..128 characters; who runs the tasks, for people
	Max          int       `json:"max,omitempty"`            // 1..MaxAccept, default 1
	Wait         *Duration `json:"wait,omitempty"`           // 0 (default): do not wait; at most MaxWait
	Lease        *Duration `json:"lease,omitempty"`          // 1s..1h; default: the behavior's
	MaxNotBefore *Time     `json:"max_not_before,omitempty"` // take tasks that are due up to this time
	RequestID    string    `json:"request_id,omitempty"`     // 1..128 characters; the same ID again gets the same tasks
}

// AcceptReply has the leased tasks. Each has a lease.token, which is the right to report.
type AcceptReply struct {
	Tasks []*Task `json:"tasks"`
	// Undelivered gives the tasks back, and this counts as nothing. It is called if the answer could not be written. Nil means
	// that there is nothing to do.
	Undelivered func() `json:"-"`
}

// HeartbeatRequest is POST /v1/tasks/{id}/heartbeat (SPEC J3).
type HeartbeatRequest struct {
	Namespace        string          `json:"-"`
	ID               string          `json:"-"`
	Token            uint64          `json:"token"`
	Seq              uint64          `json:"seq,omitempty"` // rises with each report of a token; a report with a lower number changes nothing
	Progress         json.RawMessage `json:"progress,omitempty"`
	Checkpoint       json.RawMessage `json:"checkpoint,omitempty"`
	CheckpointBase64 []byte          `json:"checkpoint_base64,omitzero"`
	Extend           *Duration       `json:"extend,omitempty"` // the lease lasts this long from now on: 1s..1h
}

// HeartbeatReply says what remains of the lease and what the worker should know.
//
//fields:json answer
type HeartbeatReply struct {
	LeaseMS       int64 `json:"lease_ms"`
	LostNotBefore Time  `json:"lost_not_before"`
	Resubmit      bool  `json:"resubmit"` // somebody asked for another run after this one
	Cancel        bool  `json:"cancel"`   // stop: a task that is not finished soon becomes CANCELLED
}

// FinishRequest is POST /v1/tasks/{id}/finish (SPEC J4). Without a result and an error, the last progress is the result.
//
//fields:json
type FinishRequest struct {
	Namespace    string          `json:"namespace,omitempty"`
	ID           string          `json:"id,omitempty"` // for a list of reports; elsewhere the ID stands in the path
	Token        uint64          `json:"token"`
	Seq          uint64          `json:"seq,omitempty"`
	Result       json.RawMessage `json:"result,omitempty"`
	ResultBase64 []byte          `json:"result_base64,omitzero"`
	Error        *ReportError    `json:"error,omitempty"`
	AgainAt      *Time           `json:"again_at,omitempty"` // SPEC R4
	Progress     json.RawMessage `json:"progress,omitempty"` // the latest, as in a heartbeat
	Minimal      bool            `json:"-"`                  // Prefer: return=minimal; the answer has what Task.Minimal leaves of the task, or more
	Refused      *Error          `json:"-"`                  // why the caller may not report this, one of many: nothing is done, and this is the answer
}

// ReportError is the error of a failed run as its worker reports it.
type ReportError struct {
	Code      string          `json:"code,omitempty"` // [a-z0-9_.-]{1,64}, or a code of the host; default HANDLER_ERROR
	Message   string          `json:"message,omitempty"`
	Retryable *bool           `json:"retryable,omitempty"` // default true (SPEC T7)
	Details   json.RawMessage `json:"details,omitempty"`
}

// FinishReply has the record after the finish.
//
//fields:json answer
type FinishReply struct {
	Task     *Task `json:"task"`
	Repeated bool  `json:"repeated,omitempty"` // this very finish was applied before
}

// FinishResult is the answer to one report of a bulk finish: a reply or an error.
type FinishResult struct {
	*FinishReply
	Error *Error `json:"error,omitempty"`
}

// SnoozeRequest is POST /v1/tasks/{id}/snooze (SPEC J4, R5).
type SnoozeRequest struct {
	Namespace        string          `json:"-"`
	ID               string          `json:"-"`
	Token            uint64          `json:"token"`
	Seq              uint64          `json:"seq,omitempty"`
	AgainAt          *Time           `json:"again_at,omitempty"` // default: now + 1 s
	Progress         json.RawMessage `json:"progress,omitempty"` // the latest, as in a heartbeat
	Checkpoint       json.RawMessage `json:"checkpoint,omitempty"`
	CheckpointBase64 []byte          `json:"checkpoint_base64,omitzero"`
}

// StoreTask is one record of the TaskStore API, as its clients know it (SPEC X2). Timespec and Duration are the same
// value: available time in Unix milliseconds.
type StoreTask struct {
	ID       uint64 `json:"id"`
	Group    string `json:"group"`
	Data     string `json:"data"`
	Timespec int64  `json:"timespec"`
	Duration int64  `json:"duration"`
	OwnerID  int64  `json:"ownerid"`
}

// StoreList yields records as they are read, because their data may be large. It can be ranged over once. If it yields an
// error, the list has broken off, and nothing follows.
type StoreList iter.Seq2[*StoreTask, error]

// CollectStore reads a list to its end. It takes what StoreTasks and StoreGroup return.
func CollectStore(list StoreList, err error) ([]*StoreTask, error) {
	if err != nil {
		return nil, err
	}
	tasks := []*StoreTask{}
	for t, err := range list {
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// ListStore is the list of records that are in memory.
func ListStore(tasks []*StoreTask) StoreList {
	return func(yield func(*StoreTask, error) bool) {
		for _, t := range tasks {
			if !yield(t, nil) {
				return
			}
		}
	}
}

// StoreUpdateRequest is POST /taskstore/update. Times are Unix ms. 0 means now, and a negative value means so many ms from now.
type StoreUpdateRequest struct {
	Namespace string
	ClientID  int64
	Adds      []StoreAdd
	Updates   []StoreChange
	Deletes   []uint64
	Depends   []uint64
}

// StoreAdd is a new record.
type StoreAdd struct {
	Group    string
	Data     string
	Timespec int64
}

// StoreChange replaces a record.
type StoreChange struct {
	ID       uint64
	Data     string
	Timespec int64
}

// StoreClaimRequest is POST /taskstore/claim.
type StoreClaimRequest struct {
	Namespace string
	ClientID  int64
	Group     string
	Duration  time.Duration
	Depends   []uint64
}

// StoreReply has the new records, or says why nothing happened.
type StoreReply struct {
	Tasks  []*StoreTask
	Errors *StoreErrors
}

// StoreErrors lists the IDs of records that are missing, and of records that another client owns.
type StoreErrors struct {
	Changes []uint64 `json:"changes"`
	Deletes []uint64 `json:"deletes"`
	Depends []uint64 `json:"depends"`
	Owned   []uint64 `json:"owned"`
}
