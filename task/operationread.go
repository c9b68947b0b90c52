package task

import "github.com/taskrt/taskrt/task/table"

// partitionLooks bounds how many partitions one OperationTasks looks at.
const partitionLooks = 10_000

// view returns the record with its derived fields.
func (o *operationRow) view() *Operation {
	view := *o.operation
	view.Counts = o.counts
	view.Counts.Waiting += view.Partitions - o.counts.all() // this includes partitions without a task
	return &view
}

// Operation returns an operation that is not being removed, with its counts, or nil.
func (m *Machine) Operation(k Key) *Operation {
	if r := m.liveOperation(k); r != nil {
		return r.view()
	}
	return nil
}

// OperationOf returns the operation of task t with its counts, or nil. The operation may be being removed.
func (m *Machine) OperationOf(t *Task) *Operation {
	if t.Role == RoleNone {
		return nil
	}
	if r := m.operations[t.operation()]; r != nil {
		return r.view()
	}
	return nil
}

// Operations returns a page in order of creation. next is the After of the next page, as in Tasks.
func (m *Machine) Operations(f OperationFilter) (operations []*Operation, next uint64) {
	rows := m.fanout.ordered
	if f.Namespace != "" {
		rows = m.fanout.spaces[f.Namespace]
	}
	last := uint64(0)
	for looked, r := range rows[table.After(rows, f.After, createdRev):] {
		if looked == f.Rows && looked > 0 {
			return operations, last
		}
		last = r.operation.CreatedRev
		if !f.matches(r.operation) {
			continue
		}
		if len(operations) >= max(f.Limit, 1) {
			return operations, operations[len(operations)-1].CreatedRev
		}
		operations = append(operations, r.view())
	}
	return operations, 0
}

func (f *OperationFilter) matches(o *Operation) bool {
	return !o.Removing &&
		(f.Namespace == "" || f.Namespace == o.Namespace) &&
		(f.Behavior == "" || f.Behavior == o.Behavior) &&
		(f.Target == "" || f.Target == o.Target) &&
		(f.Status == 0 || f.Status == o.Status)
}

// OperationTasks returns the tasks of partitions from..from+limit-1 that exist and have the status, if it is not 0. It
// also returns the partition to go on from, or -1 at the end. It looks at no more than 10,000 partitions.
func (m *Machine) OperationTasks(k Key, from int64, limit int, status Status) (tasks []*Task, next int64) {
	r := m.liveOperation(k)
	if r == nil {
		return nil, -1
	}
	o := r.operation
	i := max(from, 0)
	for end := min(o.Made, min(i, o.Made)+partitionLooks); i < end && len(tasks) < limit; i++ {
		if x := m.find(o.partitionKey(i)); x != nil && (status == 0 || m.task(x).Status == status) {
			tasks = append(tasks, m.task(x))
		}
	}
	if i >= o.Made {
		return tasks, -1
	}
	return tasks, i
}
