package task

import (
	"fmt"

	"github.com/taskrt/taskrt/task/access"
	"github.com/taskrt/taskrt/task/answers"
	"github.com/taskrt/taskrt/task/audit"
	"github.com/taskrt/taskrt/task/blobs"
	"github.com/taskrt/taskrt/task/bounds"
	"github.com/taskrt/taskrt/task/hash"
	"github.com/taskrt/taskrt/task/jobs"
	"github.com/taskrt/taskrt/task/queue"
	"github.com/taskrt/taskrt/task/records"
	"github.com/taskrt/taskrt/task/roster"
	"github.com/taskrt/taskrt/task/store"
	"github.com/taskrt/taskrt/task/table"
	"github.com/taskrt/taskrt/task/upkeep"
)

// Machine is the replicated state machine. One writer calls Apply. Between two Applies any number of readers may call
// the read methods, Plan, NextTick and Check. Freeze counts as a writer. The machine does no locking.
//
// Values that it hands out are immutable and may be kept.
type Machine struct {
	state
	known uint64 // the highest feature level that this build knows; no state

	store     *store.Store[Task]
	behaviors map[behaviorName]*behaviorRow
	byName    []*behaviorRow // sorted by namespace and name
	numbered  []*behaviorRow // by Queues.Number; nil: none
	modules   map[string]*Module
	sessions  map[uint64]*sessionRow
	workers   map[string]*sessionRow // by Session.Worker
	roster    roster.Table           // whose workers are drained, who may vote
	answers   answers.Table[Result]
	records   map[string]*records.Set // of the TaskStore API, by namespace

	namespaces map[string]*namespaceRow
	operations map[Key]*operationRow
	instances  table.List[instanceName, *Instance]
	blobs      blobs.Table
	access     access.Table
	audit      audit.Table
	runs       upkeep.Table // of maintenance
	jobs       jobs.Table

	// These fields are derived. Restore rebuilds them, and Check verifies them.
	board     queue.Board
	deadlines heap[*row] // waiting or running tasks whose deadline has not struck; by deadline
	expiries  heap[*sessionRow]
	overruns  heap[*row]            // RUNNING tasks by when the leader ends the run at last (SPEC L7)
	losses    heap[*row]            // RUNNING tasks with an external lease by when it ends
	accepts   map[acceptName][]*row // RUNNING tasks by the accept request that they were given to, by token
	acceptors map[string]int64      // external leases per worker

	isolating int64 // sessions that can have suspects run alone now (SPEC L5)

	crowded []*namespaceRow // with more final tasks than Limit.Finals, by name
	doomed  heap[*row]      // RUNNING tasks of namespaces in PURGING that are not being cancelled yet; by token
	counts  Counts
	fanout  operationIndex

	// These fields are the scratch of one Apply.
	entryRev   uint64 // rev before the entry
	hashed     *Task  // the task written last and its hash: its answer's hash needs it again
	hashedSum  uint64
	events     []Event
	expected   int    // about as many events as the entry will have
	perCommand int    // events per command of the last entry, in eighths
	tickChange bool   // this entry has done something that a Tick is for
	steps      int64  // of the work of operations: how many this entry may still do
	caller     uint64 // whose command is being applied; 0: see Caller
	callerName string // the name of the caller's token before the command, if the command is to be recorded (SPEC A8)
	forgets    bool   // the entry forgets the kept answers at its end
}

// state is the machine's scalars. A snapshot's Head carries them.
type state struct {
	index, term uint64
	now         Time
	leaseNow    LeaseTime
	rev         uint64    // of the last write of any record
	token       uint64    // of the last lease
	sessionID   uint64    // of the last session
	floor       LeaseTime // lease_now of the term's first entry: every lease has a full TTL from there (SPEC C3)
	sum         uint64    // over the records that the machine keeps itself, see digest.go and total
	before      uint64    // running digest before the last entry's scalars and sum were folded in
	limits      Limit
	level       uint64 // feature level of the cluster (SPEC C9)
}

// Limit bounds what the machine keeps.
type Limit = bounds.Limit

// Option changes what NewMachine starts from.
type Option func(*Machine)

// WithLimit is for tests that want to meet a limit soon. Fields that are not positive keep their default. All replicas must start with the same.
func WithLimit(l Limit) Option { return func(m *Machine) { m.limits = m.limits.With(l) } }

// NewMachine returns the state before the first log entry.
func NewMachine(options ...Option) *Machine {
	m := &Machine{
		known: KnownLevel,

		store:     store.New[Task](form{}),
		access:    access.NewTable(hash.OfAccessToken),
		audit:     audit.NewTable(hash.OfAudit, audit.Default()),
		blobs:     blobs.New(hash.OfBlob, hash.OfHold),
		behaviors: map[behaviorName]*behaviorRow{},
		modules:   map[string]*Module{},
		sessions:  map[uint64]*sessionRow{},
		workers:   map[string]*sessionRow{},
		roster:    roster.NewTable(roster.Kinds{Drained: hash.OfDrained, Member: hash.OfMember}),
		records:   map[string]*records.Set{},
		runs:      upkeep.NewTable(hash.OfRun),
		jobs:      jobs.NewTable(hash.OfJob),

		namespaces: newNamespaces(),
		operations: map[Key]*operationRow{},
		instances:  table.NewList((*Instance).name, instanceName.compare),
		fanout:     operationIndex{spaces: map[string][]*operationRow{}},
		accepts:    map[acceptName][]*row{},
		acceptors:  map[string]int64{},
	}
	m.limits, m.level = bounds.Default(), FirstLevel
	for _, o := range options {
		o(m)
	}
	m.board = queue.NewBoard(&m.store.Rows, waiting{m})
	m.answers = newAnswers(m)
	for _, n := range m.namespaces { // order-free: the sum commutes
		m.sum += hashNamespace(n.space)
	}
	return m
}

// Apply applies one log entry: len(results) == len(ps), and the events are in the order in which things happened.
//
// Apply panics on an impossible entry: an index that does not rise, a term that falls, a nil command. The shell must
// stop the node then, and the state is no longer to be used (SPEC C4).
func (m *Machine) Apply(h Header, ps []Proposal) ([]Result, []Event) {
	if h.Index <= m.index || h.Term < m.term {
		panic(fmt.Sprintf("task: entry %d of term %d after entry %d of term %d", h.Index, h.Term, m.index, m.term))
	}
	m.before = m.digestSum()
	m.store.Begin()
	defer m.store.End()
	m.entryRev, m.tickChange, m.steps, m.expected = m.rev, false, m.limits.Steps, len(ps)*m.perCommand/8
	m.index = h.Index
	m.now, m.leaseNow = max(m.now, h.Now), max(m.leaseNow, h.LeaseNow)
	if h.Term != m.term {
		m.term = h.Term
		m.floor = m.leaseNow
		m.extendSessions()
		m.extendLeases()
	}
	m.becomeEligible()

	answers := newHasher(hash.OfEntry)
	results := make([]Result, len(ps))
	for i := range ps {
		results[i] = m.propose(&ps[i])
		answers.answered(&results[i])
	}
	forgetAnswers(m)
	answers.Word(m.before)
	m.before = answers.Sum()
	events := m.events
	m.events = nil
	m.perCommand = min(8*len(events)/max(len(ps), 1)+1, 32)
	return results, events
}

// Ahead may be called before Apply, with the tasks that the commands are about: Apply then finds them sooner.
func (m *Machine) Ahead(n int, key func(i int) (namespace, id string)) { m.store.Ahead(n, key) }

// run applies one command and stamps its Result.
func (m *Machine) run(p *Proposal) Result {
	c := p.Command
	if c == nil {
		panic(fmt.Sprintf("task: unknown command in entry %d", m.index))
	}
	r := refuse(LevelTooLow, "the cluster's feature level does not know the command yet")
	if known := LevelOf(c) <= m.level; known && p.Caller.Look {
		return steer(m, &p.Caller, c)
	} else if known {
		r = c.apply(m)
	}
	r.Index = m.index
	return noted(m, &p.Caller, r)
}

// extendSessions gives every session, and every hold, a full TTL from this entry on. The first command of a term says how far the lease
// clock of the new leader is, and nobody could renew while there was no leader (SPEC C3).
func (m *Machine) extendSessions() {
	for _, s := range m.sessionsByID() {
		next := *s.session
		next.Expires = later(m.leaseNow, next.TTL)
		m.putSession(s, &next)
	}
	m.blobs.Holds.Extend(int64(m.leaseNow))
}

// total returns the sum over all records, including the records that the packages below task keep.
func (m *Machine) total() uint64 {
	return m.sum + m.blobs.Sum() + m.answers.Sum() + m.access.Sum() + m.audit.Sum() + m.roster.Sum() + m.runs.Sum() + m.jobs.Sum()
}

// digestSum folds everything that is not in a record into the running digest.
func (m *Machine) digestSum() uint64 {
	h := newHasher(hash.OfEntry)
	h.Word(m.before)
	h.Word(m.index)
	h.Word(m.term)
	h.Int(int64(m.now))
	h.Int(int64(m.leaseNow))
	h.Word(m.rev)
	h.Word(m.token)
	h.Word(m.sessionID)
	h.Int(int64(m.floor))
	h.Word(m.total())
	h.Word(m.level)
	m.limits.Mix(&h.Hash)
	return h.Sum()
}

func (m *Machine) emit(e Event) {
	e.Index, e.Rev = m.index, m.rev
	if m.events == nil {
		m.events = make([]Event, 0, m.expected+4)
	}
	m.events = append(m.events, e)
}

// add adds t as a new record.
func (m *Machine) add(b *behaviorRow, t *Task) {
	m.setDue(nil, t)
	m.enter(b, t)
}

// setDue notes since when t is due, if its time was set now and has passed (SPEC T4). t replaces prev.
func (m *Machine) setDue(prev, t *Task) {
	switch {
	case t.NotBefore == 0 || t.NotBefore >= m.now:
		t.DueSince = 0
	case prev == nil || prev.NotBefore != t.NotBefore:
		t.DueSince = m.now
	}
}

// enter is add for a record that already says since when it is due.
func (m *Machine) enter(b *behaviorRow, t *Task) {
	m.setExcess(b, nil, t)
	m.rev++
	t.Rev, t.CreatedRev = m.rev, m.rev
	m.sum += m.hash(t)
	m.referTask(nil, t)
	r := m.addRow(b, t)
	m.enqueue(r)
	m.settle(r)
	m.emit(Event{Kind: TaskChanged, Task: t})
	m.stepOperation(r, nil)
}

// put replaces the record of r by t. It subtracts from the sum the hash of the record that is in memory now. So the sum shows if this record was
// damaged (SPEC C4).
func (m *Machine) put(r *row, t *Task) {
	m.rev++
	t.Rev = m.rev
	prev := m.task(r)
	m.followRun(prev, t) // it may give t its next time
	m.setDue(prev, t)
	m.setExcess(m.of(r), prev, t)
	m.referTask(prev, t)
	m.replace(r, t)
	m.emit(Event{Kind: TaskChanged, Task: t, Prev: prev})
	m.stepOperation(r, prev)
}

// replace writes a record without a new rev or event. By itself only the renewal of an external lease uses it: watchers need not see that, as they
// see no renewal of a session (SPEC L2).
func (m *Machine) replace(r *row, t *Task) {
	m.sum -= hashTask(m.task(r))
	m.sum += m.hash(t)
	former := m.store.Rows.Look(r).Key
	m.dequeue(r)
	m.replaceRow(r, t)
	m.enqueue(r)
	if former != m.store.Rows.Look(r).Key {
		m.board.Settle(&m.of(r).Queues, former)
	}
	m.settle(r)
	m.store.Rows.Tidy(r)
}

// drop deletes the record of r (SPEC L9). A removal has a rev of its own, so that a watcher can say up to where it has seen everything (SPEC W3).
func (m *Machine) drop(r *row) {
	m.rev++
	t, b := m.task(r), m.of(r)
	m.followRun(t, nil)
	m.sum -= hashTask(t)
	key := m.store.Rows.Look(r).Key
	m.dequeue(r)
	m.board.Settle(&b.Queues, key)
	m.store.Remove(r, t)
	m.emit(Event{Kind: TaskRemoved, Task: t, Lease: t.Lease})
	m.forgetBehavior(b)
}

// find returns the row of a task, or nil.
func (m *Machine) find(k Key) *row { return m.store.Get(k.Namespace, k.ID) }

// addRow keeps t, a new task of b.
func (m *Machine) addRow(b *behaviorRow, t *Task) *row {
	r := m.store.Add(b.Number, t)
	r.Priority = t.Priority
	return r
}

// replaceRow keeps t in the place of the record of r.
func (m *Machine) replaceRow(r *row, t *Task) {
	m.store.Replace(r, t)
	r.Priority = t.Priority
}

// task returns the record of r.
func (m *Machine) task(r *row) *Task { return m.store.Record(r) }

// of returns the row of the behavior of r.
func (m *Machine) of(r *row) *behaviorRow { return m.numbered[r.Behavior] }

// hash returns hashTask(t), remembering it.
func (m *Machine) hash(t *Task) uint64 {
	m.hashed, m.hashedSum = t, hashTask(t)
	return m.hashedSum
}

// later returns t + d for any clock, without overflow.
func later[T Time | LeaseTime](t T, d Millis) T {
	const end = 1<<63 - 1
	if d > 0 && int64(t) > end-int64(d) {
		return end
	}
	return t + T(d)
}
