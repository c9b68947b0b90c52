package naive

import (
	"slices"
	"strconv"
	"strings"

	"github.com/taskrt/taskrt/task"
)

// instance is the key by which operations are numbered (O2).
type instance struct{ namespace, behavior, target string }

func over(o *task.Operation) bool { return o.Status >= task.OperationSuccess }

// start is O1 and O2: one entry decides; the tasks follow.
func (m *Model) start(c task.StartOperation, got task.Result) task.Result {
	o := task.Operation{
		Namespace: c.Namespace, ID: c.ID, Behavior: c.Behavior, Target: c.Target, Object: c.Object,
		Status: task.OperationRunning, Arg: c.Arg, Partitions: c.Partitions, Names: c.Names,
		Labels: c.Labels, Priority: c.Priority, CreatedAt: m.Now, Creator: m.caller, Trace: c.Trace,
	}
	b := m.live(task.Key{Namespace: c.Namespace, ID: c.Behavior})
	v := m.Version(&task.Task{Namespace: c.Namespace, Behavior: c.Behavior}, "")
	switch {
	case malformedStart(c):
		return task.Result{Code: task.InvalidCommand}
	case m.accepting(c.Namespace) != task.OK:
		return task.Result{Code: m.accepting(c.Namespace)}
	case b == nil:
		return task.Result{Code: task.BehaviorNotFound}
	case c.BehaviorRev != 0 && c.BehaviorRev != b.Rev:
		return task.Result{Code: task.BehaviorWasChanged}
	case v.Policy.Operation == nil || v.Module == "":
		return task.Result{Code: task.NotAnOperation}
	}
	o.Version, o.Policy = v.Version, *v.Policy.Operation
	if r := m.mayStart(&o, got); r.Code != task.OK {
		return r
	} else if r := m.charge(c.Namespace, demand{o.Partitions, m.size(o.Arg), 1}); r.Code != task.OK {
		return r
	}
	number := instance{c.Namespace, c.Behavior, c.Target}
	m.Instances[number]++
	o.Instance, o.Made = m.Instances[number], min(o.Partitions, m.steps)
	m.steps -= o.Made
	m.writeOp(&o)
	for i := range o.Made {
		m.partition(opKey(&o), i)
	}
	return m.opAnswer(task.OK, opKey(&o), got, true)
}

func malformedStart(c task.StartOperation) bool {
	names := slices.Compact(slices.Sorted(slices.Values(c.Names)))
	return len(c.ID) < 3 || strings.Contains(c.ID, ":") || c.Partitions < 1 || c.Partitions > 100_000 ||
		c.Names != nil && (len(names) != int(c.Partitions) || len(c.Names) != len(names) || names[0] == "")
}

// mayStart refuses an operation because of other operations that exist.
func (m *Model) mayStart(o *task.Operation, got task.Result) task.Result {
	var no []task.Code
	for _, name := range []string{o.Policy.Complete, o.Policy.Cleanup} {
		if name != "" && m.Version(&task.Task{Namespace: o.Namespace, Behavior: name}, o.Version) == nil {
			no = append(no, task.BehaviorNotFound)
		}
	}
	former, rival := m.Operations[opKey(o)], m.excluder(o)
	if former != nil {
		no = append(no, task.AlreadyExists)
	}
	if rival != nil {
		no = append(no, task.OperationConflict)
	}
	for i := int64(-1); i < o.Partitions; i++ {
		if m.Tasks[partKey(o, i)] != nil {
			no = append(no, task.ReservedID)
		}
	}
	if code := m.admit(o.Arg); code != task.OK {
		no = append(no, code)
	}
	if len(no) == 0 {
		return task.Result{}
	}
	switch r := oneOf(got, no...); {
	case r.Code == task.OperationConflict:
		return m.opAnswer(r.Code, opKey(rival), got, false)
	case r.Code == task.AlreadyExists && !former.Removing:
		return m.opAnswer(r.Code, opKey(o), got, false)
	default:
		return r
	}
}

func opKey(o *task.Operation) task.Key { return task.Key{Namespace: o.Namespace, ID: o.ID} }

// partKey names the task of a partition; -1 stands for the completion.
func partKey(o *task.Operation, i int64) task.Key {
	if i < 0 {
		return task.Key{Namespace: o.Namespace, ID: o.ID + ":complete"}
	}
	return task.Key{Namespace: o.Namespace, ID: o.ID + ":" + strconv.FormatInt(i, 10)}
}

// operation returns an operation that is not being removed, or nil.
func (m *Model) operation(k task.Key) *task.Operation {
	if o := m.Operations[k]; o != nil && !o.Removing {
		return o
	}
	return nil
}

// noOperation is the refusal of a command about an operation that is not there.
func (m *Model) noOperation(k task.Key) task.Result {
	if code := m.known(k.Namespace); code != task.OK {
		return task.Result{Code: code}
	}
	return task.Result{Code: task.OperationNotFound}
}

// cancelOp is O3: tasks that are not final are cancelled, and the completion runs all the same.
func (m *Model) cancelOp(k task.Key, got task.Result) task.Result {
	o := m.operation(k)
	switch {
	case o == nil:
		return m.noOperation(k)
	case o.Status == task.OperationCompleting:
		return m.opAnswer(task.OperationState, k, got, false)
	case over(o) && (o.Error == nil || o.Error.Code != task.CodeCancelled):
		return m.opAnswer(task.NotCancellable, k, got, false)
	case !over(o) && o.Stop == "":
		m.change(k, func(o *task.Operation) {
			o.Stop, o.RetryRev, o.Error = task.CodeCancelled, 0, &task.Error{Code: task.CodeCancelled}
		})
		m.work(k, m.steps)
		m.settle(k) // a retry had made nothing due yet
		r := m.opAnswer(task.OK, k, got, true)
		r.Told = !over(m.Operations[k])
		return r
	}
	r := m.opAnswer(task.OK, k, got, false)
	r.Told = !over(o)
	return r
}

// retryOp is O3: the partitions that failed run again, or the completion does if it failed.
func (m *Model) retryOp(k task.Key, got task.Result) task.Result {
	o := m.operation(k)
	if o == nil {
		return m.noOperation(k)
	} else if code := m.writable(k.Namespace); code != task.OK {
		return task.Result{Code: code}
	} else if o.Status != task.OperationFailure || !m.whole(o) {
		return m.opAnswer(task.OperationState, k, got, false)
	} else if rival := m.excluder(o); rival != nil {
		return m.opAnswer(task.OperationConflict, opKey(rival), got, false)
	}
	failed := len(m.failedParts(o)) > 0
	m.change(k, func(o *task.Operation) {
		o.Status, o.Error, o.FinishedAt = task.OperationCompleting, nil, 0
		if failed {
			o.Status, o.RetryRev = task.OperationRunning, UnknownRev
		}
	})
	if m.retried[k] = m.clock; failed { // what fails from here on has failed again
		m.work(k, m.steps)
	} else {
		m.runCompletion(k)
	}
	return m.opAnswer(task.OK, k, got, true)
}

// removeOp hides the operation; its tasks go, and then its record (O6).
func (m *Model) removeOp(k task.Key) task.Result {
	if m.operation(k) == nil {
		return m.noOperation(k)
	}
	m.change(k, func(o *task.Operation) { o.Removing = true })
	m.work(k, m.steps)
	return task.Result{Changed: true}
}

// UnknownRev is an Operation.RetryRev that is to be adopted.
const UnknownRev = 1

func (m *Model) opAnswer(code task.Code, k task.Key, got task.Result, changed bool) task.Result {
	m.AdoptOperation(k, got.Operation)
	return task.Result{Code: code, Operation: m.Operations[k], Changed: changed}
}

// change writes the operation after do has changed it.
func (m *Model) change(k task.Key, do func(o *task.Operation)) {
	o := *m.Operations[k]
	do(&o)
	m.writeOp(&o)
}

func (m *Model) writeOp(o *task.Operation) {
	was := task.Operation{}
	if old := m.Operations[opKey(o)]; old == nil {
		m.clock++
		m.bornOps[opKey(o)] = m.clock
	} else {
		was = *old
	}
	m.refresh(was.Arg, o.Arg)
	m.refresh(was.Result, o.Result)
	o.Rev = 0
	m.Operations[opKey(o)] = o
}
