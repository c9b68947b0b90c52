package naive

import (
	"slices"

	"github.com/taskrt/taskrt/task"
)

// taking is what an import will take up (M5).
type taking struct {
	task.ImportRecords
	modules    []task.Module
	behaviors  []task.Behavior
	operations []task.Operation
	tasks      []task.Task
	demand     demand
}

// importRecords takes up all records. It takes up none if one record is wrong, needs something that is not there, or is
// over a quota. It leaves records alone whose name is taken.
func (m *Model) importRecords(c task.ImportRecords, got task.Result) task.Result {
	x := &taking{ImportRecords: c}
	for _, check := range []func(*taking, task.Result) task.Result{
		func(*taking, task.Result) task.Result { return task.Result{Code: m.writable(c.Namespace)} },
		m.importable, m.importableOps, m.importableTasks,
	} {
		if r := check(x, got); r.Code != task.OK {
			return r
		}
	}
	if r := m.charge(c.Namespace, x.demand); r.Code != task.OK {
		return r
	}
	r := task.Result{Count: int64(len(x.modules) + len(x.behaviors) + len(x.operations) + len(c.Records))}
	for _, b := range x.behaviors {
		m.Behaviors[task.Key{Namespace: c.Namespace, ID: b.Name}] = &b
	}
	for _, module := range x.modules {
		m.putModule(module)
	}
	for _, o := range x.operations {
		i := instance{o.Namespace, o.Behavior, o.Target}
		m.Instances[i] = max(m.Instances[i], o.Instance)
		m.writeOp(&o)
	}
	for _, t := range x.tasks {
		if m.fits(&t) {
			m.importing = true
			m.write(&t)
			m.importing = false
			r.Count++
		}
	}
	for _, x := range c.Records { // their IDs are new
		next := *x
		next.Namespace = c.Namespace
		m.refresh(task.Payload{}, next.Blob)
		m.Nameless = append(m.Nameless, next)
	}
	for _, b := range x.behaviors { // a deleted behavior is there only for its tasks
		m.unused(task.Key{Namespace: c.Namespace, ID: b.Name})
	}
	m.dropModules()
	return r
}

// importable decides about modules and behaviors: a module comes with a behavior that needs it.
func (m *Model) importable(x *taking, _ task.Result) task.Result {
	var modules []task.Module
	for _, module := range x.Modules {
		if m.Modules[module.Digest] != nil {
			continue
		} else if code := m.moduleFile(module.Digest, true); code != task.OK {
			return task.Result{Code: code}
		}
		modules = append(modules, *module)
	}
	needs := func(b task.Behavior, digest string) bool {
		return slices.ContainsFunc(b.Versions, func(v task.Version) bool { return v.Module == digest })
	}
	for _, b := range x.Behaviors {
		next := *b
		next.Namespace, next.Rev = x.Namespace, 0
		if m.Behaviors[task.Key{Namespace: x.Namespace, ID: b.Name}] != nil || x.behavior(b.Name) != nil {
			continue
		}
		for _, v := range b.Versions {
			if v.Module != "" && m.Modules[v.Module] == nil && !slices.ContainsFunc(modules, func(x task.Module) bool { return x.Digest == v.Module }) {
				return task.Result{Code: task.InvalidCommand}
			}
		}
		x.behaviors = append(x.behaviors, next)
	}
	for _, module := range modules {
		if slices.ContainsFunc(x.behaviors, func(b task.Behavior) bool { return needs(b, module.Digest) }) &&
			!slices.ContainsFunc(x.modules, func(o task.Module) bool { return o.Digest == module.Digest }) {
			x.modules = append(x.modules, module)
		}
	}
	return task.Result{}
}

func (x *taking) behavior(name string) *task.Behavior {
	for i := range x.behaviors {
		if x.behaviors[i].Name == name {
			return &x.behaviors[i]
		}
	}
	return nil
}

// versionAfter returns a version of a behavior that is there, or comes with the import.
func (m *Model) versionAfter(x *taking, name, version string) *task.Version {
	if b := x.behavior(name); b != nil {
		for i, v := range b.Versions {
			if v.Version == version || version == "" && v.Version == b.Active {
				return &b.Versions[i]
			}
		}
		return nil
	}
	return m.Version(&task.Task{Namespace: x.Namespace, Behavior: name}, version)
}

func (m *Model) importableOps(x *taking, got task.Result) task.Result {
	for _, old := range x.Operations {
		o := *old
		o.Namespace, o.Rev, o.CreatedRev, o.RetryRev, o.Creator, o.Trace, o.Counts = x.Namespace, 0, 0, 0, m.caller, "", task.OperationCounts{}
		if m.Operations[opKey(&o)] != nil || slices.ContainsFunc(x.operations, func(x task.Operation) bool { return x.ID == o.ID }) {
			continue
		}
		if m.versionAfter(x, o.Behavior, o.Version) == nil {
			v := m.versionAfter(x, o.Behavior, "")
			if v == nil {
				return task.Result{Code: task.InvalidCommand}
			}
			o.Version = v.Version
		}
		for _, name := range []string{o.Policy.Complete, o.Policy.Cleanup} {
			if name != "" && m.versionAfter(x, name, o.Version) == nil {
				return task.Result{Code: task.InvalidCommand}
			}
		}
		for _, p := range []task.Payload{o.Arg, o.Result} {
			if code := m.admit(p); code != task.OK {
				return task.Result{Code: code}
			}
		}
		for i := int64(-1); i < o.Partitions; i++ {
			if m.Tasks[partKey(&o, i)] != nil {
				return task.Result{Code: task.ReservedID}
			}
		}
		if rival := m.excluder(&o); !over(&o) && rival != nil {
			return m.opAnswer(task.OperationConflict, opKey(rival), got, false)
		}
		if slices.ContainsFunc(x.operations, func(b task.Operation) bool { return !over(&o) && !over(&b) && against(&o, &b) }) {
			return task.Result{Code: task.InvalidCommand}
		}
		x.operations = append(x.operations, o)
		x.demand.tasks += o.Partitions - o.Made
		x.demand.bytes += m.size(o.Arg) + m.size(o.Result)
	}
	return task.Result{}
}

// importableTasks decides about tasks: a task that ran is due now, or is over if it was being cancelled.
func (m *Model) importableTasks(x *taking, _ task.Result) task.Result {
	for _, old := range x.Tasks {
		t := *old
		t.Namespace, t.Bound, t.Ended, t.Rev, t.CreatedRev, t.Creator, t.Trace = x.Namespace, 0, nil, 0, 0, m.caller, ""
		if t.Role == task.RoleCleanup || m.Tasks[name(&t)] != nil {
			continue
		}
		if t.Status == task.Running {
			code := t.CancelCode
			t.Lease, t.CancelCode, t.Resubmit = nil, "", 0
			if t.Status, t.NotBefore, t.DueSince = task.Created, m.Now, 0; code != "" {
				m.failed(&t, &task.Error{Code: code})
			}
		}
		for _, p := range payloads(&t) {
			if code := m.admit(p); code != task.OK {
				return task.Result{Code: code}
			}
		}
		x.tasks = append(x.tasks, t)
		x.demand.tasks++
		x.demand.bytes += m.taskSize(&t)
	}
	for _, r := range x.Records {
		if code := m.admit(r.Blob); code != task.OK {
			return task.Result{Code: code}
		}
		x.demand.bytes += int64(len(r.Data)) + m.size(r.Blob)
	}
	return task.Result{}
}
