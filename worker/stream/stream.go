// Package stream is the wire format between a worker and the leader's hub: length-prefixed CBOR frames over one
// connection that the worker opened (mux.Stream). Reports are numbered and answered. The worker's Hello holds everything that a new
// leader needs to go on.
package stream

import (
	"github.com/taskrt/taskrt/task"
)

// MaxFrame bounds a frame in bytes: a batch of assignments with inline params and checkpoints must fit.
const MaxFrame = 16 << 20

// Frame is one message; exactly one field is set. Integer keys are part of the wire format: never reuse a key.
type Frame struct {
	// worker to leader
	Hello   *Hello   `cbor:"1,keyasint,omitempty"`
	Renew   *Renew   `cbor:"2,keyasint,omitempty"`
	Reports []Report `cbor:"3,keyasint,omitempty"`
	Ready   []string `cbor:"4,keyasint,omitempty"` // digests of modules compiled here, cumulative
	Credits *Credits `cbor:"5,keyasint,omitempty"`
	Logs    []Log    `cbor:"6,keyasint,omitempty"`
	Bye     *Bye     `cbor:"7,keyasint,omitempty"`

	Progress []Progress `cbor:"8,keyasint,omitempty"` // not stored; see Progress
	Ask      *Ask       `cbor:"9,keyasint,omitempty"`
	Pace     []Pace     `cbor:"10,keyasint,omitempty"` // what has changed
	Unready  []Unready  `cbor:"11,keyasint,omitempty"` // what has changed

	// leader to worker
	Welcome  *Welcome     `cbor:"16,keyasint,omitempty"`
	Refused  *Refused     `cbor:"17,keyasint,omitempty"`
	Renewed  *Renewed     `cbor:"18,keyasint,omitempty"`
	Acks     []Ack        `cbor:"19,keyasint,omitempty"`
	Assign   []Assignment `cbor:"20,keyasint,omitempty"`
	Cancel   []uint64     `cbor:"21,keyasint,omitempty"` // tokens whose task is being cancelled
	Halt     []uint64     `cbor:"22,keyasint,omitempty"` // tokens that are dead: stop at once, report nothing
	Prepare  []Module     `cbor:"23,keyasint,omitempty"` // modules to fetch and compile ahead of use
	Goodbye  *Goodbye     `cbor:"24,keyasint,omitempty"` // answer to Bye
	NotFound bool         `cbor:"25,keyasint,omitempty"` // the session has ended: stop all guests, then say Hello anew
	Answer   *Answer      `cbor:"26,keyasint,omitempty"` // to one Ask
	Suspects *Suspects    `cbor:"27,keyasint,omitempty"` // to a worker that Isolates

	// Crash is a first frame like Hello, from the parent of a dead worker. The leader answers it with Refused or Goodbye.
	Crash *task.CrashSession `cbor:"28,keyasint,omitempty"`
}

// kinds counts the fields that are set.
func (f *Frame) kinds() (n int) {
	for _, set := range [...]bool{
		f.Hello != nil, f.Renew != nil, len(f.Reports) > 0, len(f.Ready) > 0, f.Credits != nil, len(f.Logs) > 0, f.Bye != nil,
		len(f.Progress) > 0, f.Ask != nil, len(f.Pace) > 0, len(f.Unready) > 0,
		f.Welcome != nil, f.Refused != nil, f.Renewed != nil, len(f.Acks) > 0, len(f.Assign) > 0, len(f.Cancel) > 0, len(f.Halt) > 0,
		len(f.Prepare) > 0, f.Goodbye != nil, f.NotFound, f.Answer != nil, f.Suspects != nil, f.Crash != nil,
	} {
		if set {
			n++
		}
	}
	return n
}

// Hello opens a stream. With Session 0 it opens a new session. Otherwise the worker goes on with a session that it still holds: the
// leader renews the session, pushes every lease again that is not in Held, and halts every token in Held that is not current.
type Hello struct {
	Worker  string   `cbor:"1,keyasint"`
	Node    string   `cbor:"2,keyasint,omitempty"` // "" for a separate process
	Slots   int64    `cbor:"3,keyasint"`
	Proof   []byte   `cbor:"4,keyasint"` // SHA-256 over the secret in the worker's directory (SPEC L6)
	Session uint64   `cbor:"5,keyasint,omitempty"`
	Acked   uint64   `cbor:"6,keyasint,omitempty"`
	Held    []uint64 `cbor:"7,keyasint,omitempty"` // tokens running here or with an unanswered report
	Ready   []string `cbor:"8,keyasint,omitempty"`
	Credits int64    `cbor:"9,keyasint"`
	ABI     []int    `cbor:"10,keyasint"`
	Leases  int64    `cbor:"12,keyasint,omitempty"` // how many leases it may hold at a time, more than Slots; 0: Slots
	N       uint64   `cbor:"11,keyasint,omitempty"` // rises with every Hello of the worker, over restarts: a late one opens nothing

	// Alone and Isolates are fields of task.OpenSession (SPEC L5).
	Alone    bool `cbor:"13,keyasint,omitempty"`
	Isolates bool `cbor:"14,keyasint,omitempty"`

	Wall *Wall `cbor:"15,keyasint,omitempty"` // nil: guests run in a process that votes, or the worker is of an older build
}

// Wall says which parts of the wall around the guests' process are in force (SPEC A10), and of the others why they are not. It is shown,
// and not stored.
type Wall struct {
	InForce []string `cbor:"1,keyasint,omitempty"`
	Missing []string `cbor:"2,keyasint,omitempty"`
	// OOMKills is how often the kernel has ended such a process of the worker for its memory.
	OOMKills int64 `cbor:"3,keyasint,omitempty"`
}

// Suspects says whether tasks wait that may run only alone (SPEC L5). Until a connection says so, none wait.
type Suspects struct {
	Wait bool `cbor:"1,keyasint,omitempty"`
}

// Welcome answers Hello. The session's margin counts from before Hello was sent (SPEC L5).
type Welcome struct {
	Session uint64      `cbor:"1,keyasint"`
	TTL     task.Millis `cbor:"2,keyasint"`
	Resumed bool        `cbor:"3,keyasint,omitempty"`
	Leader  string      `cbor:"4,keyasint"` // node ID

	LeaseNow task.LeaseTime `cbor:"5,keyasint,omitempty"` // the lease clock, after what Hello asked for was committed
}

// Refused ends a stream that cannot be opened. Code is a code of package task (worker_in_use, session_not_found) or "not_leader".
type Refused struct {
	Code    string `cbor:"1,keyasint"`
	Message string `cbor:"2,keyasint,omitempty"`
	Leader  string `cbor:"3,keyasint,omitempty"` // not_leader: node-to-node address of the leader, if known
}

// NotLeader is Refused.Code of a node that does not lead.
const NotLeader = "not_leader"

// Renew keeps the session alive, every third of its TTL. Held is for the fallback of halts (SPEC L8).
type Renew struct {
	N     uint64   `cbor:"1,keyasint"`
	Acked uint64   `cbor:"2,keyasint,omitempty"`
	Held  []uint64 `cbor:"3,keyasint,omitempty"`
}

// Renewed answers Renew N once the renewal is committed.
type Renewed struct {
	N      uint64   `cbor:"1,keyasint"`
	Halt   []uint64 `cbor:"2,keyasint,omitempty"`
	Cancel []uint64 `cbor:"3,keyasint,omitempty"`

	LeaseNow task.LeaseTime `cbor:"4,keyasint,omitempty"` // the lease clock, after the renewal was committed
}

// Credits says how many more assignments the worker takes. Free counts from assignment number Seq, the last assignment that the worker
// has seen, so that an assignment under way is never counted twice.
type Credits struct {
	Seq  uint64 `cbor:"1,keyasint"`
	Free int64  `cbor:"2,keyasint"`
	// Ahead is how many assignments of short behaviors (see Pace) the worker takes besides, though they have to wait for a slot.
	// Each is the number by which Ahead falls with each slot that another behavior takes.
	Ahead int64 `cbor:"3,keyasint,omitempty"`
	Each  int64 `cbor:"4,keyasint,omitempty"`
}

// Behavior is one behavior of one module: the subject of a Pace.
type Behavior struct {
	Module string `cbor:"1,keyasint"` // digest
	Index  int32  `cbor:"2,keyasint,omitempty"`
}

// Pace says that attempts of a behavior take less time here than an assignment does, or that they no longer do. Until a
// connection says so, no behavior counts as short.
type Pace struct {
	Behavior
	Short bool `cbor:"3,keyasint,omitempty"`
}

// Unready says how far the worker is with a module that it has not ready (SPEC Q4). It is shown, and not stored. Until a connection says so,
// nothing is known. A leader that does not know this kind skips the frame.
type Unready struct {
	Module string `cbor:"1,keyasint"`           // digest
	Step   Step   `cbor:"2,keyasint,omitempty"` // "": nobody makes it ready now
	For    int64  `cbor:"3,keyasint,omitempty"` // ms since the step began
	Failed int64  `cbor:"4,keyasint,omitempty"` // tries that have failed
	Error  string `cbor:"5,keyasint,omitempty"` // why the last one has, in one line of at most MaxUnreadyError bytes
}

// Step is what a worker does to make a module ready.
type Step string

// The steps.
const (
	Queued    Step = "queued" // modules before it are fetched and compiled
	Fetching  Step = "fetching"
	Compiling Step = "compiling"
	Pausing   Step = "failed" // the last try has failed, and the next one comes by itself
)

// MaxUnreadyError bounds Unready.Error in bytes.
const MaxUnreadyError = 500

// Valid reports whether a worker of this build could say so.
func (u *Unready) Valid() bool {
	known := u.Step == "" || u.Step == Queued || u.Step == Fetching || u.Step == Compiling || u.Step == Pausing
	return known && len(u.Module) <= maxModule && len(u.Error) <= MaxUnreadyError && u.For >= 0 && u.Failed >= 0
}

// maxModule is longer than a digest.
const maxModule = 100

// Assignment is one lease to run. Task is the record as leased (RUNNING). On the wire an assignment leaves out a Policy
// and a Module that equal those of the assignment before it in the frame. Received assignments have a Policy. They
// share it, and nobody changes it.
type Assignment struct {
	Task   *task.Task   `cbor:"1,keyasint"`
	Policy *task.Policy `cbor:"2,keyasint"`
	Module Module       `cbor:"3,keyasint"`
}

// sameVersion reports whether a runs by the same policy and module as b.
func (a *Assignment) sameVersion(b *Assignment) bool {
	return a.Task != nil && b.Task != nil && a.Module == b.Module && a.Module.Digest != "" &&
		a.Task.Namespace == b.Task.Namespace && a.Task.Behavior == b.Task.Behavior && a.Task.Version == b.Task.Version
}

// lean leaves out what an assignment has in common with the one before it; whole puts it back.
func lean(as []Assignment) []Assignment {
	out := make([]Assignment, len(as))
	for i := range as {
		if i > 0 && as[i].sameVersion(&as[i-1]) {
			out[i].Task = as[i].Task
		} else {
			out[i] = as[i]
		}
	}
	return out
}

func whole(as []Assignment) {
	for i := range as {
		if i > 0 && as[i].Module.Digest == "" {
			as[i].Policy, as[i].Module = as[i-1].Policy, as[i-1].Module
		}
		if as[i].Policy == nil {
			as[i].Policy = &task.Policy{}
		}
	}
}

// Module names a wasm file.
type Module struct {
	Digest string `cbor:"1,keyasint"`
	Size   int64  `cbor:"2,keyasint"`
}

// Report is one report under a token; exactly one of the pointers is set. ID numbers the reports of one stream for Acks.
type Report struct {
	ID       uint64         `cbor:"1,keyasint"`
	Finish   *task.Finish   `cbor:"2,keyasint,omitempty"`
	Beat     *task.Beat     `cbor:"3,keyasint,omitempty"`
	Snooze   *task.Snooze   `cbor:"4,keyasint,omitempty"`
	GiveBack *task.GiveBack `cbor:"5,keyasint,omitempty"`

	Children [][]byte `cbor:"6,keyasint,omitempty"` // with Finish: JSON of tasks to submit in its commit (abi/README.md, taskrt_tasks_v1)
}

// Subject returns the task and the token that the report is about; zeros for a report of nothing.
func (r *Report) Subject() (task.Key, uint64) {
	switch {
	case r.Finish != nil:
		return r.Finish.Key, r.Finish.Token
	case r.Beat != nil:
		return r.Beat.Key, r.Beat.Token
	case r.Snooze != nil:
		return r.Snooze.Key, r.Snooze.Token
	case r.GiveBack != nil:
		return r.GiveBack.Key, r.GiveBack.Token
	}
	return task.Key{}, 0
}

// ChildRefused is the code of an Ack which says that the finish did not happen, because a child cannot be submitted.
const ChildRefused task.Code = "child_refused"

// Ack answers one Report once it is committed or refused. Retry says that nothing was decided: send the report again.
type Ack struct {
	ID       uint64    `cbor:"1,keyasint"`
	Code     task.Code `cbor:"2,keyasint,omitempty"`
	Message  string    `cbor:"3,keyasint,omitempty"`
	Retry    bool      `cbor:"4,keyasint,omitempty"`
	Repeated bool      `cbor:"5,keyasint,omitempty"`
}

// Log is a piece of an attempt's log, in order; Data holds whole lines where possible.
type Log struct {
	Key     task.Key `cbor:"1,keyasint"`
	Token   uint64   `cbor:"2,keyasint"`
	Attempt int64    `cbor:"3,keyasint"`
	Data    []byte   `cbor:"4,keyasint"`
	Offset  int64    `cbor:"5,keyasint,omitempty"` // bytes that the attempt logged before Data: pieces kept by several nodes fit together
}

// Progress is the latest progress of a run, on its way to watchers; the next renewal stores it (SPEC W3). It is
// sent at most every 250 ms, and not answered. A leader that does not know this kind skips the frame.
type Progress struct {
	Key      task.Key     `cbor:"1,keyasint"`
	Token    uint64       `cbor:"2,keyasint"`
	Progress task.Payload `cbor:"3,keyasint"`
}

// Ask passes on a guest's question to the leader (abi/README.md, "Ops of call"). ID numbers the asks of a session. An ask only
// reads, so it is asked again after a reconnect.
type Ask struct {
	ID      uint64   `cbor:"1,keyasint"`
	Key     task.Key `cbor:"2,keyasint"`
	Token   uint64   `cbor:"3,keyasint"`
	Op      int32    `cbor:"4,keyasint"` // an abi.Op
	Payload []byte   `cbor:"5,keyasint,omitempty"`
}

// Answer is the response to an Ask, or a status: an abi.Errno, which is always negative. A leader that does not know Ask skips the
// frame and never answers.
type Answer struct {
	ID      uint64 `cbor:"1,keyasint"`
	Status  int32  `cbor:"2,keyasint,omitempty"` // 0: Payload is the response
	Payload []byte `cbor:"3,keyasint,omitempty"`
}

// Bye asks for a clean end of the session: all its runs are given back (SPEC R3).
type Bye struct{}

// Goodbye says that the session is closed.
type Goodbye struct{}
