package task

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
)

// Record is one record of a snapshot: *Head, *Namespace, *Behavior, *Module, *Session, *Process, *ClientKey, *Answer,
// *Operation, *Instance, *Blob, *MaintenanceRun, *Task or *StoreRecord, in this order.
type Record interface{ record() }

func (*Head) record()      {}
func (*Behavior) record()  {}
func (*Module) record()    {}
func (*Session) record()   {}
func (*Process) record()   {}
func (*ClientKey) record() {}
func (*Answer) record()    {}
func (*Task) record()      {}

func (*Namespace) record()      {}
func (*Operation) record()      {}
func (*Instance) record()       {}
func (*Blob) record()           {}
func (*MaintenanceRun) record() {}

// Head stands first in a snapshot: the scalars of the machine, how many records of each kind follow, and the digest
// (SPEC C4).
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
	processes []process
	keys      []clientKey
	tasks     frozenTasks
	records   []frozenRecords

	namespaces []*Namespace
	operations []*Operation
	instances  []*Instance
	blobs      []*blobPage
	runs       []*MaintenanceRun
}

// Freeze returns the state as it is now. It copies tables of pointers: to pages of tasks and records, to behaviors, modules,
// sessions and processes; no records. It counts as a write: no Apply or read may run beside it.
func (m *Machine) Freeze() *Frozen {
	f := &Frozen{tasks: m.store.freeze(), records: m.freezeRecords()}
	for _, b := range m.byName {
		if b.behavior != nil {
			f.behaviors = append(f.behaviors, b.behavior)
		}
	}
	f.modules = m.Modules()
	for _, s := range m.sessionsByID() {
		f.sessions = append(f.sessions, s.session)
	}
	answers := 0
	for _, p := range sortedValues(m.processes, func(p *process) uint64 { return p.id }) {
		p.frozen = true
		f.processes = append(f.processes, *p)
		answers += len(p.answers)
	}
	for _, k := range sortedValues(m.keys, func(k *clientKey) uint64 { return k.id }) {
		k.frozen = true
		f.keys = append(f.keys, *k)
		answers += len(k.answers)
	}
	f.head = Head{
		Index: m.index, Term: m.term, Now: m.now, LeaseNow: m.leaseNow, Rev: m.rev, Token: m.token,
		SessionID: m.sessionID, Sum: m.sum, Before: m.before, Digest: m.digestSum(), Limit: m.limits,
		Behaviors: int64(len(f.behaviors)), Modules: int64(len(f.modules)), Sessions: int64(len(f.sessions)),
		Processes: int64(len(f.processes)), Keys: int64(len(f.keys)), Answers: int64(answers), Tasks: int64(m.store.n),
		Records: m.counts.Records,
		Floor:   m.floor, Drained: m.DrainedNodes(), Level: m.level,
	}
	m.freezeMore(f)
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
	for i := range f.processes {
		p := &f.processes[i]
		if !yield(&Process{Process: p.id, Lowest: p.lowest, Used: p.used}) {
			return
		}
	}
	for i := range f.keys {
		k := &f.keys[i]
		if !yield(&ClientKey{Key: k.id, Body: k.body, First: k.first}) {
			return
		}
	}
	if !f.yieldAnswers(yield) || !f.yieldMore(yield) {
		return
	}
	for t := range f.tasks.all {
		if !yield(t) {
			return
		}
	}
	f.yieldRecords(yield)
}

func (f *Frozen) yieldAnswers(yield func(Record) bool) bool {
	for i := range f.processes {
		p := &f.processes[i]
		for _, a := range p.answers {
			if !yield(&Answer{Process: p.id, Seq: a.seq, Result: *a.result}) {
				return false
			}
		}
	}
	for i := range f.keys {
		k := &f.keys[i]
		for _, a := range k.answers {
			if !yield(&Answer{Process: k.id, Seq: a.seq, Result: *a.result, Keyed: true}) {
				return false
			}
		}
	}
	return true
}

func yieldAll[R Record](rs []R, yield func(Record) bool) bool {
	for _, r := range rs {
		if !yield(r) {
			return false
		}
	}
	return true
}

func sortedValues[K cmp.Ordered, V any](m map[K]V, key func(V) K) []V {
	return slices.SortedFunc(maps.Values(m), func(a, b V) int { return cmp.Compare(key(a), key(b)) })
}

// ErrBadSnapshot is what every error of Restore wraps that is not an error of its input.
var ErrBadSnapshot = errors.New("task: bad snapshot")

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBadSnapshot, fmt.Sprintf(format, args...))
}

// Restore builds a machine from a snapshot's records. It hashes what it reads and refuses a snapshot whose content is
// not what its digest says (SPEC C4). The caller swaps the machine in once Restore has returned.
// options are those of NewMachine; limits are the snapshot's.
func Restore(records iter.Seq2[Record, error], options ...Option) (*Machine, error) {
	r := restorer{m: NewMachine(options...)}
	for record, err := range records {
		if err == nil {
			err = r.take(record)
		}
		if err != nil {
			return nil, err
		}
	}
	return r.finish()
}

// restorer collects records; everything derived is built when all are there and the digest is right.
type restorer struct {
	m          *Machine
	head       *Head
	answers    int64
	behaviors  int64  // deleted ones, too
	last       uint64 // CreatedRev of the last task
	lastRecord StoreRecord
	namespaces int64
	operations []*operationRow // in order
	strings    map[string]string
}

// same returns one copy for equal strings: names of namespaces, behaviors, versions and workers occur in every task.
func (r *restorer) same(s string) string {
	if known, ok := r.strings[s]; ok {
		return known
	}
	if r.strings == nil {
		r.strings = map[string]string{}
	}
	r.strings[s] = s
	return s
}

func (r *restorer) take(record Record) error {
	m := r.m
	if h, ok := record.(*Head); ok != (r.head == nil) {
		return bad("the head is not the first record, or there are two")
	} else if ok {
		r.head = h
		m.state = state{
			index: h.Index, term: h.Term, now: h.Now, leaseNow: h.LeaseNow, rev: h.Rev, token: h.Token,
			sessionID: h.SessionID, before: h.Before, limits: h.Limit, floor: h.Floor, level: h.Level,
		}
		for _, node := range h.Drained {
			m.drained[node] = true
			m.sum += hashDrained(node)
		}
		return r.begin()
	}
	switch x := record.(type) {
	case *Namespace, *Operation, *Instance, *Blob, *MaintenanceRun:
		return r.takeMore(x)
	case *Behavior:
		if !m.NamespaceExists(x.Namespace) {
			return bad("behavior %s/%s in an unknown namespace", x.Namespace, x.Name)
		}
		b := m.behaviorRow(r.same(x.Namespace), x.Name)
		if b.behavior != nil {
			return bad("behavior %s/%s twice", x.Namespace, x.Name)
		}
		b.behavior = x
		b.space.usage.Behaviors++
		m.policyChanged(b)
		m.sum += hashBehavior(x)
		r.behaviors++
		if b.live() != nil {
			m.counts.Behaviors++
		}
	case *Module:
		if m.modules[x.Digest] != nil {
			return bad("module %s twice", x.Digest)
		}
		m.modules[x.Digest] = x
		m.sum += hashModule(x)
		m.counts.Modules++
	case *Session:
		if m.sessions[x.ID] != nil || m.workers[x.Worker] != nil {
			return bad("session %d twice", x.ID)
		}
		m.sum += hashSession(x)
		m.enterSession(&sessionRow{session: x})
	case *Process:
		if m.processes[x.Process] != nil {
			return bad("process %d twice", x.Process)
		}
		p := &process{id: x.Process, lowest: x.Lowest, used: x.Used}
		m.processes[p.id] = p
		m.sum += p.hash()
	case *ClientKey:
		if m.keys[x.Key] != nil {
			return bad("idempotency key %d twice", x.Key)
		}
		k := &clientKey{id: x.Key, body: x.Body, first: x.First}
		m.sum += k.hash()
		m.enterClientKey(k)
	case *Answer:
		return r.takeAnswer(x)
	case *Task:
		return r.takeTask(x)
	case *StoreRecord:
		return r.takeStoreRecord(x)
	default:
		return bad("unknown record %T", record)
	}
	return nil
}

func (r *restorer) takeAnswer(x *Answer) error {
	r.answers++
	if x.Keyed {
		return r.takeKeyedAnswer(x)
	}
	p := r.m.processes[x.Process]
	if p == nil {
		return bad("an answer to process %d, which is not there", x.Process)
	}
	if n := len(p.answers); x.Seq < p.lowest || n > 0 && p.answers[n-1].seq >= x.Seq {
		return bad("answers to process %d out of order", x.Process)
	}
	a := r.m.answer(x.Process, x.Seq, &x.Result)
	p.answers = append(p.answers, a)
	p.bytes += a.bytes
	r.m.sum += a.hash
	return nil
}

func (r *restorer) takeKeyedAnswer(x *Answer) error {
	k := r.m.keys[x.Process]
	if k == nil {
		return bad("an answer under idempotency key %d, which is not there", x.Process)
	}
	if n := len(k.answers); n > 0 && k.answers[n-1].seq >= x.Seq {
		return bad("answers under idempotency key %d out of order", x.Process)
	}
	r.m.rememberKeyed(k, x.Seq, x.Result)
	return nil
}

func (r *restorer) takeTask(t *Task) error {
	m := r.m
	if t.CreatedRev <= r.last {
		return bad("tasks out of order at %s/%s", t.Namespace, t.ID)
	}
	r.last = t.CreatedRev
	if !m.NamespaceExists(t.Namespace) || m.store.get(t.Key()) != nil {
		return bad("task %s/%s twice, or in an unknown namespace", t.Namespace, t.ID)
	}
	if err := t.check(); err != nil {
		return bad("%v", err)
	}
	payloads := t.payloads()
	if err := r.known(t.Key(), payloads[:]...); err != nil {
		return err
	}
	m.sum += hashTask(t)
	if !packs(t) {
		t = r.own(t)
	}
	m.store.add(m.behaviorRow(t.Namespace, t.Behavior), t)
	return nil
}

// own returns a copy of a task that is kept as it is: values are immutable, and this one may be another machine's.
func (r *restorer) own(t *Task) *Task {
	own := *t
	t = &own
	t.Namespace, t.Behavior, t.Version = r.same(t.Namespace), r.same(t.Behavior), r.same(t.Version)
	if t.Lease != nil {
		l := *t.Lease
		l.Worker, l.Node = r.same(l.Worker), r.same(l.Node)
		t.Lease = &l
	}
	t.History = slices.Clone(t.History)
	for i := range t.History {
		a := &t.History[i]
		a.Worker, a.Node, a.Outcome = r.same(a.Worker), r.same(a.Node), r.same(a.Outcome)
	}
	return t
}

// finish verifies counts and digest and builds what is derived.
func (r *restorer) finish() (*Machine, error) {
	m, h := r.m, r.head
	if h == nil {
		return nil, bad("empty")
	}
	for _, c := range []struct {
		kind       string
		have, want int64
	}{
		{"behaviors", r.behaviors, h.Behaviors},
		{"modules", m.counts.Modules, h.Modules},
		{"sessions", m.counts.Sessions, h.Sessions},
		{"processes", int64(len(m.processes)), h.Processes},
		{"keys", int64(len(m.keys)), h.Keys},
		{"answers", r.answers, h.Answers},
		{"tasks", int64(m.store.n), h.Tasks},
		{"records", m.counts.Records, h.Records},
		{"namespaces", r.namespaces, h.Namespaces},
		{"operations", int64(len(m.operations)), h.Operations},
		{"instances", int64(len(m.instances.sorted)), h.Instances},
		{"blobs", int64(m.blobs.n), h.Blobs},
		{"runs", int64(len(m.runs)), h.Runs},
	} {
		if c.have != c.want {
			return nil, bad("%d %s, the head says %d", c.have, c.kind, c.want)
		}
	}
	if m.sum != h.Sum || m.digestSum() != h.Digest {
		return nil, bad("the content does not have the digest that the head says, at index %d", h.Index)
	}
	if err := r.enterOperations(); err != nil {
		return nil, err
	}
	m.store.begin()
	defer m.store.end()
	for row := range m.store.from(0) {
		t := m.task(row)
		if l := t.Lease; l != nil && !l.External() && m.sessions[l.Session] == nil {
			return nil, bad("task %s/%s is leased to session %d, which is not there", t.Namespace, t.ID, l.Session)
		}
		if err := m.part(t); err != nil {
			return nil, bad("%v", err)
		}
		m.enqueue(row)
		m.settle(m.of(row), m.store.rows.look(row).key)
	}
	return m, nil
}
