package task

import (
	"strconv"

	"github.com/taskrt/taskrt/task/names"
	"github.com/taskrt/taskrt/task/tracing"
)

// StartOperation begins an operation, or is refused. One entry decides (SPEC O1, O2).
type StartOperation struct {
	Namespace   string   `cbor:"1,keyasint"`
	ID          string   `cbor:"2,keyasint"` // drawn by the proposer if the caller gives none
	Behavior    string   `cbor:"3,keyasint"`
	Target      string   `cbor:"4,keyasint,omitempty"` // ≤ 256 bytes
	Object      string   `cbor:"5,keyasint,omitempty"` // ≤ 256 bytes
	Partitions  int64    `cbor:"6,keyasint"`           // 1..MaxPartitions; with Names: how many there are
	Names       []string `cbor:"7,keyasint,omitempty"` // each 1..128 bytes, unique
	Arg         Payload  `cbor:"8,keyasint,omitempty"`
	Labels      []Label  `cbor:"9,keyasint,omitempty"`
	Priority    int8     `cbor:"10,keyasint"`
	BehaviorRev uint64   `cbor:"11,keyasint,omitempty"` // as in Submit
	Trace       string   `cbor:"12,keyasint,omitempty"` // as in Submit
}

func (c StartOperation) level() uint64 { return levelOf(0, c.Trace, 0) }

const maxOperationTarget = 256 // bytes; the same for an object

// apply makes the record and as many of the partitions' tasks as an entry may. The rest follows in Ticks.
func (c StartOperation) apply(m *Machine) Result {
	o, refusal := c.check(m)
	if o == nil {
		return refusal
	}
	if r := m.charge(c.Namespace, demand{tasks: o.Partitions, bytes: m.operationSize(o), submits: 1}); r.Code != OK {
		return r
	}
	o.Instance = m.nextInstance(o)
	o.Made = min(o.Partitions, m.steps)
	r := m.addOperation(o)
	m.steps -= o.Made
	m.makePartitions(r, 0, o.Made)
	return Result{Operation: r.operation, Changed: true}
}

// check returns the record at the operation's beginning, or nil and the refusal.
func (c *StartOperation) check(m *Machine) (*Operation, Result) {
	if r, ok := c.checkShape(); !ok {
		return nil, r
	}
	if r, ok := m.accepting(c.Namespace); !ok {
		return nil, r
	}
	b := m.behaviors[behaviorName{c.Namespace, c.Behavior}]
	switch {
	case b.live() == nil:
		return nil, noBehavior()
	case c.BehaviorRev != 0 && c.BehaviorRev != b.behavior.Rev:
		return nil, behaviorChanged()
	}
	v := m.version(b, "")
	if v.Policy.Operation == nil || v.Module == "" {
		return nil, Result{Code: NotAnOperation, Field: "behavior", Message: "the behavior's manifest says nothing of operations"}
	}
	o := &Operation{
		Namespace: c.Namespace, ID: c.ID, Behavior: b.name, Version: v.Version, Target: c.Target, Object: c.Object,
		Status: OperationRunning, Policy: *v.Policy.Operation, Arg: c.Arg, Partitions: c.Partitions, Names: c.Names,
		Labels: c.Labels, Priority: c.Priority, CreatedAt: m.now, Creator: m.caller, Trace: c.Trace,
	}
	if r, ok := m.runnable(o); !ok {
		return nil, r
	}
	if former := m.operations[o.Key()]; former != nil {
		return nil, taken(former.operation)
	}
	if r, ok := m.excluded(o); ok {
		return nil, r
	}
	if id := m.takenID(o); id != "" {
		return nil, Result{Code: ReservedID, Field: "id", Message: "the operation would need the ID " + id + ", which another task has"}
	}
	if r, ok := m.admit("arg", &c.Arg); !ok {
		return nil, r
	}
	return o, Result{}
}

// checkShape refuses errors that the proposer should have seen.
func (c *StartOperation) checkShape() (Result, bool) {
	switch {
	case !names.IsOperation(c.ID):
		return invalid("id", "an operation's ID is 3 to 100 characters of A-Z a-z 0-9 . _ -"), false
	case c.Priority < 0 || c.Priority > 9:
		return invalid("priority", "a priority is 0 to 9"), false
	case len(c.Target) > maxOperationTarget:
		return invalid("target", "a target is at most 256 bytes"), false
	case len(c.Object) > maxOperationTarget:
		return invalid("object", "an object is at most 256 bytes"), false
	case c.Partitions < 1 || c.Partitions > MaxPartitions:
		return invalid("partitions", "an operation has 1 to 100000 partitions"), false
	case c.Arg.wrong() != "":
		return invalid("arg", c.Arg.wrong()), false
	case c.Trace != "" && !tracing.Valid(c.Trace):
		return invalid("traceparent", "is none of version 00"), false
	case !sortedLabels(c.Labels):
		return invalid("labels", "names must be unique, and sorted by the proposer"), false
	}
	if why := names.Partitions(c.Names, c.Partitions); why != "" {
		return invalid("partitions", why), false
	}
	return Result{}, true
}

// runnable reports whether the behaviors of the completion and the cleanup have the operation's version.
func (m *Machine) runnable(o *Operation) (Result, bool) {
	for _, name := range o.Policy.others() {
		if m.version(m.behaviors[behaviorName{o.Namespace, name}], o.Version) == nil {
			return Result{Code: BehaviorNotFound, Field: "behavior", Message: "the operation needs the behavior " + name + " of the same module, which is no longer there"}, false
		}
	}
	return Result{}, true
}

// taken refuses an ID that an operation has, or had until its last task is gone.
func taken(former *Operation) Result {
	if former.Removing {
		return Result{Code: AlreadyExists, Field: "id", Message: "an operation with this ID is being removed"}
	}
	return Result{Code: AlreadyExists, Field: "id", Message: "an operation with this ID exists", Operation: former}
}

// takenID returns an ID of the operation's partitions or its completion that another task has, or "". IDs of cleanups are not known yet.
func (m *Machine) takenID(o *Operation) string {
	if k := o.completionKey(); m.find(k) != nil {
		return k.ID
	}
	if m.namespaces[o.Namespace].usage.Tasks == 0 {
		return ""
	}
	id := []byte(o.taskID("")) // one buffer for all: there may be a hundred thousand partitions
	for i := range o.Partitions {
		if id = strconv.AppendInt(id[:len(o.ID)+1], i, 10); m.find(Key{o.Namespace, string(id)}) != nil {
			return string(id)
		}
	}
	return ""
}
