// Package insight is the contract of questions about what does not go on: which tasks failed, by group (SPEC Q2), and why a task waits (SPEC Q4).
package insight

import (
	"context"
	"embed"

	"github.com/taskrt/taskrt/api"
)

// Sources are the files with the types that travel; see api.Sources.
//
//go:embed types.go
var Sources embed.FS

// Groups of failures that an answer may have, and has if nothing else is asked for.
const (
	MaxGroups     = 10_000
	DefaultGroups = 100
)

// FailuresRequest is GET /v1/failures (SPEC Q2).
type FailuresRequest struct {
	Namespace string
	Behaviors []string // any of them; * stands for any text
	Errors    []string // codes; any of them
	Limit     int      // groups: 1 to MaxGroups; 0 means DefaultGroups
	// Sight says of which behaviors the caller may see failures. Nil: of all.
	Sight func(behavior string) bool
}

// Check tells what is wrong with the request by itself, and fills in namespace and limit; nil or an *api.Error.
func (r *FailuresRequest) Check() error {
	list := api.ListRequest{Namespace: r.Namespace, Behaviors: r.Behaviors, Errors: r.Errors}
	if err := list.Check(); err != nil {
		return err
	}
	r.Namespace, r.Behaviors, r.Errors = list.Namespace, list.Behaviors, list.Errors
	if r.Limit == 0 {
		r.Limit = DefaultGroups
	}
	if r.Limit < 0 || r.Limit > MaxGroups {
		e := api.FieldError(api.CodeInvalidField, "limit", "must be 1 to %d", MaxGroups)
		e.Limit = MaxGroups
		return e
	}
	return nil
}

// FailuresReply groups the tasks that are a FAILURE now by behavior, version and code.
type FailuresReply struct {
	Groups []FailureGroup `json:"groups"`          // those with the most failures first
	Other  *FailureCounts `json:"other,omitempty"` // all failures that are in none of the groups; absent: there are none
}

// FailureGroup is the failures of one behavior, version and code.
type FailureGroup struct {
	Behavior string `json:"behavior"`
	Version  string `json:"version,omitempty"` // the pinned one
	Code     string `json:"code"`
	FailureCounts
	Sample string `json:"sample,omitempty"` // ID of the task that failed last; absent: it has changed just now
}

// FailureCounts says how many tasks failed, and when.
type FailureCounts struct {
	Retrying int64    `json:"retrying"` // tasks that wait for their next attempt
	Final    int64    `json:"final"`    // tasks that will not run again by themselves
	FirstAt  api.Time `json:"first_at"` // of the last outcome of the task that failed first
	LastAt   api.Time `json:"last_at"`  // of the last outcome of the task that failed last
}

// WhyReply says why a task waits (SPEC Q4).
type WhyReply struct {
	Namespace string `json:"namespace"`
	ID        string `json:"id"`
	Behavior  string `json:"behavior"`
	Waits     bool   `json:"waits"` // else the one reason says what the task does instead
	// Reasons are all that stands in the way now, what decides first. Without what stands before it, a later one would.
	Reasons []WaitReason `json:"reasons"`
}

// WaitReason is one reason why a task waits, or does not.
type WaitReason struct {
	Code    string    `json:"code"`
	Text    string    `json:"text"`              // for people
	At      *api.Time `json:"at,omitempty"`      // of due_later and deadline_passed: that time; of running: since when
	Before  int64     `json:"before,omitempty"`  // of behind: how many tasks of its behavior and version come first
	Limit   int64     `json:"limit,omitempty"`   // of limits
	By      []string  `json:"by,omitempty"`      // of limits: IDs of tasks that hold it, MaxBy of them at most
	Workers []string  `json:"workers,omitempty"` // whom the reason is about, MaxBy of them at most

	// Preparing is, of module_not_ready, how far workers are with the module, MaxBy of them at most. A worker of an earlier version does not
	// say it.
	Preparing []Preparation `json:"preparing,omitempty"`
}

// Preparation is how far a worker is with a module that it has not ready.
type Preparation struct {
	Worker string    `json:"worker"`
	Step   string    `json:"step"`             // queued behind other modules, fetching, compiling, or failed, which is tried again
	Since  *api.Time `json:"since,omitempty"`  // when the step began
	Failed int64     `json:"failed,omitempty"` // tries that have failed
	Error  string    `json:"error,omitempty"`  // why the last try failed, at most 500 bytes. Only a caller with the role read for everything sees it.
}

// MaxBy bounds the names in a WaitReason.
const MaxBy = 10

// The codes of reasons. Later versions may add some.
const (
	NoLeader       = "no_leader"            // nobody assigns tasks now
	DueLater       = "due_later"            // its time has not come
	DeadlinePassed = "deadline_passed"      // it is about to be cancelled
	SpaceInactive  = "namespace_inactive"   // its namespace takes no work, or is being purged
	SpaceLimit     = "namespace_limit"      // max_running of its namespace is reached
	BehaviorPaused = "behavior_paused"      //
	NoVersion      = "version_missing"      // its behavior was deleted, or the version is gone that it is pinned to
	BehaviorLimit  = "behavior_limit"       // max_concurrent of its behavior is reached
	KeyLimit       = "key_limit"            // the slots of its concurrency key are taken, or meant for tasks before it
	NoAcceptor     = "no_acceptor"          // no program accepts tasks of its external behavior now
	NoWorker       = "no_worker"            // no worker is connected
	WorkerDrained  = "worker_drained"       // these workers are drained, or leave
	ModuleNotReady = "module_not_ready"     // none of these workers has the module ready
	NoSuitedWorker = "no_suited_worker"     // a suspect waits for a process of its own, or a cleanup for the session that it belongs to
	SlotsTaken     = "slots_taken"          // all workers that could run it are busy
	Behind         = "behind"               // other tasks come first
	Assigning      = "assigning"            // nothing stands in its way: it is about to run
	Running        = "running"              // it does not wait: it runs
	Final          = "final"                // it does not wait: it has an outcome, and will not run again by itself
	Unknown        = "leader_does_not_tell" // what the workers and the queue say is not known: the leader did not answer
)

// Insight answers questions about what does not go on.
type Insight interface {
	// Failures groups the tasks that have failed (SPEC Q2).
	Failures(ctx context.Context, r FailuresRequest) (*FailuresReply, error)
	// Why says why a task waits (SPEC Q4).
	Why(ctx context.Context, namespace, id string) (*WhyReply, error)
}
