package task

import "github.com/taskrt/taskrt/task/backoff"

// IDStrategy says how the ID of a task is chosen when the caller gives none (SPEC I1).
type IDStrategy uint8

// IDRandom draws a UUIDv7, IDParams hashes the params (SPEC I2), IDCaller refuses a submit without an ID.
const (
	IDRandom IDStrategy = iota
	IDParams
	IDCaller
)

// OnError says whether a kind of host error is retryable (SPEC R2).
type OnError uint8

// The zero value means the default of the field.
const (
	OnErrorDefault OnError = iota
	OnErrorRetry
	OnErrorFail
)

// Retry is the retry policy of a behavior (SPEC R2). Integers only: every node computes the same.
type Retry struct {
	MaxAttempts          int64  `cbor:"1,keyasint"` // 1: no retry, 0: no limit
	InitialInterval      Millis `cbor:"2,keyasint"`
	MultiplierThousandth int64  `cbor:"3,keyasint"`
	MaxInterval          Millis `cbor:"4,keyasint"`
	JitterPercent        int64  `cbor:"5,keyasint"`
}

// interval returns how long to wait before the next attempt of t after that many failures.
func (r *Retry) interval(t *Task, failures int64) Millis {
	p := backoff.Policy{
		Initial: int64(r.InitialInterval), Thousandth: r.MultiplierThousandth, Max: int64(r.MaxInterval), Jitter: r.JitterPercent,
	}
	return Millis(p.Wait(t.ID, t.Attempt, failures))
}

// Limits of one attempt and of a task's payloads, in bytes.
type Limits struct {
	MemoryBytes     int64 `cbor:"1,keyasint"`
	Fuel            int64 `cbor:"2,keyasint,omitempty"` // 0: none
	ParamsBytes     int64 `cbor:"3,keyasint"`
	ResultBytes     int64 `cbor:"4,keyasint"`
	CheckpointBytes int64 `cbor:"5,keyasint"`
	LogBytes        int64 `cbor:"6,keyasint"`
}

// Policy is one behavior of one version: everything the manifest says, defaults filled in (SPEC B1). It travels in the log, so that it means the same
// to all builds.
//
//fields:hash part
type Policy struct {
	Index            int32      `cbor:"1,keyasint"` // argument of taskrt_run
	Description      string     `cbor:"2,keyasint,omitempty"`
	IDStrategy       IDStrategy `cbor:"3,keyasint,omitempty"`
	IDFrom           []string   `cbor:"4,keyasint,omitempty"` // JSON pointers into params
	Retry            Retry      `cbor:"5,keyasint"`
	RunTimeout       Millis     `cbor:"6,keyasint"`
	HeartbeatTimeout Millis     `cbor:"7,keyasint,omitempty"` // 0: none
	CancelGrace      Millis     `cbor:"8,keyasint"`
	Limits           Limits     `cbor:"9,keyasint"`
	OnTrap           OnError    `cbor:"10,keyasint,omitempty"`
	OnTimeout        OnError    `cbor:"11,keyasint,omitempty"`
	OnExhausted      OnError    `cbor:"12,keyasint,omitempty"`
	ResultRequired   bool       `cbor:"13,keyasint,omitempty"`
	MaxLost          int64      `cbor:"14,keyasint"`           // SPEC R3, default 10
	KeepSuccess      Millis     `cbor:"15,keyasint"`           // retention by age (SPEC T9): 0: the namespace's, < 0: for ever
	KeepFailure      Millis     `cbor:"16,keyasint"`           //
	ParamsSchema     []byte     `cbor:"17,keyasint,omitempty"` // JSON Schema, checked before proposing
	ResultSchema     []byte     `cbor:"18,keyasint,omitempty"`
	RepeatEvery      Millis     `cbor:"19,keyasint,omitempty"` // SPEC R4; 0: no repeat
	RepeatAny        bool       `cbor:"20,keyasint,omitempty"` // repeat after a final failure too
	MaxConcurrent    int64      `cbor:"21,keyasint,omitempty"` // SPEC L11: running tasks in the cluster; 0: no limit
	ConcurrencyKey   string     `cbor:"22,keyasint,omitempty"` // JSON pointer into params; "": none
	MaxPerKey        int64      `cbor:"23,keyasint,omitempty"` // running tasks per key; 0: no limit
	KeyStrict        bool       `cbor:"24,keyasint,omitempty"` // SPEC L11 key_order: strict
	Lease            Millis     `cbor:"25,keyasint,omitempty"` // external behaviors: how long a lease lasts (SPEC L2)

	Operation *OperationPolicy `cbor:"26,keyasint,omitempty"` // SPEC O2; nil: no operation can be started of it
	KeepCount int64            `cbor:"27,keyasint,omitempty"` // retention by count: final tasks of the behavior; 0: no limit
}

// DefaultPolicy returns the policy of a behavior whose manifest says nothing (SPEC R2, R3, L7, L8, H3). Retention is left to the namespace.
func DefaultPolicy() Policy {
	const second, hour = 1000, 3600 * 1000
	return Policy{
		Retry:      Retry{MaxAttempts: 1, InitialInterval: second, MultiplierThousandth: 2000, MaxInterval: hour, JitterPercent: 10},
		RunTimeout: hour, CancelGrace: 5 * second, MaxLost: 10,
		Limits: Limits{MemoryBytes: 64 << 20, ParamsBytes: 16 << 20, ResultBytes: 16 << 20, CheckpointBytes: 16 << 20, LogBytes: 64 << 10},
	}
}

// Module is one uploaded wasm file as the log knows it: its bytes are found by digest, outside the log (SPEC B3).
//
//fields:hash record
type Module struct {
	Digest   string `cbor:"1,keyasint"` // lower-case hex SHA-256 of the file
	Size     int64  `cbor:"2,keyasint"`
	Manifest []byte `cbor:"3,keyasint"` // canonical JSON, behaviors in index order
	Version  string `cbor:"4,keyasint"` // lower-case hex SHA-256 over digest and manifest (SPEC B2)
}

// Version is one version of a behavior.
type Version struct {
	Version     string `cbor:"1,keyasint"`
	Module      string `cbor:"2,keyasint"` // Module.Digest; "": external, no module runs it (SPEC B7)
	Policy      Policy `cbor:"3,keyasint"`
	ActivatedAt Time   `cbor:"4,keyasint"`
	Pinned      int64  `cbor:"-"` // tasks pinned to it; derived: filled in by Machine.Behavior and Behaviors only
}

// KeptVersions is how many versions of a behavior are kept. Versions that tasks are pinned to are kept besides (SPEC B2).
const KeptVersions = 5

// Behavior is a named definition of what tasks do. Values are immutable.
//
//fields:hash record
type Behavior struct {
	Namespace string    `cbor:"1,keyasint"`
	Name      string    `cbor:"2,keyasint"`
	Active    string    `cbor:"3,keyasint"` // a Version.Version
	Versions  []Version `cbor:"4,keyasint"` // newest last
	Rev       uint64    `cbor:"5,keyasint"`
	External  bool      `cbor:"6,keyasint,omitempty"` // SPEC B7: programs accept its tasks over HTTP
	Paused    bool      `cbor:"7,keyasint,omitempty"` // SPEC L10
	Deleted   bool      `cbor:"8,keyasint,omitempty"` // SPEC B8: Active is "", reads do not show it, tasks wait
	Purge     bool      `cbor:"9,keyasint,omitempty"` // deleted with ?purge=true: Ticks remove its tasks
}

// Find returns the version v, or the active one for "", and whether it is known.
func (b *Behavior) Find(v string) (*Version, bool) {
	if v == "" {
		v = b.Active
	}
	for i := range b.Versions {
		if b.Versions[i].Version == v {
			return &b.Versions[i], true
		}
	}
	return nil, false
}

// Session is a worker's session (SPEC L2): renewing it keeps all its leases alive. Values are immutable.
//
//fields:hash record
type Session struct {
	ID       uint64    `cbor:"1,keyasint"`
	Worker   string    `cbor:"2,keyasint"`
	Node     string    `cbor:"3,keyasint,omitempty"`
	Slots    int64     `cbor:"4,keyasint"` // leases at a time
	TTL      Millis    `cbor:"5,keyasint"`
	Expires  LeaseTime `cbor:"6,keyasint"`            // lost at or after it, by a Tick only (SPEC L4)
	Proof    []byte    `cbor:"7,keyasint"`            // SPEC L6: hash of the secret kept in the worker's directory
	Seq      uint64    `cbor:"8,keyasint,omitempty"`  // number of the last assignment
	Acked    uint64    `cbor:"9,keyasint,omitempty"`  // last assignment that the worker said it received
	Hello    uint64    `cbor:"10,keyasint,omitempty"` // OpenSession.Hello
	Runs     int64     `cbor:"11,keyasint,omitempty"` // OpenSession.Runs
	Alone    bool      `cbor:"12,keyasint,omitempty"` // OpenSession.Alone
	Isolates bool      `cbor:"13,keyasint,omitempty"` // OpenSession.Isolates
	Running  int64     `cbor:"-"`                     // leases held; derived: filled in by Machine.Session and Sessions only
}
