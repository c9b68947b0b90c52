package sdk

// Behavior names and defines what tasks do: it is a policy, and the function that does the work (SPEC B1). Zero fields take
// the host's default, which docs/plugin-manifest.md lists.
type Behavior struct {
	Name        string // 3..128 of [a-z0-9._-]; the NAME of `taskrt submit NAME`
	Description string
	Run         func(*Context) error

	ID               ID
	Retry            Retry
	RunTimeout       Duration // bounds one attempt; in whole milliseconds like all durations here
	HeartbeatTimeout Duration // an attempt that does not call Heartbeat for this long is killed; zero: none
	CancelGrace      Duration // between the cancel signal and the kill
	Limits           Limits

	RepeatEvery   Duration // after a success the task runs again this long after its end; zero: it does not (SPEC R4)
	RepeatOnError bool     // with RepeatEvery: after a final failure too
	Concurrency   Concurrency

	Operation *Operation // makes `taskrt op start NAME` possible; nil: the behavior has no operations (SPEC O2)

	OnTrap      OnError // a run that trapped: a crash that was not a Go panic (a Go panic is an error, see Context)
	OnTimeout   OnError // a run past RunTimeout or HeartbeatTimeout
	OnExhausted OnError // a run out of memory or fuel

	MaxLost int // how often the task's worker may die before the task fails with LOST_TOO_OFTEN (SPEC R3)

	ResultRequired bool   // a success without SetResult is the failure NO_RESULT
	ParamsSchema   string // JSON Schema 2020-12; a submit that does not match is refused
	ResultSchema   string

	KeepSuccess Duration // how long finished tasks are kept; zero: as the namespace says; Forever
	KeepFailure Duration
	KeepCount   int64 // how many finished tasks are kept, the newest; zero: all
}

// Forever as KeepSuccess or KeepFailure keeps finished tasks until they are removed.
const Forever Duration = -1

// ID says how a task gets its ID when the caller gives none (SPEC I1, I2). The zero value draws a random ID.
type ID struct {
	Strategy IDStrategy
	From     []string // with IDParams: JSON pointers to the params that count; none: all of them
}

// IDStrategy is one of the three ways to make an ID.
type IDStrategy string

// IDRandom draws a UUIDv7; IDParams hashes the params, so that equal submissions share one task; IDCaller refuses a
// submit without an ID.
const (
	IDRandom IDStrategy = "random"
	IDParams IDStrategy = "params"
	IDCaller IDStrategy = "caller"
)

// Retry is the retry policy (SPEC R2): a retryable failure number n is followed by another attempt after
// InitialInterval × (MultiplierThousandths/1000)^(n-1), at most MaxInterval, less up to JitterPercent of it.
type Retry struct {
	MaxAttempts           int // zero: 1, no retry; Unlimited: no limit
	InitialInterval       Duration
	MultiplierThousandths int // the factor in thousandths: 1500 is half as long again
	MaxInterval           Duration
	JitterPercent         int // zero: the default; NoJitter: none
}

// These are values for fields of Retry whose zero value means the default.
const (
	Unlimited = -1
	NoJitter  = -1
)

// Limits bound one attempt and what it reads and writes, in bytes; Fuel in units, about one an instruction.
type Limits struct {
	Memory     int64
	Fuel       int64 // zero: no limit
	Params     int64
	Result     int64
	Checkpoint int64
	Log        int64
}

// Concurrency limits how many tasks of the behavior run at the same time, in the whole cluster (SPEC L11).
type Concurrency struct {
	Max    int    // zero: no limit
	Key    string // JSON pointer into the params: tasks with the same value there share PerKey; empty: none
	PerKey int    // tasks per key; zero: 1
	Strict bool   // a task that waits for its retry keeps its place: with one task per key, tasks run strictly in order
}

// Operation makes Run do one partition of an operation. RepeatEvery, ID and Concurrency.Key must be
// zero then: an operation names its tasks itself, and each of its tasks ends once (SPEC O2).
type Operation struct {
	Concurrency      OperationConcurrency
	IncompatibleWith []string // behaviors whose operations may not run on the same target at the same time
	RunAll           bool     // a failed partition does not cancel the rest
	Restart          bool     // a checkpoint does not outlive its attempt: a partition that moves to another worker begins anew
	Complete         string   // behavior of this module that runs when every partition has ended; empty: none
	Cleanup          string   // behavior of this module that runs where a partition ran that was cancelled, failed or taken away
}

// OperationConcurrency says which operations of a behavior may run at the same time.
type OperationConcurrency string

// The zero value is Many.
const (
	Many         OperationConcurrency = "many"
	OnePerTarget OperationConcurrency = "one_per_target"
	OnePerObject OperationConcurrency = "one_per_object" // of the same target
)

// OnError says whether a kind of failure is retried, within Retry.
type OnError string

// These say whether to retry or to fail.
const (
	OnErrorRetry OnError = "retry"
	OnErrorFail  OnError = "fail"
)

// registry holds the behaviors in order of registration: the index is the argument of taskrt_run.
var registry []Behavior

// Register makes a behavior part of the module. Call it in init, never later: main does not run in a guest, and the host
// reads the list once, at upload. It panics on a bad or repeated name, so that such a module cannot be uploaded.
func Register(b Behavior) {
	if !validName(b.Name) {
		panic("sdk.Register: a behavior's name is 3..128 of [a-z0-9._-], not " + quote(b.Name))
	}
	if b.Run == nil {
		panic("sdk.Register: " + b.Name + " has no Run")
	}
	if _, ok := lookup(b.Name); ok {
		panic("sdk.Register: " + b.Name + " is registered twice")
	}
	registry = append(registry, b)
}

func lookup(name string) (int32, bool) {
	for i := range registry {
		if registry[i].Name == name {
			return int32(i), true
		}
	}
	return 0, false
}

func validName(s string) bool {
	if len(s) < 3 || len(s) > 128 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
