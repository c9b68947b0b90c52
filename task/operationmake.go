package task

// makePartitions makes the tasks of partitions from..to-1. They are due, or already cancelled if the operation stops.
func (m *Machine) makePartitions(r *operationRow, from, to int64) {
	o := r.operation
	b := m.behaviorRow(o.Namespace, o.Behavior)
	for i := from; i < to; i++ {
		t := o.task(RolePartition, o.partitionKey(i).ID, m.now)
		t.Behavior, t.Partition = b.name, o.partitionName(i)
		if o.Stop != "" {
			m.fail(t, cancelError(CodeCancelled), 0)
		}
		m.add(b, t)
	}
}

// task returns a new task of the operation, due now.
func (o *Operation) task(role Role, id string, now Time) *Task {
	return &Task{
		Namespace: o.Namespace, ID: id, Version: o.Version, Status: Created, NotBefore: max(now, 1), CreatedAt: now,
		Parent: o.ID, Labels: o.Labels, Priority: o.Priority, Role: role, Creator: o.Creator, Trace: o.Trace,
	}
}

// complete begins the completion, or ends the operation, when all partitions are final.
func (m *Machine) complete(r *operationRow) {
	next := *r.operation
	next.Stop, next.RetryRev = "", 0
	switch failed := r.failed.Head(); {
	case failed == nil:
		next.Error = nil // the stop was asked for too late
	case next.Error == nil:
		next.Error = partitionError(m.task(failed.Item))
	}
	if next.Policy.Complete == "" {
		m.endOperation(r, &next)
		return
	}
	next.Status = OperationCompleting
	m.putOperation(r, &next)
	m.runCompletion(r)
}

// runCompletion makes the task of the completion, or makes it due again after a retry. An operation has one such task for its whole life.
func (m *Machine) runCompletion(r *operationRow) {
	o := r.operation
	b := m.behaviorRow(o.Namespace, o.Policy.Complete)
	if former := m.find(o.completionKey()); former != nil {
		n := *m.task(former)
		again(&n, max(m.now, 1), 0)
		m.put(former, &n)
		return
	}
	t := o.task(RoleCompletion, o.completionKey().ID, m.now)
	t.Behavior = b.name
	m.add(b, t)
}

// completed ends the operation with its completion, however the completion ended (SPEC O3).
func (m *Machine) completed(r *operationRow, t *Task) {
	next := *r.operation
	switch {
	case t.Status == Failure:
		next.Error = &Error{Code: CodeCompletionFailed, Message: t.Error.Code + ": " + t.Error.Message, Retryable: true} // by a retry of the operation
	case next.Error == nil:
		next.Result = t.Result
	}
	m.endOperation(r, &next)
}

// endOperation writes next as the last record of a run of the operation.
func (m *Machine) endOperation(r *operationRow, next *Operation) {
	next.Status, next.FinishedAt = OperationSuccess, m.now
	if next.Error != nil {
		next.Status = OperationFailure
	}
	m.putOperation(r, next)
}

// partitionError returns the error of an operation that failed by the partition of task t.
func partitionError(t *Task) *Error {
	e := *t.Error
	e.Message = "partition " + t.Partition + ": " + e.Message
	return &e
}
