package task

import (
	"slices"

	"github.com/taskrt/taskrt/task/bounds"
	"github.com/taskrt/taskrt/task/names"
)

// Time is an instant of the log's wall clock (SPEC C3 `now`): Unix milliseconds. 0 means "none".
type Time int64

// MaxTime is the last Time that the API can write, 9999-12-31T23:59:59.999Z. A run that asks for a later time gets this
// time, so that every answer that shows the task stays readable.
const MaxTime Time = 253_402_300_799_999

// LeaseTime is an instant of the log's lease clock (SPEC C3 `lease_now`): milliseconds that advance only with a
// leader's monotonic clock. It has no epoch; only differences mean something. Never mix it with Time.
type LeaseTime int64

// Millis is a length of time in milliseconds.
type Millis int64

// DefaultNamespace is the namespace that exists from the start; SystemNamespace holds built-in behaviors' tasks.
const (
	DefaultNamespace = "default"
	SystemNamespace  = "_system"
)

// Key names one task.
//
//fields:wire append
type Key struct {
	Namespace string `cbor:"1,keyasint" field:"shared"`
	ID        string `cbor:"2,keyasint"`
}

// Status of a task (SPEC T1).
type Status uint8

// The four statuses. A task in CREATED waits and has no outcome in this cycle. A task in RUNNING is leased.
const (
	Created Status = iota + 1
	Running
	Success
	Failure
)

func (s Status) String() string {
	return names.Word(s, "INVALID", "CREATED", "RUNNING", "SUCCESS", "FAILURE")
}

// Encoding tells what the bytes of a Payload are.
type Encoding uint8

// None is the absent payload. JSON is a valid JSON text. Bytes is anything else (`…_base64` in the API).
const (
	None Encoding = iota
	JSON
	Bytes
)

// Payload is params, result, progress, checkpoint or error details. Data is never mutated after it was set.
//
//fields:hash part
//fields:wire value
type Payload struct {
	Encoding Encoding `cbor:"1,keyasint,omitempty"`
	Data     []byte   `cbor:"2,keyasint,omitempty"`
	Blobs    *Blobs   `cbor:"3,keyasint,omitempty"` // nil: neither is a blob nor names one
}

// Blobs says which files of the blob store a Payload needs (SPEC H3). Values are immutable.
//
//fields:wire pointer
type Blobs struct {
	Content string   `cbor:"1,keyasint,omitempty"` // digest: the payload's bytes are this blob, and Data is empty
	Size    int64    `cbor:"2,keyasint,omitempty"` // of Content, in bytes
	Named   []string `cbor:"3,keyasint,omitempty"` // digests that Data names as {"$blob": "sha256:…"}, sorted, each once
}

// Equal reports whether both payloads have the same encoding and bytes.
func (p Payload) Equal(q Payload) bool {
	return p.Encoding == q.Encoding && slices.Equal(p.Data, q.Data) && p.content() == q.content()
}

// content returns the digest of the blob that the payload is, or "".
func (p Payload) content() string {
	if p.Blobs == nil {
		return ""
	}
	return p.Blobs.Content
}

// Error codes of the host (SPEC T5). Guests may give their own, [a-z0-9_.-]{1,64}.
const (
	CodeCancelled        = "CANCELLED"
	CodeHandlerError     = "HANDLER_ERROR"
	CodeTrap             = "TRAP"
	CodeTimeout          = "TIMEOUT"
	CodeOutOfMemory      = "OUT_OF_MEMORY"
	CodeOutOfFuel        = "OUT_OF_FUEL"
	CodeNoResult         = "NO_RESULT"
	CodeLostTooOften     = "LOST_TOO_OFTEN"
	CodeDeadlineExceeded = "DEADLINE_EXCEEDED"
	CodeCompletionFailed = "COMPLETION_FAILED"
	CodeCrashed          = "CRASHED"       // the process that ran it, and nothing else, died (SPEC L5)
	CodeChildRefused     = "CHILD_REFUSED" // a success whose children could not be submitted
)

// Error is the outcome of a failed run.
//
//fields:hash maybe
//fields:wire pointer
type Error struct {
	Code      string  `cbor:"1,keyasint" field:"name"`
	Message   string  `cbor:"2,keyasint,omitempty"`
	Retryable bool    `cbor:"3,keyasint,omitempty"`
	Details   Payload `cbor:"4,keyasint,omitempty"`
}

// Lease is the right of one worker to run one attempt (SPEC L1-L3).
//
//fields:hash maybe
//fields:wire pointer
type Lease struct {
	Token   uint64 `cbor:"1,keyasint"` // strictly larger for every later lease of the cluster
	Session uint64 `cbor:"2,keyasint"` // the session that keeps it alive
	Seq     uint64 `cbor:"3,keyasint"` // number of the assignment within the session, 1, 2, …
	Worker  string `cbor:"4,keyasint" field:"shared"`
	Node    string `cbor:"5,keyasint,omitempty" field:"shared"` // node the worker belongs to; "" for a separate worker process
	Report  uint64 `cbor:"6,keyasint,omitempty"`                // highest report seq applied under this token (SPEC L3)

	Given LeaseTime `cbor:"7,keyasint,omitempty"` // when it was given: run_timeout counts from here (SPEC L7)

	// The rest is set for external leases only, which no session keeps alive: Session and Seq are 0 then (SPEC L2).
	TTL      Millis    `cbor:"8,keyasint,omitempty"`  // how long a heartbeat keeps it
	Expires  LeaseTime `cbor:"9,keyasint,omitempty"`  // lost at or after it, by a Tick only; see Machine.leaseEnd
	Request  string    `cbor:"10,keyasint,omitempty"` // the accept that it was given to (SPEC J2)
	GraceEnd LeaseTime `cbor:"11,keyasint,omitempty"` // being cancelled: the token dies then (SPEC L8); 0: not
}

// External reports whether the lease belongs to an external worker (SPEC section 8). Heartbeats renew such a lease, and no session does.
func (l *Lease) External() bool { return l.Session == 0 }

// Attempt is one entry of a task's history.
//
//fields:hash list
//fields:wire list
type Attempt struct {
	Number     int64  `cbor:"1,keyasint"`
	Token      uint64 `cbor:"2,keyasint"`
	Worker     string `cbor:"3,keyasint" field:"name"`
	Node       string `cbor:"4,keyasint,omitempty" field:"name"`
	StartedAt  Time   `cbor:"5,keyasint"`
	FinishedAt Time   `cbor:"6,keyasint,omitempty"`
	Outcome    string `cbor:"7,keyasint" field:"name"`           // "SUCCESS", an error code, "LOST", "SUSPECT", "GIVEN_BACK", "SNOOZED"
	Fuel       int64  `cbor:"8,keyasint,omitempty"`              // units that its guest used, 0..MaxFuel; 0: none, not metered, or nobody could say
	Pages      int64  `cbor:"9,keyasint,omitempty" field:"late"` // most linear memory that its guest had, in pages of PageBytes (SPEC U1); 0: as Fuel
}

// MaxFuel bounds the fuel of an attempt. PageBytes are the bytes of a page.
const (
	MaxFuel   = bounds.MaxFuel
	PageBytes = bounds.PageBytes
)

type used = bounds.Used

// Ended remembers the last ended lease and the finish that ended it, so that the same finish sent again can be
// answered "repeated" (SPEC L3) until a later lease is given.
//
//fields:wire pointer
type Ended struct {
	Token  uint64 `cbor:"1,keyasint"`
	Finish uint64 `cbor:"2,keyasint,omitempty" field:"fixed"` // hash of the finish; 0 when the lease did not end by a finish

	Session uint64 `cbor:"3,keyasint,omitempty"` // of an operation's task: the session that ran it (SPEC O3)
}

// Label is one name=value of a task; a task's labels are sorted by name.
//
//fields:hash list
//fields:wire list
type Label struct {
	Name  string `cbor:"1,keyasint" field:"shared"`
	Value string `cbor:"2,keyasint" field:"shared"`
}

// MaxHistory is how many attempts a record keeps (SPEC section 3).
const MaxHistory = 5

// Task is one record (SPEC section 3). Task values are immutable: the machine replaces them, readers may keep them.
//
//fields:packed
//fields:wire pointer
type Task struct {
	Namespace string `cbor:"1,keyasint" field:"head,shared"`
	ID        string `cbor:"2,keyasint" field:"head"`
	Behavior  string `cbor:"3,keyasint" field:"head,shared"`
	Version   string `cbor:"4,keyasint,omitempty" field:"bit=17,place=12,name"` // pinned version (SPEC B2); "" = the active one at the next lease
	// Values of one byte stand side by side, so that a Task takes 496 bytes: more than 512 would be 576 of the heap.
	Status   Status `cbor:"5,keyasint" field:"head"`
	Priority int8   `cbor:"29,keyasint" field:"head"`                      // 0..9, default 4 (SPEC T4)
	Role     Role   `cbor:"31,keyasint,omitempty" field:"bit=16,place=20"` // of an operation's task (SPEC O1-O3); Parent is the operation's ID then
	// Suspect says that a process died in which the task executed beside others. The task runs alone until an attempt ends in another way (SPEC L5).
	Suspect bool `cbor:"33,keyasint,omitempty" field:"bit=18"`
	// Excess says that the task is kept for the default times although its behavior keeps final tasks for ever. Its namespace has
	// no quota, and keeps the highest number of tasks for ever already (SPEC T9).
	Excess bool `cbor:"35,keyasint,omitempty" field:"bit=20"`

	Params     Payload `cbor:"6,keyasint,omitempty" field:"bit=0,place=1,blobs"`
	Result     Payload `cbor:"7,keyasint,omitempty" field:"bit=1,place=2,blobs"`
	Error      *Error  `cbor:"8,keyasint,omitempty" field:"bit=2,place=5"`
	Progress   Payload `cbor:"9,keyasint,omitempty" field:"bit=3,place=3"`
	Checkpoint Payload `cbor:"10,keyasint,omitempty" field:"bit=4,place=4,blobs"`

	NotBefore Time `cbor:"11,keyasint,omitempty" field:"bit=5,place=6"` // 0: none, the task will not run again by itself
	Deadline  Time `cbor:"12,keyasint,omitempty" field:"bit=6,place=7"`

	Attempt   int64 `cbor:"13,keyasint,omitempty" field:"bit=7,place=11"` // +1 at every lease, never back (SPEC T8)
	Failures  int64 `cbor:"14,keyasint,omitempty" field:"with=Attempt"`   // failed runs since the last success, retry, rerun or resubmit
	LostCount int64 `cbor:"15,keyasint,omitempty" field:"with=Attempt"`   // losses since the last outcome or durable checkpoint

	Lease      *Lease `cbor:"16,keyasint,omitempty" field:"running,place=13"`
	Ended      *Ended `cbor:"17,keyasint,omitempty" field:"bit=8,place=14"`
	Resubmit   Time   `cbor:"18,keyasint,omitempty" field:"with=Lease"`        // resubmit flag with its time (SPEC I3); 0: not set
	CancelCode string `cbor:"19,keyasint,omitempty" field:"with=Lease,shared"` // "" unless cancel was requested; CANCELLED or DEADLINE_EXCEEDED

	Rev        uint64 `cbor:"20,keyasint" field:"head"`
	CreatedRev uint64 `cbor:"21,keyasint" field:"head"`
	CreatedAt  Time   `cbor:"22,keyasint" field:"head"`
	StartedAt  Time   `cbor:"23,keyasint,omitempty" field:"bit=9,place=8"`
	FinishedAt Time   `cbor:"24,keyasint,omitempty" field:"bit=10,place=9"`

	History   []Attempt `cbor:"25,keyasint,omitempty" field:"bit=11,place=15"`
	Parent    string    `cbor:"26,keyasint,omitempty" field:"bit=12,place=16"`
	Partition string    `cbor:"27,keyasint,omitempty" field:"bit=13,place=17"`
	Labels    []Label   `cbor:"28,keyasint,omitempty" field:"bit=14,place=19"`

	ConcurrencyKey string `cbor:"30,keyasint,omitempty" field:"bit=15,place=18"` // SPEC L11; computed by the proposer when params are set
	Bound          uint64 `cbor:"32,keyasint,omitempty" field:"with=Role"`       // a cleanup: the only session that may run it (SPEC O3)
	// DueSince is the time at which NotBefore was set, if NotBefore had passed then. In T4 order the task is due since that time, so
	// that no task goes before others because somebody named a past time. 0: the task is due since NotBefore.
	DueSince Time `cbor:"34,keyasint,omitempty" field:"bit=19,place=10"`
	// Creator is the number of the access token that created the task, or the task's parent or operation (SPEC A5). 0: nobody in particular.
	Creator uint64 `cbor:"36,keyasint,omitempty" field:"bit=21,place=21"`

	Trace string `cbor:"37,keyasint,omitempty" field:"bit=22,place=22"` // traceparent of what made it due (SPEC U2); "": none
}

// MaxMessage bounds the message of an error in bytes.
const MaxMessage = 4 << 10

// Role is what a task does for the operation that made it.
type Role uint8

// RoleNone is the role of an ordinary task. A task of an operation has no params of its own: readers make its params from the operation's record. A
// hundred thousand copies of one argument would fill the memory.
const (
	RoleNone Role = iota
	RolePartition
	RoleCompletion
	RoleCleanup
)

// Key returns the name of the task.
func (t *Task) Key() Key { return Key{t.Namespace, t.ID} }

// Final reports whether the task has an outcome and will not run again by itself (SPEC T2).
func (t *Task) Final() bool { return (t.Status == Success || t.Status == Failure) && t.NotBefore == 0 }
