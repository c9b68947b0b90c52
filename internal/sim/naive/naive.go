// Package naive is a second model of the task state machine. The simulator compares package task with it. The model is written
// from docs/spec.md in the plainest way (maps, copies, full scans), one short file per topic. It uses the plain types of
// task's contract and none of its functions. Where the SPEC leaves a number to the implementation, the model leaves it
// open (a rev or token 0, UnknownHash, Jitter) and calls Adopt: the simulator checks the machine's number and fills it
// in. Where several refusals are true and the SPEC does not say which one counts, the model takes the machine's (oneOf).
package naive

import (
	"cmp"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// Model is the state. The exported fields are for reading.
type Model struct {
	Now            task.Time
	LeaseNow       task.LeaseTime
	Floor          task.LeaseTime // the lease clock at the first command of the term (C3)
	Tasks          map[task.Key]*task.Task
	Sessions       map[uint64]task.Session
	Behaviors      map[task.Key]*task.Behavior // by namespace and name; also deleted ones (B8)
	Modules        map[string]*task.Module
	Spaces         map[string]*task.Namespace
	Drained        map[string]bool              // node IDs (L10)
	Holds          map[string]task.Hold         // on blobs, by ID (C8)
	Members        map[string]task.Member       // by node ID, without their index (C2)
	Records        map[uint64]*task.StoreRecord // of the TaskStore (X2)
	Halted         map[uint64]bool              // tokens that died in this entry other than by their worker's own report
	Jitter         map[task.Key][2]task.Time    // bounds of not_before, where the machine's hash decides
	Operations     map[task.Key]*task.Operation
	Instances      map[instance]int64
	Blobs          map[string]*task.Blob
	Nameless       []task.StoreRecord // taken up by an import in this entry: the simulator gives them their IDs
	Dropped        map[string]bool    // digests whose files may go since this entry
	Runs           []task.MaintenanceRun
	Access         map[string]*task.AccessToken // by name (A4)
	RootOff        bool
	SignIn         string // A7
	SignInRev      uint64
	Jobs           []*task.Job        // by number; the rev is 0 until it is adopted (Q3)
	endedJobs      []*task.Job        // those of them that have ended, in that order
	Changes        []task.AuditRecord // A8
	Refused        []task.AuditRecord
	Audited        uint64          // records so far
	Lost           int64           // refusals that no record counts
	Noted          []uint64        // records that this entry made
	Told           map[string]bool // names of access tokens that this entry changed; "": the root token was turned off or on
	Adopt          func(k task.Key, real *task.Task)
	AdoptOperation func(k task.Key, real *task.Operation)
	AdoptSpace     func(name string, real *task.Namespace)
	Fresh          func(id uint64) uint64 // checks the ID of a new record, which the machine chose

	limits      Limits
	index, term uint64
	struck      bool   // in this entry something happened that a Tick is for
	charged     bool   // a transaction's parts are paid for together
	importing   bool   // what is written is as old as the export says
	ending      uint64 // the session that is being ended
	guilty      bool   // the run that fails was alone in a process that died (L5)
	used        used   // that the run used whose report is being applied
	steps       int64  // that operations may take in this entry
	finishes    map[task.Key]string
	born        map[task.Key]int // the order in which the tasks came to be, also before their numbers are adopted
	written     map[task.Key]int // and were written last
	bornOps     map[task.Key]int
	retried     map[task.Key]int // when an operation was retried last
	clock       int
	before      int    // clock at the start of the entry
	tokens      uint64 // access tokens made so far
	caller      uint64 // whose command is being applied
	callerName  string // before it
	processes   map[uint64]*process
	keys        map[uint64]*clientKey
	forgets     bool // who asked what, after the entry
}

// Limits are the machine's limits that matter here.
type Limits struct {
	Idle task.Millis // a process idle that long on the lease clock, and a key that old, is forgotten
	Keys int         // idempotency keys kept

	Finals, Sweep int // final tasks per namespace (T9); how many of them a Tick removes
	Namespaces    int
	Steps         int64 // tasks of operations that an entry makes, cancels, retries or removes
	Cleanups      int   // bound to a session

	Changes, Refusals int // kept in the audit
	Age               int64
}

// UnknownHash marks an Ended.Finish that is to be adopted.
const UnknownHash = 1

// New returns the state before the first entry.
func New(limits Limits) *Model {
	spaces := map[string]*task.Namespace{}
	for _, name := range []string{task.DefaultNamespace, task.SystemNamespace} {
		spaces[name] = &task.Namespace{Name: name, Status: task.NamespaceIsActive}
	}
	return &Model{
		Spaces: spaces, Operations: map[task.Key]*task.Operation{}, Instances: map[instance]int64{}, Blobs: map[string]*task.Blob{},
		born: map[task.Key]int{}, written: map[task.Key]int{}, bornOps: map[task.Key]int{}, retried: map[task.Key]int{},
		Tasks: map[task.Key]*task.Task{}, Sessions: map[uint64]task.Session{}, Behaviors: map[task.Key]*task.Behavior{},
		Modules: map[string]*task.Module{}, Drained: map[string]bool{}, Members: map[string]task.Member{}, Holds: map[string]task.Hold{}, Records: map[uint64]*task.StoreRecord{},
		Access: map[string]*task.AccessToken{}, Jitter: map[task.Key][2]task.Time{}, limits: limits, finishes: map[task.Key]string{},
		processes: map[uint64]*process{}, keys: map[uint64]*clientKey{},
	}
}

// Apply applies one entry and predicts the results. got are the machine's results, from which numbers are adopted.
func (m *Model) Apply(h task.Header, ps []task.Proposal, got []task.Result) (want []task.Result) {
	m.Dropped, m.Nameless, m.Told, m.Noted = map[string]bool{}, nil, map[string]bool{}, nil
	m.index, m.struck, m.Halted, m.steps, m.before = h.Index, false, map[uint64]bool{}, m.limits.Steps, m.clock
	for _, t := range m.Tasks {
		m.struck = m.struck || t.NotBefore > m.Now && t.NotBefore <= h.Now
	}
	m.Now, m.LeaseNow = max(m.Now, h.Now), max(m.LeaseNow, h.LeaseNow) // C3: never back
	if h.Term != m.term {                                              // C3: a full TTL from the first command of a term
		m.term, m.Floor = h.Term, m.LeaseNow
		for id, s := range m.Sessions {
			s.Expires = m.LeaseNow + task.LeaseTime(s.TTL)
			m.Sessions[id] = s
		}
		for id, x := range m.Holds {
			x.Until = int64(m.LeaseNow) + x.TTL
			m.Holds[id] = x
		}
	}
	for i, p := range ps {
		r := m.propose(p, got[i])
		r.Index = cmp.Or(r.Index, h.Index)
		want = append(want, r)
	}
	if m.forgets {
		m.forgets, m.processes, m.keys = false, map[uint64]*process{}, map[uint64]*clientKey{}
	}
	return want
}

// oneOf refuses with the machine's code if this code is one of the true ones, else with the first.
func oneOf(got task.Result, codes ...task.Code) task.Result {
	if slices.Contains(codes, got.Code) {
		return task.Result{Code: got.Code}
	}
	return task.Result{Code: codes[0]}
}

func (m *Model) answer(c task.Code, k task.Key, got task.Result) task.Result {
	m.Adopt(k, got.Task)
	return task.Result{Code: c, Task: m.Tasks[k]}
}

// write stores a record as a new version.
func (m *Model) write(t *task.Task) {
	k := name(t)
	prev := m.Tasks[k]
	m.clock++
	if m.written[k] = m.clock; prev == nil {
		m.born[k] = m.clock
	}
	if t.Rev = 0; prev != nil {
		m.follow(prev, t)
	}
	m.dueSince(prev, t)
	m.tooMany(prev, t)
	for i, p := range payloads(t) {
		m.refresh(payloads(prev)[i], p)
	}
	m.Tasks[k] = t
	delete(m.Jitter, k)
	m.advance(prev, t)
}

// dueSince is T4: a due time that had passed when it was set counts as the time at which it was set.
func (m *Model) dueSince(prev, t *task.Task) {
	if t.NotBefore == 0 || t.NotBefore >= m.Now {
		t.DueSince = 0
	} else if !m.importing && (prev == nil || prev.NotBefore != t.NotBefore) {
		t.DueSince = m.Now
	}
}

func name(t *task.Task) task.Key { return task.Key{Namespace: t.Namespace, ID: t.ID} }

func final(t *task.Task) bool { return t.Status >= task.Success && t.NotBefore == 0 }

// Behavior returns the task's behavior, even if it is deleted. For an imported task whose behavior never was, it
// returns a behavior that looks deleted.
func (m *Model) Behavior(t *task.Task) *task.Behavior {
	if b := m.Behaviors[task.Key{Namespace: t.Namespace, ID: t.Behavior}]; b != nil {
		return b
	}
	return &task.Behavior{Deleted: true}
}

// Version returns the version of the task's behavior with this name; "" names the active version. It returns nil if there is none.
func (m *Model) Version(t *task.Task, want string) *task.Version {
	b := m.Behavior(t)
	for i, v := range b.Versions {
		if v.Version == cmp.Or(want, b.Active) {
			return &b.Versions[i]
		}
	}
	return nil
}

// Term returns the term of the last entry.
func (m *Model) Term() uint64 { return m.term }

// ordered returns the tasks that pass, by name: for loops whose order could matter one day.
func (m *Model) ordered(pass func(*task.Task) bool) []*task.Task {
	ts := slices.Collect(maps.Values(m.Tasks))
	ts = slices.DeleteFunc(ts, func(t *task.Task) bool { return !pass(t) })
	slices.SortFunc(ts, func(a, b *task.Task) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.ID, b.ID))
	})
	return ts
}
