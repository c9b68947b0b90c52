package runtime

import (
	"context"
	"errors"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/fetch"
	"github.com/taskrt/taskrt/runtime/guestspans"
)

// Attempt is what one run of a behavior is given. The byte slices are only read, and must not change during the run.
type Attempt struct {
	Behavior int32  // index of the behavior in its module's manifest: the argument of taskrt_run
	Params   []byte // channel 0
	// ParamsFrom and CheckpointFrom, if set, are read instead of Params and Checkpoint.
	ParamsFrom, CheckpointFrom *Source
	Info                       []byte // channel 1, JSON of abi.TaskInfo; nil reads as {}
	// MakeInfo, if set, makes Info when something asks for it, on the goroutine of Run: few guests do.
	MakeInfo   func() []byte
	Checkpoint []byte // channel 2; nil: none
	Config     []byte // channel 4; nil: none

	// Secrets, if set, is asked instead of Config.Grants, and returns the errors of package grants.
	Secrets func(name string) ([]byte, error)
	// Tasks, if set, says instead of Config.Grants whether the guest may submit tasks of a behavior.
	Tasks func(behavior string) bool
	// HTTP, if set, makes the guest's requests instead of Config.Grants, and returns the errors of package fetch.
	HTTP func(ctx context.Context, q *fetch.Request) (*fetch.Response, error)
	// Outside, if set, is asked for all that the three functions above do not say, instead of Config.Grants.
	Outside Outside
	// Watch, if set, stands before Outside, or before what Config.Grants does.
	Watch func(Outside) Outside
	// Spans, if set, notes the guest's own spans (SPEC U2).
	Spans guestspans.Spans

	// Limits; a zero stands for the default of a manifest that says nothing (package manifest).
	MemoryBytes     int64
	ResultBytes     int64
	CheckpointBytes int64
	LogBytes        int64
	RunTimeout      time.Duration // SPEC L7
	// Fuel is how many units the guest may use before it ends as OUT_OF_FUEL (package meter says what a unit is); 0:
	// no limit.
	Fuel int64
	// HeartbeatTimeout kills a guest that does not call beat for so long (SPEC L7); 0: no such limit. The time that
	// the host takes inside call does not count.
	HeartbeatTimeout time.Duration
	// ResultRequired turns "ok without a result" into NO_RESULT (SPEC T7).
	ResultRequired bool
}

// InfoJSON returns Info, and makes it first if MakeInfo is to make it.
func (a *Attempt) InfoJSON() []byte {
	if a.Info == nil && a.MakeInfo != nil {
		a.Info = a.MakeInfo()
	}
	return a.Info
}

// Outside does for an attempt what a capability allows to it, where another process is asked for it (SPEC A10). All methods are
// called on the goroutine of Run.
type Outside interface {
	// Secret reads a secret. It returns the errors of package grants.
	Secret(ctx context.Context, name string) ([]byte, error)
	// MaySubmit returns nil if the attempt may submit tasks of a behavior, and else ErrLeaseLost or grants.ErrDenied.
	MaySubmit(ctx context.Context, behavior string) error
	// HTTPLimits returns the longest bodies of a request and of a response that any rule allows. It returns ErrLeaseLost and the
	// errors of package fetch.
	HTTPLimits(ctx context.Context) (request, response int64, err error)
	// HTTP makes a request. It returns ErrLeaseLost and the errors of package fetch.
	HTTP(ctx context.Context, q *fetch.Request) (*fetch.Response, error)
}

// Host is what an attempt needs of the world outside. All methods are called on the goroutine of Run, one at a time; the
// slices are the host's to keep.
type Host interface {
	// Beat takes a heartbeat with progress (total 0: unknown) and the latest progress note (nil: none was written yet).
	// It must not block.
	Beat(done, total int64, note []byte) abi.Signals
	// Signals must not block. SignalDeadlineNear is added by this package.
	Signals() abi.Signals
	// Checkpoint returns once data is durable. The guest hears ECONFLICT of ErrLeaseLost, EDENIED of ErrDenied, and
	// EAGAIN of any other error. Checkpoint must return soon after ctx is done.
	Checkpoint(ctx context.Context, data []byte) error
	// Call answers op.partitions, blob.size and blob.read (abi/README.md) with at most abi.MaxResponse bytes.
	// ParsePartitions, ParseBlobName and ParseBlobRead take the payload apart; it has been checked. The guest is told
	// of the errors below by their statuses, and of any other error as EAGAIN. Call must return soon after ctx is
	// done.
	Call(ctx context.Context, op abi.Op, payload []byte) ([]byte, error)
	// Log takes one message or line, with a level as in package abi. Attempt.LogBytes already bounds what comes here.
	Log(level int, msg []byte)
}

// Errors for Host.Checkpoint and Host.Call, and what the guest hears.
var (
	ErrLeaseLost   = errors.New("runtime: the lease is lost") // ECONFLICT
	ErrDenied      = errors.New("runtime: not allowed")       // EDENIED
	ErrInvalid     = errors.New("runtime: wrong argument")    // EINVAL
	ErrTooBig      = errors.New("runtime: over a limit")      // E2BIG
	ErrNotFound    = errors.New("runtime: not there")         // ENOENT
	ErrUnsupported = errors.New("runtime: unknown here")      // ENOSYS
)

// Causes for cancelling the context of a run. A context may be cancelled with any cause. A cause that is or wraps
// ErrKilledTimeout or context.DeadlineExceeded ends the run as a TIMEOUT; any other cause ends it as Killed with that
// Cause.
var (
	ErrKilledTimeout = errors.New("runtime: killed: out of time")
	ErrKilledCancel  = errors.New("runtime: killed: cancelled, and the grace is over")
	ErrKilledLease   = errors.New("runtime: killed: the lease is lost or about to be")
	ErrKilledStop    = errors.New("runtime: killed: the worker stops")
)

// Kind says how a run ended.
type Kind uint8

// Killed is no outcome: the context of the run was cancelled. The others are outcomes.
const (
	Succeeded Kind = iota + 1
	Failed
	Cancelled // the guest acknowledged the cancel signal
	Yielded   // "run me again" (SPEC R5)
	Killed
)

func (k Kind) String() string {
	switch k {
	case Succeeded:
		return "succeeded"
	case Failed:
		return "failed"
	case Cancelled:
		return "cancelled"
	case Yielded:
		return "yielded"
	case Killed:
		return "killed"
	}
	return "invalid"
}

// Class says who decides whether a failure is retryable (SPEC R2).
type Class uint8

// Of ClassGuest, Outcome.Retryable decides; of the others, the behavior's on_trap, on_timeout and on_exhausted.
const (
	ClassGuest Class = iota + 1
	ClassTrap
	ClassTimeout
	ClassExhausted
)

// Codes of Outcome.Code that this package gives (SPEC T5).
const (
	CodeHandlerError = "HANDLER_ERROR"
	CodeTrap         = "TRAP"
	CodeTimeout      = "TIMEOUT"
	CodeOutOfMemory  = "OUT_OF_MEMORY"
	CodeOutOfFuel    = "OUT_OF_FUEL"
	CodeNoResult     = "NO_RESULT"
)

// Outcome is how a run ended.
type Outcome struct {
	Kind Kind
	// Of a failure. Code is one of the constants above or the guest's own, [a-z0-9_.-]{1,64}.
	Code      string
	Class     Class
	Retryable bool   // means something only if Class is ClassGuest
	Message   string // valid UTF-8
	Details   []byte // JSON: the guest's own, or {"stderr","trace"} of a trap; nil: none
	// Cause is why a Killed run was killed: context.Cause of its context.
	Cause error

	Result    []byte   // of a success, and of a failure with NextTime
	HasResult bool     // false: nothing was written
	Children  [][]byte // of a success: tasks to submit in its commit, checked by Config.CheckChild
	NextTime  int64    // Unix ms, 0: none (SPEC R4, R5)

	// CLOCK_BOOTTIME nanoseconds, taken before the first and after the last instruction of the guest. Both are 0 if
	// no guest code ran.
	Started, Ended int64
	// Busy is how long the guest was at work: the time from Started to Ended without the time in which it slept, or
	// waited for the host or for its next turn on a CPU.
	Busy       time.Duration
	Reused     bool   // the instance had worked before (SPEC B4)
	PeakMemory int64  // bytes
	Fuel       int64  // units used, however the run ended; 0: not metered, or no guest code ran
	Stderr     []byte // the last bytes of standard error, at most StderrTail
}

// StderrTail is how much of a guest's standard error is kept with the outcome.
const StderrTail = 4 << 10
