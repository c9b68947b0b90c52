package task

// Command is one change that can be proposed. The set is sealed: one struct, one file, one apply each.
// A command carries no time: Header does (SPEC C3).
type Command interface{ command() }

// IfExists says what a submit of an existing ID does (SPEC I3).
type IfExists uint8

// Join is the default.
const (
	Join IfExists = iota
	Fail
	Rerun
	Resubmit
)

// Submit creates a task, or meets an existing one (SPEC I1-I5). The proposer has validated shapes and sizes and drawn
// the ID; the machine checks what only the state can tell.
type Submit struct {
	Namespace string   `cbor:"1,keyasint"`
	ID        string   `cbor:"2,keyasint"`
	Behavior  string   `cbor:"3,keyasint"`
	Params    Payload  `cbor:"4,keyasint,omitempty"`
	IfExists  IfExists `cbor:"5,keyasint,omitempty"`
	NotBefore Time     `cbor:"6,keyasint,omitempty"` // 0: now
	Delay     Millis   `cbor:"7,keyasint,omitempty"` // added to now when NotBefore is 0
	Deadline  Time     `cbor:"8,keyasint,omitempty"`
	Labels    []Label  `cbor:"9,keyasint,omitempty"`
	Priority  int8     `cbor:"10,keyasint"`
	HasParams bool     `cbor:"11,keyasint,omitempty"` // resubmit: "the new params if given"
}

// Assign gives a due task to a session (SPEC L1). Refused unless the task still has this rev and is due, and the
// session is alive and has a free slot. Plan makes them.
type Assign struct {
	Key     Key    `cbor:"1,keyasint"`
	Rev     uint64 `cbor:"2,keyasint"`
	Session uint64 `cbor:"3,keyasint"`
}

// Finish ends the attempt of Token with an outcome (SPEC L3, R2, L8). Exactly one of Result and Error counts:
// Error nil means success.
type Finish struct {
	Key    Key     `cbor:"1,keyasint"`
	Token  uint64  `cbor:"2,keyasint"`
	Seq    uint64  `cbor:"3,keyasint"`
	Result Payload `cbor:"4,keyasint,omitempty"`
	Error  *Error  `cbor:"5,keyasint,omitempty"`
}

// Beat stores the latest progress and/or a durable checkpoint of a running attempt (SPEC L3, T8).
type Beat struct {
	Key        Key      `cbor:"1,keyasint"`
	Token      uint64   `cbor:"2,keyasint"`
	Seq        uint64   `cbor:"3,keyasint"`
	Progress   *Payload `cbor:"4,keyasint,omitempty"`
	Checkpoint *Payload `cbor:"5,keyasint,omitempty"`
}

// Snooze ends the attempt without an outcome: due again at At (SPEC R5).
type Snooze struct {
	Key        Key      `cbor:"1,keyasint"`
	Token      uint64   `cbor:"2,keyasint"`
	Seq        uint64   `cbor:"3,keyasint"`
	At         Time     `cbor:"4,keyasint,omitempty"` // 0: now + 1 s
	Checkpoint *Payload `cbor:"5,keyasint,omitempty"`
}

// GiveBack returns an attempt that was not run to its end: due at once, counted nowhere (SPEC R3, T8).
type GiveBack struct {
	Key   Key    `cbor:"1,keyasint"`
	Token uint64 `cbor:"2,keyasint"`
}

// Cancel asks that a task end as CANCELLED (SPEC L8).
type Cancel struct {
	Key Key `cbor:"1,keyasint"`
}

// Remove deletes a record (SPEC L9).
type Remove struct {
	Key Key `cbor:"1,keyasint"`
}

// OpenSession starts a session (SPEC L2, L6). A live session of the same Worker is ended at once, its runs lost, iff
// Proof equals its proof; else the answer is worker_in_use.
type OpenSession struct {
	Worker string `cbor:"1,keyasint"`
	Node   string `cbor:"2,keyasint,omitempty"`
	Slots  int64  `cbor:"3,keyasint"`
	TTL    Millis `cbor:"4,keyasint"`
	Proof  []byte `cbor:"5,keyasint"`
}

// RenewSession keeps a session and all its leases alive (SPEC L2). It writes no task.
type RenewSession struct {
	Session uint64 `cbor:"1,keyasint"`
	Acked   uint64 `cbor:"2,keyasint,omitempty"` // number of the last assignment received
}

// CloseSession ends a session cleanly: its runs are given back (SPEC R3).
type CloseSession struct {
	Session uint64 `cbor:"1,keyasint"`
}

// Activate makes a module's behaviors active in one log entry (SPEC B2).
type Activate struct {
	Namespace string      `cbor:"1,keyasint"`
	Module    Module      `cbor:"2,keyasint"`
	Behaviors []Activated `cbor:"3,keyasint"`
}

// Activated is one behavior of an Activate.
type Activated struct {
	Name   string `cbor:"1,keyasint"`
	Policy Policy `cbor:"2,keyasint"`
}

// Tick lets time pass: sessions expire, deadlines strike, retention sweeps, due tasks become eligible. The leader
// proposes it at NextTick. The clocks only advance with commands, and nothing expires but in a Tick (SPEC L4).
type Tick struct{}

func (Submit) command()       {}
func (Assign) command()       {}
func (Finish) command()       {}
func (Beat) command()         {}
func (Snooze) command()       {}
func (GiveBack) command()     {}
func (Cancel) command()       {}
func (Remove) command()       {}
func (OpenSession) command()  {}
func (RenewSession) command() {}
func (CloseSession) command() {}
func (Activate) command()     {}
func (Tick) command()         {}
