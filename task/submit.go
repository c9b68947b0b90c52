package task

import (
	"slices"

	"github.com/taskrt/taskrt/task/names"
	"github.com/taskrt/taskrt/task/tracing"
)

// IfExists says what a submit of an existing ID does (SPEC I3).
type IfExists uint8

// Join is the default.
const (
	Join IfExists = iota
	Fail
	Rerun
	Resubmit
)

// Submit creates a task, or meets an existing one (SPEC I1-I5). The proposer has checked shapes and sizes and has drawn
// the ID. The machine checks what only the state can tell.
//
//fields:wire value
type Submit struct {
	Namespace string   `cbor:"1,keyasint" field:"shared"`
	ID        string   `cbor:"2,keyasint"`
	Behavior  string   `cbor:"3,keyasint" field:"shared"`
	Params    Payload  `cbor:"4,keyasint,omitempty"`
	IfExists  IfExists `cbor:"5,keyasint,omitempty"`
	NotBefore Time     `cbor:"6,keyasint,omitempty"` // 0: now
	Delay     Millis   `cbor:"7,keyasint,omitempty"` // added to now when NotBefore is 0
	Deadline  Time     `cbor:"8,keyasint,omitempty"`
	Labels    []Label  `cbor:"9,keyasint,omitempty"`
	Priority  int8     `cbor:"10,keyasint"`
	HasParams bool     `cbor:"11,keyasint,omitempty"` // resubmit: "the new params if given"

	// BehaviorRev is the Rev of the behavior that the proposer checked with. If the behavior has another Rev when the
	// command is applied, the answer is behavior_changed, and the proposer checks again. 0: not compared.
	BehaviorRev    uint64 `cbor:"12,keyasint,omitempty"`
	ConcurrencyKey string `cbor:"13,keyasint,omitempty"` // of Params (SPEC L11)
	// Existing says that the task must exist (POST …/resubmit). Behavior may be "" then. If there is no such task, the answer is task_not_found.
	Existing bool `cbor:"14,keyasint,omitempty"`
	// Parent is the ID of the task whose attempt submits this one (SPEC B6), in the same namespace. An existing task keeps its own.
	Parent string `cbor:"15,keyasint,omitempty"`
	// HasLabels and HasPriority say that a rerun or a resubmit takes these, too, as HasParams does (SPEC I3).
	HasLabels   bool `cbor:"16,keyasint,omitempty"`
	HasPriority bool `cbor:"17,keyasint,omitempty"`
	// Trace is a traceparent (SPEC U2). A task that the submit makes due gets it, also if it is "". A child gets the traceparent of its parent's attempt.
	Trace string `cbor:"18,keyasint,omitempty"`
}

func (c Submit) level() uint64 { return levelOf(0, c.Trace, 0) }

func (c Submit) apply(m *Machine) Result {
	b, r, refusal := c.meet(m)
	if refusal.Code != OK {
		return refusal
	}
	if refusal = m.charge(c.Namespace, c.demand(m, r)); refusal.Code != OK {
		return refusal
	}
	return c.carryOut(m, b, r)
}

// carryOut makes the changes that meet and charge have allowed.
func (c *Submit) carryOut(m *Machine, b *behaviorRow, r *row) Result {
	at := startAt(c.NotBefore, c.Delay, m.now)
	switch {
	case r == nil:
		t := &Task{
			Namespace: b.namespace, ID: c.ID, Behavior: b.name, Status: Created, Params: c.Params,
			NotBefore: at, Deadline: c.Deadline, CreatedAt: m.now, Labels: c.Labels, Priority: c.Priority,
			ConcurrencyKey: c.ConcurrencyKey, Parent: c.Parent,
		}
		t.Creator, t.Trace = c.from(m)
		m.add(b, t)
		return Result{Task: t, Outcome: SubmitCreated}
	case c.IfExists == Rerun && m.task(r).Final():
		n := *m.task(r)
		again(&n, at, c.Deadline)
		c.give(&n)
		m.put(r, &n)
		return Result{Task: &n, Outcome: SubmitUpdated}
	case c.IfExists == Resubmit:
		return c.resubmit(m, r, at)
	}
	return c.existing(m.task(r))
}

// from returns the creator of a new task, its caller, and its trace. A child has its parent's, whoever works on the parent (SPEC A5, U2).
func (c *Submit) from(m *Machine) (creator uint64, trace string) {
	if c.Parent != "" {
		if parent := m.find(Key{c.Namespace, c.Parent}); parent != nil {
			t := m.store.Record(parent)
			return t.Creator, tracing.Attempt(t.Trace, t.Namespace, t.ID, t.Attempt)
		}
	}
	return m.caller, c.Trace
}

// demand returns what the submit takes of its namespace's quotas.
func (c *Submit) demand(m *Machine, r *row) demand {
	switch {
	case r == nil:
		return demand{tasks: 1, bytes: m.size(&c.Params), submits: 1}
	case (c.IfExists != Rerun || !m.task(r).Final()) && (c.IfExists != Resubmit || !c.moves(m.now, m.task(r))):
		return demand{}
	case c.HasParams && m.task(r).Status != Running:
		return demand{bytes: m.size(&c.Params) - m.size(&m.task(r).Params), submits: 1}
	}
	return demand{submits: 1}
}

// meet finds the behavior, and the task with the ID if there is one, or says why the submit is refused. It changes nothing.
func (c *Submit) meet(m *Machine) (*behaviorRow, *row, Result) {
	if r, ok := c.check(m); !ok {
		return nil, nil, r
	}
	if r, ok := m.accepting(c.Namespace); !ok {
		return nil, nil, r
	}
	r := m.find(Key{c.Namespace, c.ID})
	name := c.Behavior
	if c.Existing {
		if r == nil {
			return nil, nil, noTask()
		}
		if name == "" {
			name = m.task(r).Behavior
		}
	}
	b := m.behaviors[behaviorName{c.Namespace, name}]
	switch {
	case b.live() == nil:
		return nil, nil, noBehavior()
	case c.BehaviorRev != 0 && c.BehaviorRev != b.behavior.Rev:
		return nil, nil, behaviorChanged()
	case r == nil && m.reservedBy(Key{c.Namespace, c.ID}) != nil:
		return nil, nil, Result{Code: ReservedID, Field: "id", Message: "the ID begins with that of an operation and a colon"}
	case r == nil:
		refusal, _ := m.admit("params", &c.Params)
		return b, nil, refusal
	case m.of(r) != b:
		return nil, nil, Result{Code: OtherBehavior, Field: "id", Message: "the ID belongs to a task of another behavior", Task: m.task(r)}
	case c.IfExists == Fail:
		return nil, nil, Result{Code: AlreadyExists, Field: "id", Message: "a task with this ID exists", Task: m.task(r)}
	case m.task(r).Role != RoleNone && c.IfExists >= Rerun:
		return nil, nil, operationTask(m.task(r))
	case c.IfExists == Resubmit && m.task(r).CancelCode != "":
		return nil, nil, Result{Code: Cancelling, Message: "the task is being cancelled", Task: m.task(r)}
	case c.IfExists >= Rerun && c.HasParams: // other submits only compare params
		refusal, _ := m.admit("params", &c.Params)
		return b, r, refusal
	}
	return b, r, Result{}
}

// check refuses what the state or the shape of the command rules out before the ID is looked at.
func (c *Submit) check(m *Machine) (Result, bool) {
	switch {
	case !m.NamespaceExists(c.Namespace):
		return noNamespace(), false
	case !names.IsTask(c.ID):
		return invalid("id", "an ID is 3 to 128 characters of A-Z a-z 0-9 . _ : -"), false
	case c.Parent != "" && !names.IsTask(c.Parent):
		return invalid("parent", "is the ID of no task"), false
	case c.Priority < 0 || c.Priority > 9:
		return invalid("priority", "a priority is 0 to 9"), false
	case c.IfExists > Resubmit:
		return invalid("if_exists", "unknown value"), false
	case c.NotBefore < 0 || c.Delay < 0 || c.Deadline < 0:
		return invalid("not_before", "a time or delay is negative"), false
	case c.Params.wrong() != "":
		return invalid("params", c.Params.wrong()), false
	case len(c.ConcurrencyKey) > maxConcurrencyKey:
		return invalid("concurrency_key", "a concurrency key is at most 257 bytes"), false
	case c.Trace != "" && !tracing.Valid(c.Trace):
		return invalid("traceparent", "is none of version 00"), false
	case !sortedLabels(c.Labels):
		return invalid("labels", "names must be unique, and sorted by the proposer"), false
	}
	return Result{}, true
}

// maxConcurrencyKey is the length of the longest concurrency key: 256 bytes (SPEC L11) and the mark of a string.
const maxConcurrencyKey = 257

func sortedLabels(labels []Label) bool {
	return names.Ascend(len(labels), func(i int) string { return labels[i].Name })
}

// startAt returns the time before which a task must not start (SPEC R1): notBefore if that is given, else delay from now. It is never 0.
func startAt(notBefore Time, delay Millis, now Time) Time {
	if notBefore != 0 {
		return notBefore
	}
	return max(later(now, delay), 1)
}

// resubmit is the resubmit of SPEC I3, for an existing task.
func (c *Submit) resubmit(m *Machine, r *row, at Time) Result {
	t := m.task(r)
	moves := c.moves(m.now, t)
	if !moves && !c.marks(t) {
		return c.existing(t)
	}
	n := *t
	switch {
	case moves && t.Status == Running:
		n.Resubmit = at
	case moves:
		again(&n, at, c.Deadline)
		c.give(&n)
	}
	c.mark(&n)
	m.put(r, &n)
	return Result{Task: &n, Outcome: SubmitUpdated}
}

// give gives n, which does not run, all that the submit brings.
func (c *Submit) give(n *Task) {
	n.Trace = c.Trace
	if c.HasParams {
		n.Params, n.ConcurrencyKey = c.Params, c.ConcurrencyKey
	}
	c.mark(n)
}

// mark gives n what a submit changes even of a running task. marks reports whether it would change t.
func (c *Submit) mark(n *Task) {
	if c.HasLabels {
		n.Labels = c.Labels
	}
	if c.HasPriority {
		n.Priority = c.Priority
	}
}

func (c *Submit) marks(t *Task) bool {
	return c.HasLabels && !slices.Equal(c.Labels, t.Labels) || c.HasPriority && c.Priority != t.Priority
}

// moves reports whether a resubmit of t changes when it runs.
func (c *Submit) moves(now Time, t *Task) bool {
	at := startAt(c.NotBefore, c.Delay, now)
	if t.Status == Running {
		return t.Resubmit != at
	}
	return t.NotBefore == 0 || t.NotBefore != at && (t.NotBefore > now || at > now)
}

// existing answers a submit that changed nothing (SPEC I4). A resubmit without params does not compare params.
func (c *Submit) existing(t *Task) Result {
	same := c.IfExists == Resubmit && !c.HasParams || sameParams(c.Params, t.Params)
	if same {
		return Result{Task: t, Outcome: SubmitExisting}
	}
	return Result{Task: t, Outcome: SubmitExistingOtherParams}
}

// sameParams compares params. Absent params are null (SPEC I2).
func sameParams(a, b Payload) bool { return a.Equal(b) || isNull(a) && isNull(b) }

func isNull(p Payload) bool {
	return p.Encoding == None || p.Encoding == JSON && string(p.Data) == "null"
}
