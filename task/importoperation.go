package task

import (
	"fmt"
	"strings"

	"github.com/taskrt/taskrt/task/names"
)

// This file takes up operations (SPEC M5). An import brings an operation before its tasks, and it brings the tasks in
// the order in which they were made: all partitions come before the completion. So an operation that was running goes
// on here with the tasks that have come. It cannot complete before the last partition has come.

// operation takes up an operation whose ID is free. If it runs, no other operation may exclude it.
func (x *importer) operation(o *Operation) (Result, bool) {
	if o == nil {
		return invalid("operations", "an operation is missing"), false
	}
	n := *o
	n.Namespace, n.Creator, n.Trace = x.namespace, x.m.caller, ""
	n.Counts = OperationCounts{}
	if wrong := n.wrong(); wrong != "" {
		return invalid("operations", "operation "+n.ID+": "+wrong), false
	}
	if x.m.operations[n.Key()] != nil || x.seen[n.ID] {
		return Result{}, true
	}
	if r, ok := x.versions(&n); !ok {
		return r, false
	}
	if max(n.Instance, n.Cleanups, n.Dropped) > maxImportedNumber {
		return invalid("operations", "operation "+n.ID+": its instance and cleanups are at most 2^53"), false
	}
	payloads := n.payloads()
	if r, ok := x.payloads("operations", n.ID, n.Error, payloads[:]...); !ok {
		return r, false
	}
	if id := x.m.takenID(&n); id != "" {
		return Result{Code: ReservedID, Field: "operations", Message: "operation " + n.ID + " would need the ID " + id + ", which another task has"}, false
	}
	if r, ok := x.alone(&n); !ok {
		return r, false
	}
	n.RetryRev = 0 // the rev is another cluster's; partitions that waited for the retry stay failed
	x.seen[n.ID] = true
	x.operations = append(x.operations, &n)
	x.demand.tasks += n.owed()
	x.demand.bytes += x.m.operationSize(&n)
	return Result{}, true
}

// wrong says what is wrong with an operation by itself, or nothing. Check asks this of every record.
func (o *Operation) wrong() string {
	start := StartOperation{
		Namespace: o.Namespace, ID: o.ID, Target: o.Target, Object: o.Object, Partitions: o.Partitions, Names: o.Names,
		Arg: o.Arg, Labels: o.Labels, Priority: o.Priority,
	}
	if r, ok := start.checkShape(); !ok {
		return r.Field + ": " + r.Message
	}
	for _, name := range append(o.Policy.others(), o.Policy.Incompatible...) {
		if name != "" && !names.IsBehavior(name) {
			return "its policy names no behavior"
		}
	}
	switch {
	case !names.IsBehavior(o.Behavior) || o.Version == "" || o.Policy.Concurrency > OnePerObject || o.Instance < 1:
		return "its behavior, version, instance or policy"
	case o.Status < OperationRunning || o.Status > OperationFailure:
		return "unknown status"
	case o.Made < 0 || o.Made > o.Partitions || o.Status != OperationRunning && o.Made != o.Partitions && !o.Removing:
		return "how many partitions are made"
	case (o.Stop != "" || o.RetryRev != 0) && o.Status != OperationRunning, o.Stop != "" && o.RetryRev != 0, o.Stop != "" && o.Error == nil:
		return "only one that runs is stopped or retried, and not both"
	case o.Status == OperationCompleting && o.Policy.Complete == "", o.Result.Encoding != None && o.Policy.Complete == "":
		return "it has no completion"
	case o.Status == OperationFailure != (o.Error != nil) && o.Final(), o.Error != nil && o.Result.Encoding != None:
		return "its outcome"
	}
	if !o.Final() && o.FinishedAt != 0 || o.Dropped < 0 || o.Cleanups < 0 {
		return "its end or its cleanups"
	}
	if !inTime(o.CreatedAt, o.FinishedAt) {
		return "a time"
	}
	return ""
}

// versions pins an operation to the active version if its own version is not there. Its tasks follow it, and begin anew.
func (x *importer) versions(o *Operation) (Result, bool) {
	if o.Removing {
		return invalid("operations", "operation "+o.ID+" is being removed"), false
	}
	if _, ok := x.version(o.Behavior, o.Version); !ok {
		active, ok := x.version(o.Behavior, "")
		if !ok {
			return invalid("operations", "operation "+o.ID+" needs the behavior "+o.Behavior+": import it before, or with it"), false
		}
		o.Version = active.Version
	}
	for _, name := range o.Policy.others() {
		if _, ok := x.version(name, o.Version); !ok {
			return invalid("operations", "operation "+o.ID+" needs the behavior "+name+" of the version of "+o.Behavior+": import it before, or with it"), false
		}
	}
	return Result{}, true
}

// version finds a version of a behavior that is here or comes with the import.
func (x *importer) version(behavior, version string) (*Version, bool) {
	if b := x.imports(behavior); b != nil {
		return b.Find(version)
	}
	v := x.m.version(x.m.behaviors[behaviorName{x.namespace, behavior}], version)
	return v, v != nil
}

// alone refuses an operation that has not ended, if an operation that runs here or comes with the import excludes it.
func (x *importer) alone(o *Operation) (Result, bool) {
	if o.Final() {
		return Result{}, true
	}
	if r, ok := x.m.excluded(o); ok {
		return r, false
	}
	if _, excluded := x.running.Excluding(o.terms()); excluded {
		return invalid("operations", fmt.Sprintf("operation %s is excluded by one before it", o.ID)), false
	}
	x.running.Enter(o.terms(), uint64(len(x.operations)), struct{}{})
	return Result{}, true
}

// importOperation adds an operation. The instance numbers of its target go on after its own.
func (m *Machine) importOperation(o *Operation) {
	k := instanceName{o.Namespace, o.Behavior, o.Target}
	if former := m.instances.Get(k); former == nil || former.Last < o.Instance {
		m.putInstance(k, o.Instance)
	}
	m.addOperation(o)
}

// importable reports whether a task may be taken up. An ordinary task may if no operation has its ID. An operation's task may if its operation has
// come and still lacks this task. Cleanups belong to sessions of another cluster.
func (m *Machine) importable(t *Task) bool {
	if t.Role == RoleNone {
		return m.reservedBy(t.Key()) == nil
	}
	r := m.operations[t.operation()]
	if r == nil || r.operation.Removing {
		return false
	}
	switch o := r.operation; {
	case o.part(t) != "":
		return false
	case t.Role == RolePartition:
		return t.Final() || o.Status == OperationRunning
	default:
		return t.Role == RoleCompletion && t.Final() == (o.Status != OperationCompleting)
	}
}

// adopt fits an operation's task to the operation as it is here.
func (m *Machine) adopt(t *Task) {
	o := m.operations[t.operation()].operation
	if t.Version != o.Version {
		t.Version, t.Checkpoint = o.Version, Payload{}
	}
	t.Deadline, t.ConcurrencyKey = 0, ""
	if o.Policy.Restart {
		t.Checkpoint = Payload{}
	}
	if o.Stop != "" && !t.Final() {
		m.fail(t, cancelError(CodeCancelled), 0)
	}
}

// reservedBy returns the operation whose tasks have IDs with the same beginning as this key, or nil.
func (m *Machine) reservedBy(k Key) *operationRow {
	id, _, ok := strings.Cut(k.ID, ":")
	if !ok {
		return nil
	}
	return m.operations[Key{k.Namespace, id}]
}
