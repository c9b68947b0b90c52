package task

import (
	"strconv"

	"github.com/taskrt/taskrt/task/exclusive"
	"github.com/taskrt/taskrt/task/names"
	"github.com/taskrt/taskrt/task/queue"
	"github.com/taskrt/taskrt/task/table"
)

// operationRow is what the machine holds for one operation: its record, and what it derives from the operation's tasks.
type operationRow struct {
	operation *Operation
	counts    OperationCounts // of the partitions that have a task
	tasks     int64           // of any role
	running   int64           // how many of them run

	open     heap[*row] // partitions that a stop has to cancel: neither final nor being cancelled; running ones first
	failed   heap[*row] // partitions that failed finally, by rev
	cleanups heap[*row] // by age
	finals   queue.Line // final tasks of any role: they go only with the operation (SPEC O6)
	busy     table.Pos  // in operationIndex.busy, while it has work for Ticks
}

// operationIndex is derived from the records of operations. It has the work that is left for them, too. So any leader
// goes on with this work, and there is no coordinator that could die (SPEC O4).
type operationIndex struct {
	ordered []*operationRow // by CreatedRev
	spaces  map[string][]*operationRow
	busy    heap[*operationRow] // that have work for Ticks, by CreatedRev
	running exclusive.Table[*operationRow]
}

// operation returns the key of the operation of task t.
func (t *Task) operation() Key { return Key{t.Namespace, t.Parent} }

func createdRev(o *operationRow) uint64 { return o.operation.CreatedRev }

// addOperation adds o as a new record.
func (m *Machine) addOperation(o *Operation) *operationRow {
	m.rev++
	o.Rev, o.CreatedRev = m.rev, m.rev
	r := &operationRow{operation: o}
	m.sum += hashOperation(o)
	m.referOperation(nil, o)
	m.enterOperationRecord(r)
	m.emit(Event{Kind: OperationChanged, Operation: o})
	return r
}

// enterOperationRecord enters an operation into everything that is derived from its record.
func (m *Machine) enterOperationRecord(r *operationRow) {
	o, x := r.operation, &m.fanout
	m.operations[o.Key()] = r
	x.ordered = table.Put(x.ordered, r, createdRev)
	x.spaces[o.Namespace] = table.Put(x.spaces[o.Namespace], r, createdRev)
	for _, b := range m.behaviorsOf(o) {
		b.held[o.Version]++
	}
	m.enterExclusions(r)
	m.useOperation(o, 1)
	m.countOperationBlobs(o, 1)
	m.schedule(r)
}

// putOperation replaces the record of r. It does not hash again what never changes: there may be a hundred thousand names of partitions.
func (m *Machine) putOperation(r *operationRow, next *Operation) {
	old := r.operation
	m.referOperation(old, next)
	m.rev++
	next.Rev = m.rev
	m.sum -= hashOperationState(old)
	m.sum += hashOperationState(next)
	ends := old.Final() != next.Final()
	if ends {
		m.leaveExclusions(r)
	}
	m.useOperation(old, -1)
	m.countOperationBlobs(old, -1)
	if r.operation = next; ends {
		m.enterExclusions(r)
	}
	m.useOperation(next, 1)
	m.countOperationBlobs(next, 1)
	m.schedule(r)
	if !old.Removing {
		m.emit(Event{Kind: OperationChanged, Operation: next})
	}
}

// dropOperation deletes the record of r, whose tasks are gone.
func (m *Machine) dropOperation(r *operationRow) {
	o, x := r.operation, &m.fanout
	m.rev++
	m.sum -= hashOperation(o)
	m.leaveExclusions(r)
	m.useOperation(o, -1)
	m.countOperationBlobs(o, -1)
	if r.busy != 0 {
		x.busy.Remove(&r.busy)
	}
	delete(m.operations, o.Key())
	x.ordered = table.Drop(x.ordered, o.CreatedRev, createdRev)
	if x.spaces[o.Namespace] = table.Drop(x.spaces[o.Namespace], o.CreatedRev, createdRev); len(x.spaces[o.Namespace]) == 0 {
		delete(x.spaces, o.Namespace)
	}
	m.emit(Event{Kind: OperationRemoved, Operation: o})
	for _, b := range m.behaviorsOf(o) {
		if b.held[o.Version]--; b.held[o.Version] == 0 {
			delete(b.held, o.Version)
		}
		m.forgetBehavior(b)
	}
}

// behaviorsOf returns the rows of the behaviors of the operation's tasks. The operation keeps its version in each of them (SPEC B2).
func (m *Machine) behaviorsOf(o *Operation) []*behaviorRow {
	rows := []*behaviorRow{m.behaviorRow(o.Namespace, o.Behavior)}
	for _, name := range o.Policy.others() {
		rows = append(rows, m.behaviorRow(o.Namespace, name))
	}
	return rows
}

// of returns the count that includes a partition's task.
func (c *OperationCounts) of(t *Task) *int64 {
	return countOf(t, &c.Waiting, &c.Running, &c.Retrying, &c.Success, &c.Failure)
}

// all returns how many partitions are counted.
func (c *OperationCounts) all() int64 {
	return c.Waiting + c.Running + c.Retrying + c.Success + c.Failure
}

// queueOf returns the queue of the operation that holds t, and t's key in it. in is nil if none holds it.
func (o *operationRow) queueOf(t *Task) (in *heap[*row], key int64) {
	switch {
	case t.Role == RoleCleanup:
		return &o.cleanups, 0
	case t.Role != RolePartition:
		return nil, 0
	case t.Status == Running && t.CancelCode == "":
		return &o.open, 0
	case t.Status != Running && !t.Final():
		return &o.open, 1
	case t.Status == Failure:
		return &o.failed, int64(t.Rev)
	}
	return nil, 0
}

// enterOperation and leaveOperation update what is derived for the operation of r. enqueue and dequeue call them.
func (m *Machine) enterOperation(r *row) {
	t := m.task(r)
	if t.Role == RoleNone {
		return
	}
	o := m.operations[t.operation()]
	o.tasks++
	if t.Status == Running {
		o.running++
	}
	if t.Role == RolePartition {
		*o.counts.of(t)++
	}
	if in, key := o.queueOf(t); in != nil {
		in.Push(key, t.CreatedRev, &m.store.Rows.Extra(r).Part, r)
	}
	if t.Bound != 0 && !t.Final() {
		m.sessions[t.Bound].cleanups.Push(0, t.CreatedRev, &m.store.Rows.Extra(r).Bound, r)
	}
	m.schedule(o)
}

func (m *Machine) leaveOperation(r *row) {
	t := m.task(r)
	if t.Role == RoleNone {
		return
	}
	o := m.operations[t.operation()]
	o.tasks--
	if t.Status == Running {
		o.running--
	}
	if t.Role == RolePartition {
		*o.counts.of(t)--
	}
	if in, _ := o.queueOf(t); in != nil {
		in.Remove(&m.store.Rows.Extra(r).Part)
	}
	if m.store.Rows.Look(r).Bound != 0 {
		m.sessions[t.Bound].cleanups.Remove(&m.store.Rows.Extra(r).Bound)
	}
	m.schedule(o)
}

// finalQueue returns the queue of final tasks that t belongs to.
func (m *Machine) finalQueue(t *Task, b *behaviorRow) *queue.Line {
	if t.Role != RoleNone {
		return &m.operations[t.operation()].finals
	}
	if t.Excess {
		return &b.Excess
	}
	return b.finalQueue(t.Status)
}

// taskID returns the ID of one of the operation's tasks.
func (o *Operation) taskID(suffix string) string { return o.ID + ":" + suffix }

func (o *Operation) partitionKey(i int64) Key {
	return Key{o.Namespace, o.taskID(strconv.FormatInt(i, 10))}
}

func (o *Operation) completionKey() Key { return Key{o.Namespace, o.taskID("complete")} }

// partitionName returns the name of partition i.
func (o *Operation) partitionName(i int64) string {
	if o.Names != nil {
		return o.Names[i]
	}
	return strconv.FormatInt(i, 10)
}

// PartitionOf returns the number of the partition of task t, or -1 for any other task.
func PartitionOf(t *Task) int64 {
	if t.Role != RolePartition {
		return -1
	}
	return names.Partition(t.ID)
}

// operationBytes counts the parts of the record that can be large.
func operationBytes(o *Operation) int64 {
	if o == nil {
		return 0
	}
	n := len(o.Arg.Data) + len(o.Result.Data)
	for _, name := range o.Names {
		n += 16 + len(name)
	}
	if o.Error != nil {
		n += len(o.Error.Message) + len(o.Error.Details.Data)
	}
	return int64(n + labelBytes(o.Labels))
}
