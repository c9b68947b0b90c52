package task

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/taskrt/taskrt/task/table"
)

// ErrBadSnapshot is wrapped by every error of Restore, except errors of its input.
var ErrBadSnapshot = errors.New("task: bad snapshot")

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBadSnapshot, fmt.Sprintf(format, args...))
}

// Restore builds a machine from a snapshot's records. It hashes what it reads, and refuses a snapshot whose content does not match its digest (SPEC
// C4). The caller swaps in the machine when Restore has returned. The options are NewMachine's. The limits are the snapshot's.
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

// restorer collects records. When all records are there and the digest is right, it builds everything that is derived.
type restorer struct {
	m          *Machine
	head       *Head
	answers    int64
	behaviors  int64  // deleted behaviors count, too
	last       uint64 // CreatedRev of the last task
	lastRecord StoreRecord
	namespaces int64
	operations []*operationRow // in order
	strings    table.Strings   // names of namespaces, behaviors, versions and workers occur in every task
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
		m.answers = newAnswers(m)
		m.roster.Restore(h.Drained, h.Members)
		m.blobs.Holds.Restore(h.Holds)
		for _, x := range h.Jobs {
			m.jobs.Put(x)
		}
		return r.begin()
	}
	switch x := record.(type) {
	case *Namespace:
		return r.takeNamespace(x)
	case *Behavior:
		return r.takeBehavior(x)
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
		if !m.answers.AddProcess(x.Process, x.Lowest, int64(x.Used)) {
			return bad("process %d twice", x.Process)
		}
	case *ClientKey:
		if !m.answers.AddKey(x.Key, x.Body, int64(x.First)) {
			return bad("idempotency key %d twice", x.Key)
		}
	case *Answer:
		return r.takeAnswer(x)
	case *Operation:
		return r.takeOperation(x)
	case *Instance:
		if m.instances.Get(x.name()) != nil || !m.NamespaceExists(x.Namespace) {
			return bad("instance of %s/%s twice, or in an unknown namespace", x.Namespace, x.Behavior)
		}
		m.instances.Put(x)
		m.sum += hashInstance(x)
	case *Blob:
		return r.takeBlob(x)
	case *MaintenanceRun:
		m.runs.Put(m.runs.Len(), x)
	case *AccessToken, *AuditRecord:
		return r.takeAccess(x)
	case *Task:
		return r.takeTask(x)
	case *StoreRecord:
		return r.takeStoreRecord(x)
	default:
		return bad("unknown record %T", record)
	}
	return nil
}

func (r *restorer) takeAccess(record Record) error {
	switch x := record.(type) {
	case *AccessToken:
		if !r.m.access.Add(x) {
			return bad("access token %s twice", x.Name)
		}
	case *AuditRecord:
		if !r.m.audit.Add(x) {
			return bad("record %d of the audit twice, or out of order", x.Number)
		}
	}
	return nil
}

func (r *restorer) takeNamespace(x *Namespace) error {
	m := r.m
	if m.namespaces[x.Name] != nil {
		return bad("namespace %s twice", x.Name)
	}
	own := *x
	x = &own
	x.Name = r.strings.Same(x.Name)
	m.namespaces[x.Name] = &namespaceRow{space: x}
	m.sum += hashNamespace(x)
	r.namespaces++
	return nil
}

func (r *restorer) takeBehavior(x *Behavior) error {
	m := r.m
	if !m.NamespaceExists(x.Namespace) {
		return bad("behavior %s/%s in an unknown namespace", x.Namespace, x.Name)
	}
	b := m.behaviorRow(r.strings.Same(x.Namespace), x.Name)
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
	return nil
}

func (r *restorer) takeAnswer(x *Answer) error {
	r.answers++
	switch {
	case x.Keyed && !r.m.answers.AddUnder(x.Process, x.Seq, detached(x.Result)):
		return bad("an answer under idempotency key %d, which is not there, or out of order", x.Process)
	case !x.Keyed && !r.m.answers.AddAnswer(x.Process, x.Seq, &x.Result):
		return bad("an answer to process %d, which is not there, or out of order", x.Process)
	}
	return nil
}

func (r *restorer) takeTask(t *Task) error {
	m := r.m
	if t.CreatedRev <= r.last {
		return bad("tasks out of order at %s/%s", t.Namespace, t.ID)
	}
	r.last = t.CreatedRev
	if !m.NamespaceExists(t.Namespace) || m.find(t.Key()) != nil {
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
	if !(form{}).Packs(t) {
		t = r.own(t)
	}
	m.addRow(m.behaviorRow(t.Namespace, t.Behavior), t)
	return nil
}

// own returns a copy of a task that is kept unpacked. Values are immutable, and this one may be another machine's.
func (r *restorer) own(t *Task) *Task {
	own := *t
	t = &own
	t.Namespace, t.Behavior, t.Version = r.strings.Same(t.Namespace), r.strings.Same(t.Behavior), r.strings.Same(t.Version)
	if t.Lease != nil {
		l := *t.Lease
		l.Worker, l.Node = r.strings.Same(l.Worker), r.strings.Same(l.Node)
		t.Lease = &l
	}
	t.History = slices.Clone(t.History)
	for i := range t.History {
		a := &t.History[i]
		a.Worker, a.Node, a.Outcome = r.strings.Same(a.Worker), r.strings.Same(a.Node), r.strings.Same(a.Outcome)
	}
	return t
}

// finish verifies counts and digest and builds what is derived.
func (r *restorer) finish() (*Machine, error) {
	m, h := r.m, r.head
	if h == nil {
		return nil, bad("empty")
	}
	processes, keys := m.answers.Len()
	for _, c := range []struct {
		kind       string
		have, want int64
	}{
		{"behaviors", r.behaviors, h.Behaviors},
		{"modules", m.counts.Modules, h.Modules},
		{"sessions", m.counts.Sessions, h.Sessions},
		{"processes", int64(processes), h.Processes},
		{"keys", int64(keys), h.Keys},
		{"answers", r.answers, h.Answers},
		{"tasks", int64(m.store.Len()), h.Tasks},
		{"records", m.counts.Records, h.Records},
		{"namespaces", r.namespaces, h.Namespaces},
		{"operations", int64(len(m.operations)), h.Operations},
		{"instances", int64(len(m.instances.Rows)), h.Instances},
		{"blobs", int64(m.blobs.Len()), h.Blobs},
		{"runs", int64(m.runs.Len()), h.Runs},
		{"access tokens", int64(m.access.Len()), h.AccessTokens},
		{"records of the audit", m.audit.Len(), h.Audit.Len()},
	} {
		if c.have != c.want {
			return nil, bad("%d %s, the head says %d", c.have, c.kind, c.want)
		}
	}
	if m.total() != h.Sum || m.digestSum() != h.Digest {
		return nil, bad("the content does not have the digest that the head says, at index %d", h.Index)
	}
	if err := r.enterOperations(); err != nil {
		return nil, err
	}
	for _, x := range m.jobs.Rows() {
		if slices.ContainsFunc(x.Blobs, func(digest string) bool { return !m.BlobReady(digest) }) {
			return nil, bad("job %d needs a blob that is not stored", x.Number)
		}
		m.countPayload(1, blobsOf(x))
	}
	m.store.Begin()
	defer m.store.End()
	for row := range m.store.From(0) {
		t := m.task(row)
		if l := t.Lease; l != nil && !l.External() && m.sessions[l.Session] == nil {
			return nil, bad("task %s/%s is leased to session %d, which is not there", t.Namespace, t.ID, l.Session)
		}
		if err := m.part(t); err != nil {
			return nil, bad("%v", err)
		}
		m.enqueue(row)
		m.settle(row)
	}
	return m, nil
}

// begin makes the changes that the Head asks for. Namespaces come as records.
func (r *restorer) begin() error {
	r.m.access.Restore(r.head.AccessLast, r.head.AccessRev, r.head.RootOff, r.head.SignIn)
	r.m.audit.Begin(r.head.Audit)
	if r.head.Level < FirstLevel || r.head.Level > r.m.known {
		return bad("feature level %d; this build knows %d to %d", r.head.Level, FirstLevel, r.m.known)
	}
	clear(r.m.namespaces)
	return nil
}

// takeOperation keeps an operation until the blobs that it needs have been read.
func (r *restorer) takeOperation(x *Operation) error {
	m := r.m
	switch last := len(r.operations) - 1; {
	case m.operations[x.Key()] != nil || !m.NamespaceExists(x.Namespace):
		return bad("operation %s/%s twice, or in an unknown namespace", x.Namespace, x.ID)
	case x.CreatedRev == 0 || last >= 0 && r.operations[last].operation.CreatedRev >= x.CreatedRev:
		return bad("operations out of order at %s/%s", x.Namespace, x.ID)
	}
	if wrong := x.wrong(); wrong != "" {
		return bad("operation %s/%s: %s", x.Namespace, x.ID, wrong)
	}
	own := *x
	x = &own
	x.Namespace, x.Behavior, x.Version = r.strings.Same(x.Namespace), r.strings.Same(x.Behavior), r.strings.Same(x.Version)
	row := &operationRow{operation: x}
	r.operations = append(r.operations, row)
	m.operations[x.Key()] = row
	m.sum += hashOperation(x)
	return nil
}

// enterOperations enters all operations, whose tasks come next.
func (r *restorer) enterOperations() error {
	if err := r.references(); err != nil {
		return err
	}
	for _, row := range r.operations {
		for _, b := range r.m.behaviorsOf(row.operation) {
			if r.m.version(b, row.operation.Version) == nil {
				return bad("operation %s/%s needs a version of %s that is not there", row.operation.Namespace, row.operation.ID, b.name)
			}
		}
		r.m.enterOperationRecord(row)
	}
	return nil
}
