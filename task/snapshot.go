package task

import (
	"cmp"
	"slices"

	"github.com/taskrt/taskrt/task/access"

	"github.com/taskrt/taskrt/task/answers"
	"github.com/taskrt/taskrt/task/audit"
	"github.com/taskrt/taskrt/task/blobs"
	"github.com/taskrt/taskrt/task/store"
)

// Record is one record of a snapshot: *Head, *Namespace, *Behavior, *Module, *Session, *Process, *ClientKey, *Answer,
// *Operation, *Instance, *Blob, *MaintenanceRun, *AccessToken, *AuditRecord, *Task or *StoreRecord, in this order.
type Record any

// Head stands first in a snapshot. It has the machine's scalars, the number of records of each kind, and the digest (SPEC C4).
type Head struct {
	Index     uint64    `cbor:"1,keyasint"`
	Term      uint64    `cbor:"2,keyasint"`
	Now       Time      `cbor:"3,keyasint"`
	LeaseNow  LeaseTime `cbor:"4,keyasint"`
	Rev       uint64    `cbor:"5,keyasint"`
	Token     uint64    `cbor:"6,keyasint"`
	SessionID uint64    `cbor:"7,keyasint"`
	Sum       uint64    `cbor:"8,keyasint"`  // over all records
	Before    uint64    `cbor:"9,keyasint"`  // running digest before the scalars and Sum were folded in
	Digest    uint64    `cbor:"10,keyasint"` // Digest.Sum at Index
	Limit     Limit     `cbor:"11,keyasint"`

	Behaviors int64 `cbor:"12,keyasint"`
	Modules   int64 `cbor:"13,keyasint"`
	Sessions  int64 `cbor:"14,keyasint"`
	Processes int64 `cbor:"15,keyasint"`
	Answers   int64 `cbor:"16,keyasint"`
	Tasks     int64 `cbor:"17,keyasint"`
	Keys      int64 `cbor:"18,keyasint"`
	Records   int64 `cbor:"22,keyasint,omitempty"` // StoreRecords

	Floor   LeaseTime `cbor:"19,keyasint,omitempty"` // lease_now of the first entry of the term (SPEC C3)
	Drained []string  `cbor:"20,keyasint,omitempty"` // drained nodes by ID (SPEC L10)

	Namespaces int64 `cbor:"23,keyasint,omitempty"`
	Operations int64 `cbor:"24,keyasint,omitempty"`
	Instances  int64 `cbor:"25,keyasint,omitempty"`
	Blobs      int64 `cbor:"26,keyasint,omitempty"`
	Runs       int64 `cbor:"27,keyasint,omitempty"` // MaintenanceRuns

	Level uint64 `cbor:"28,keyasint"` // feature level (SPEC C9)

	AccessTokens int64  `cbor:"29,keyasint,omitempty"`
	AccessLast   uint64 `cbor:"30,keyasint,omitempty"` // number of the newest access token that ever was
	AccessRev    uint64 `cbor:"31,keyasint,omitempty"` // of the last change of any
	RootOff      bool   `cbor:"32,keyasint,omitempty"`

	Audit  *AuditHead `cbor:"33,keyasint,omitempty"` // nil: nothing was ever recorded
	SignIn *SignIn    `cbor:"34,keyasint,omitempty"` // nil: it was never set

	Members []Member `cbor:"35,keyasint,omitempty"` // what is settled about nodes, by ID (SPEC C2)

	Holds []Hold `cbor:"37,keyasint,omitempty"` // on blobs, by ID (SPEC C8)
	Jobs  []*Job `cbor:"38,keyasint,omitempty"` // by number (SPEC Q3)
}

// Process is one proposing process whose answers are kept (SPEC H4).
type Process struct {
	Process uint64    `cbor:"1,keyasint"`
	Lowest  uint64    `cbor:"2,keyasint"`
	Used    LeaseTime `cbor:"3,keyasint"`
}

// ClientKey is one idempotency key under which answers are kept (SPEC H4).
type ClientKey struct {
	Key   uint64    `cbor:"1,keyasint"`
	Body  uint64    `cbor:"2,keyasint"`
	First LeaseTime `cbor:"3,keyasint"`
}

// Answer is one kept answer.
//
//fields:wire pointer
type Answer struct {
	Process uint64 `cbor:"1,keyasint"` // or the ClientKey.Key
	Seq     uint64 `cbor:"2,keyasint"`
	Result  Result `cbor:"3,keyasint"`
	Keyed   bool   `cbor:"4,keyasint,omitempty"` // kept under a client's key
}

// Frozen is the state at one index. It never changes and may be read from another goroutine while the machine goes on.
type Frozen struct {
	head      Head
	behaviors []*Behavior
	modules   []*Module
	sessions  []*Session
	answers   answers.Frozen[Result]
	Tasks     store.Frozen[Task] // in the order of Records; an owner's name is that of a behavior
	records   []frozenRecords

	namespaces []*Namespace
	operations []*Operation
	instances  []*Instance
	blobs      blobs.Frozen
	access     access.Frozen
	audit      audit.Frozen
	runs       []*MaintenanceRun
}

// Freeze returns the state as it is now. It copies tables of pointers to pages of tasks and records, to behaviors,
// modules, sessions and processes. It copies no records. It counts as a write: no Apply or read may run beside it.
func (m *Machine) Freeze() *Frozen {
	f := &Frozen{
		Tasks: m.store.Freeze(), records: m.freezeRecords(), blobs: m.blobs.Freeze(), answers: m.answers.Freeze(), access: m.access.Freeze(), audit: m.audit.Freeze(),
		instances: slices.Clone(m.instances.Rows), runs: m.runs.All(),
	}
	for _, n := range m.namespaces { // order-free: sorted below
		f.namespaces = append(f.namespaces, n.space)
	}
	slices.SortFunc(f.namespaces, func(a, b *Namespace) int { return cmp.Compare(a.Name, b.Name) })
	for _, o := range m.fanout.ordered {
		f.operations = append(f.operations, o.operation)
	}
	for _, b := range m.byName {
		if b.behavior != nil {
			f.behaviors = append(f.behaviors, b.behavior)
		}
	}
	f.modules = m.Modules()
	for _, s := range m.sessionsByID() {
		f.sessions = append(f.sessions, s.session)
	}
	processes, keys, kept := f.answers.Len()
	f.head = Head{
		Index: m.index, Term: m.term, Now: m.now, LeaseNow: m.leaseNow, Rev: m.rev, Token: m.token,
		SessionID: m.sessionID, Sum: m.total(), Before: m.before, Digest: m.digestSum(), Limit: m.limits,
		Behaviors: int64(len(f.behaviors)), Modules: int64(len(f.modules)), Sessions: int64(len(f.sessions)),
		Processes: processes, Keys: keys, Answers: kept, Tasks: int64(m.store.Len()),
		Records: m.counts.Records, Namespaces: int64(len(f.namespaces)), Operations: int64(len(f.operations)),
		Instances: int64(len(f.instances)), Blobs: int64(m.blobs.Len()), Runs: int64(len(f.runs)),
		Floor: m.floor, Drained: m.DrainedNodes(), Members: m.roster.View().Members(), Holds: m.blobs.Holds.All(), Level: m.level,
		AccessTokens: int64(m.access.Len()), AccessLast: m.access.Last, AccessRev: m.access.Rev, RootOff: m.access.RootOff, SignIn: m.access.SignInHead(),
		Audit: m.audit.Head(), Jobs: m.jobs.All(),
	}
	return f
}

// Index returns the log index at which the state was frozen.
func (f *Frozen) Index() uint64 { return f.head.Index }

// Digest returns the digest of the frozen state.
func (f *Frozen) Digest() Digest { return Digest{Index: f.head.Index, Sum: f.head.Digest} }

// Records yields the snapshot's records, the Head first, in an order that is the same for equal states.
func (f *Frozen) Records(yield func(Record) bool) {
	head := f.head
	if !yield(&head) || !yieldAll(f.namespaces, yield) || !yieldAll(f.behaviors, yield) || !yieldAll(f.modules, yield) || !yieldAll(f.sessions, yield) {
		return
	}
	if !f.yieldAnswers(yield) || !yieldAll(f.operations, yield) || !yieldAll(f.instances, yield) || !f.yieldBlobs(yield) || !yieldAll(f.runs, yield) {
		return
	}
	for x := range f.access.All {
		if !yield(*x) {
			return
		}
	}
	if !f.audit.All(func(x *audit.Record) bool { return yield(x) }) {
		return
	}
	for t := range f.Tasks.All {
		if !yield(t) {
			return
		}
	}
	f.yieldRecords(yield)
}

// yieldAnswers yields the processes and keys with kept answers, and then the answers.
func (f *Frozen) yieldAnswers(yield func(Record) bool) bool {
	return f.answers.Processes(func(id, lowest uint64, used int64) bool {
		return yield(&Process{Process: id, Lowest: lowest, Used: LeaseTime(used)})
	}) && f.answers.Keys(func(id, body uint64, first int64) bool {
		return yield(&ClientKey{Key: id, Body: body, First: LeaseTime(first)})
	}) && f.answers.Answers(func(id, seq uint64, r *Result, keyed bool) bool {
		return yield(&Answer{Process: id, Seq: seq, Result: *r, Keyed: keyed})
	})
}

func yieldAll[R Record](rs []R, yield func(Record) bool) bool {
	for _, r := range rs {
		if !yield(r) {
			return false
		}
	}
	return true
}
