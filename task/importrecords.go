package task

import (
	"fmt"
	"slices"

	"github.com/taskrt/taskrt/task/exclusive"
	"github.com/taskrt/taskrt/task/names"
)

// MaxImport bounds the records of one ImportRecords.
const MaxImport = 1_000

const (
	maxImportedInline = 64 << 10 // bytes of a payload that is no blob (SPEC H3)
	maxImportedNumber = 1 << 53  // of attempts and instances: what counts on from there must not overflow
)

// apply checks all records before it takes up any. If one record is wrong, needs something that is not there, or is over a quota, all are refused.
// Records keep their names and what they say of the past. Revs, tokens and leases are this cluster's.
func (c ImportRecords) apply(m *Machine) Result {
	x := importer{m: m, namespace: c.Namespace, seen: map[string]bool{}}
	if r, ok := x.check(&c); !ok {
		return r
	}
	if r := m.charge(c.Namespace, x.demand); r.Code != OK {
		return r
	}
	for _, module := range x.modules {
		m.putModule(module)
	}
	for _, b := range x.behaviors {
		m.putBehavior(m.behaviorRow(c.Namespace, b.Name), b)
	}
	count := int64(len(x.modules) + len(x.behaviors))
	for _, o := range x.operations {
		m.importOperation(o)
		count++
	}
	for _, t := range x.tasks {
		if m.importTask(t) {
			count++
		}
	}
	for _, r := range c.Records {
		record := *r
		record.Namespace = c.Namespace
		m.addRecord(record, &Payload{})
		count++
	}
	for _, b := range x.behaviors { // a deleted behavior is here only for its tasks
		m.forgetBehavior(m.behaviorRow(c.Namespace, b.Name))
	}
	m.dropModules()
	return Result{Count: count}
}

// importer collects what an import will take up.
type importer struct {
	m          *Machine
	namespace  string
	demand     demand
	modules    []*Module
	behaviors  []*Behavior
	operations []*Operation
	tasks      []*Task

	seen    map[string]bool // IDs of operations
	running exclusive.Table[struct{}]
}

func (x *importer) check(c *ImportRecords) (Result, bool) {
	if r, ok := x.m.writable(c.Namespace); !ok {
		return r, false
	}
	if n := len(c.Modules) + len(c.Behaviors) + len(c.Operations) + len(c.Tasks) + len(c.Records); n > MaxImport {
		return invalid("records", fmt.Sprintf("an import brings at most %d records at once", MaxImport)), false
	}
	for _, module := range c.Modules {
		if r, ok := x.module(module); !ok {
			return r, false
		}
	}
	for _, b := range c.Behaviors {
		if r, ok := x.behavior(b); !ok {
			return r, false
		}
	}
	x.dropModules()
	for _, o := range c.Operations {
		if r, ok := x.operation(o); !ok {
			return r, false
		}
	}
	for _, t := range c.Tasks {
		if r, ok := x.task(t); !ok {
			return r, false
		}
	}
	for _, r := range c.Records {
		if r == nil || r.Group == "" || r.Available < 0 {
			return invalid("records", "a record has a group, and a time that is not negative"), false
		}
		if what := wrongData(r.Data, &r.Blob); what != "" {
			return invalid("records", what), false
		}
		if r, ok := x.m.admit("records", &r.Blob); !ok {
			return r, false
		}
		x.demand.bytes += r.Len()
	}
	return Result{}, true
}

func (x *importer) module(module *Module) (Result, bool) {
	switch {
	case module == nil || module.Digest == "" || module.Version == "":
		return invalid("modules", "a module has a digest and a version"), false
	case x.m.modules[module.Digest] != nil || x.brings(module.Digest):
		return Result{}, true
	}
	if r, ok := x.m.admitModule(module.Digest, true); !ok {
		r.Field = "modules"
		return r, false
	}
	x.modules = append(x.modules, module)
	return Result{}, true
}

// dropModules leaves out the modules that no imported behavior needs. They would not stay.
func (x *importer) dropModules() {
	needed := map[string]bool{}
	for _, b := range x.behaviors {
		for i := range b.Versions {
			needed[b.Versions[i].Module] = true
		}
	}
	x.modules = slices.DeleteFunc(x.modules, func(module *Module) bool { return !needed[module.Digest] })
}

// brings reports whether the import brings the module.
func (x *importer) brings(digest string) bool {
	return slices.ContainsFunc(x.modules, func(module *Module) bool { return module.Digest == digest })
}

// behavior takes up a behavior whose name is free, with all its versions.
func (x *importer) behavior(b *Behavior) (Result, bool) {
	if b == nil || !names.IsBehavior(b.Name) {
		return invalid("behaviors", "a behavior name is 3 to 128 characters of a-z 0-9 . _ -"), false
	}
	if row := x.m.behaviors[behaviorName{x.namespace, b.Name}]; row != nil && row.behavior != nil || x.imports(b.Name) != nil {
		return Result{}, true
	}
	active, ok := b.Find("")
	switch {
	case b.Deleted != (b.Active == ""), !b.Deleted && (!ok || (active.Module == "") != b.External):
		return invalid("behaviors", "the active version of "+b.Name+" is not there, or of the other kind"), false
	case b.Deleted && b.Paused, !b.Deleted && b.Purge:
		return invalid("behaviors", b.Name+" is half deleted"), false
	}
	seen := map[string]bool{}
	for i := range b.Versions {
		v := &b.Versions[i]
		switch {
		case v.Version == "" || seen[v.Version]:
			return invalid("behaviors", "a version of "+b.Name+" has no name, or that of another"), false
		case Native(v.Module):
			return invalid("behaviors", "a version of "+b.Name+" is built into the nodes: only they bring it"), false
		case v.Module != "" && x.m.modules[v.Module] == nil && !x.brings(v.Module):
			return invalid("behaviors", "a version of "+b.Name+" needs a module that is not there: import it before, or with it"), false
		}
		seen[v.Version] = true
	}
	next := *b
	x.behaviors = append(x.behaviors, &next)
	return Result{}, true
}

// imports returns the behavior of that name that the import takes up, or nil.
func (x *importer) imports(name string) *Behavior {
	if i := slices.IndexFunc(x.behaviors, func(b *Behavior) bool { return b.Name == name }); i >= 0 {
		return x.behaviors[i]
	}
	return nil
}

// task takes up a task whose ID is free.
func (x *importer) task(t *Task) (Result, bool) {
	if t == nil || !names.IsTask(t.ID) || !names.IsBehavior(t.Behavior) {
		return invalid("tasks", "a task has an ID and the name of a behavior"), false
	}
	n := *t
	n.Namespace, n.Bound, n.Creator, n.Trace = x.namespace, 0, x.m.caller, "" // the creator's number is another cluster's
	if n.Role == RoleCleanup {
		return Result{}, true // it belongs to a session of another cluster
	}
	if x.m.find(n.Key()) != nil {
		return Result{}, true
	}
	x.rest(&n)
	n.Rev, n.CreatedRev = 1, 1 // until it is added
	switch err := n.check(); {
	case err != nil:
		return invalid("tasks", err.Error()), false
	case !inTime(n.NotBefore, n.DueSince, n.Deadline, n.CreatedAt, n.StartedAt, n.FinishedAt) || !sortedLabels(n.Labels) || len(n.ConcurrencyKey) > maxConcurrencyKey:
		return invalid("tasks", "task "+n.ID+": a time, its labels or its concurrency key"), false
	case n.Attempt > maxImportedNumber:
		return invalid("tasks", "task "+n.ID+": an attempt is at most 2^53"), false
	}
	payloads := n.payloads()
	if r, ok := x.payloads("tasks", n.ID, n.Error, payloads[:]...); !ok {
		return r, false
	}
	if r, ok := inline("tasks", &n.Progress); !ok {
		return r, false
	}
	if len(n.Progress.Data) > maxImportedInline {
		return tooLong("tasks", n.ID), false
	}
	x.tasks = append(x.tasks, &n)
	x.demand.tasks++
	x.demand.bytes += x.m.taskSize(&n)
	return Result{}, true
}

// payloads refuses a record if no command could have brought its payloads or the details of its error.
func (x *importer) payloads(field, id string, e *Error, payloads ...*Payload) (Result, bool) {
	for _, p := range payloads {
		if r, ok := x.m.admit(field, p); !ok {
			return r, false
		}
		if len(p.Data) > maxImportedInline {
			return tooLong(field, id), false
		}
	}
	if r, ok := inlineError(field, e); !ok {
		return r, false
	}
	if e != nil && len(e.Details.Data) > maxImportedInline {
		return tooLong(field, id), false
	}
	return Result{}, true
}

func tooLong(field, id string) Result {
	return invalid(field, fmt.Sprintf("%s: a payload is at most %d bytes, or a blob", id, maxImportedInline))
}

// inTime reports whether the API can write the times.
func inTime(times ...Time) bool {
	return !slices.ContainsFunc(times, func(at Time) bool { return at < 0 || at > MaxTime })
}

// rest ends the run of a task that ran when it was exported, because its token is another cluster's. It is due, or CANCELLED if it was being cancelled.
func (x *importer) rest(n *Task) {
	n.Ended = nil
	if n.Status != Running {
		return
	}
	code := n.CancelCode
	n.Lease, n.CancelCode, n.Resubmit = nil, "", 0
	if code != "" {
		x.m.fail(n, cancelError(code), 0)
		return
	}
	n.Status, n.NotBefore, n.DueSince = Created, max(x.m.now, 1), 0
	n.Result, n.Error = Payload{}, nil
}

// level returns the highest level that a field of its records needs.
func (c ImportRecords) level() uint64 {
	level := FirstLevel
	for _, t := range c.Tasks {
		if t != nil {
			level = max(level, levelOf(t.Creator, t.Trace, 0))
			for i := range t.History {
				level = max(level, levelOf(0, "", t.History[i].Pages))
			}
		}
	}
	for _, o := range c.Operations {
		if o != nil {
			level = max(level, levelOf(o.Creator, o.Trace, 0))
		}
	}
	return level
}

// importTask adds a task, and reports whether it did. Without the version that it was pinned to it begins anew, with the active one.
func (m *Machine) importTask(t *Task) bool {
	if m.find(t.Key()) != nil || !m.importable(t) {
		return false // it came twice in one import, or its operation here does not take it
	}
	b := m.behaviorRow(t.Namespace, t.Behavior)
	if t.Role != RoleNone {
		m.adopt(t)
	} else if t.Version != "" && m.version(b, t.Version) == nil {
		t.Version, t.Checkpoint = "", Payload{}
	}
	m.enter(b, t) // the record says since when it is due; equal ones keep the order of the export (SPEC T4)
	return true
}
