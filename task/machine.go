package task

// The exported surface of the machine. TO BE IMPLEMENTED by the task package's owner; signatures are the contract.
//
//	func NewMachine() *Machine
//
// One writer calls Apply; between Applies any number of readers may call the read methods. The machine does no locking.
//
//	func (m *Machine) Apply(h Header, ps []Proposal) ([]Result, []Event)   // one log entry; len(results)==len(ps)
//
// Panics (never a Result) on what cannot be: index not rising, unknown command type. The shell stops the node.
//
// Reads:
//
//	func (m *Machine) Index() uint64
//	func (m *Machine) Now() Time
//	func (m *Machine) LeaseNow() LeaseTime
//	func (m *Machine) Digest() Digest
//	func (m *Machine) Task(Key) *Task                       // nil: not there
//	func (m *Machine) Tasks(Filter) (tasks []*Task, next string) // creation order; next is an opaque cursor, "" at the end
//	func (m *Machine) NamespaceExists(ns string) bool
//	func (m *Machine) Behavior(ns, name string) *Behavior
//	func (m *Machine) Behaviors(ns string) []*Behavior      // by name
//	func (m *Machine) Module(digest string) *Module
//	func (m *Machine) Modules() []*Module                   // by digest
//	func (m *Machine) Session(id uint64) *Session
//	func (m *Machine) Sessions() []*Session                 // by ID
//	func (m *Machine) Leases(session uint64) []*Task        // RUNNING tasks of the session, by Lease.Seq
//	func (m *Machine) Counts() Counts                       // O(1) totals for status and metrics
//
// Planning (leader only; never mutates; SPEC L1, T4, L11):
//
//	func (m *Machine) Plan(free []Free, max int) []Assign
//	func (m *Machine) NextTick() (wall Time, lease LeaseTime) // when a Tick would next do something, per clock; 0: never
//
// Snapshots (facts/raft.md 1.1, ARCHITECTURE 3.11, 4):
//
//	func (m *Machine) Freeze() *Frozen                      // O(1)-ish immutable version; safe to read from another goroutine
//	func (f *Frozen) Records(yield func(Record) bool)       // header first; task/wire encodes them
//	func Restore(iter.Seq2[Record, error]) (*Machine, error) // builds aside; verifies the digest
//	func (m *Machine) Check() error                         // all invariants, SPEC T2 and the derived indexes; O(n)
//
// Ready is asked by Plan: may this session run this version now (its node has the module compiled, SPEC B3)?

// Free is a worker that can take tasks now: a connected session with credits.
type Free struct {
	Session uint64
	Slots   int                                // free slots, > 0
	Ready   func(module string, v string) bool // nil: everything; module is a Module.Digest
}

// Filter selects tasks for listing (SPEC H1). Zero fields select everything.
type Filter struct {
	Namespace string
	Status    Status
	Behavior  string
	Parent    string
	Label     Label  // Name "": any
	DueBefore Time   // not_before ≤ this
	Limit     int    // > 0
	Cursor    string // from the previous page
}

// Counts are totals over all namespaces.
type Counts struct {
	Created, Running, Retrying, Success, Failure int64 // Retrying: outcome with not_before; the last two are final ones
	Sessions, Behaviors, Modules                 int64
}
