package task

// RetryOperation runs the failed part of a failed operation again: its partitions, or its completion (SPEC O3). Exclusivity is checked as at a start.
// An operation with partitions that an import has not brought yet waits for them, because it would complete without them.
type RetryOperation struct {
	Key Key `cbor:"1,keyasint"`
}

func (c RetryOperation) apply(m *Machine) Result {
	r := m.liveOperation(c.Key)
	if r == nil {
		return m.noOperation(c.Key)
	}
	if refusal, ok := m.writable(c.Key.Namespace); !ok {
		return refusal
	}
	o := r.operation
	if o.Status != OperationFailure {
		return Result{Code: OperationState, Message: "the operation has not failed", Operation: o}
	}
	if r.counts.Success+r.counts.Failure < o.Partitions {
		return Result{Code: OperationState, Message: "partitions of the operation have not been imported", Operation: o}
	}
	if refusal, ok := m.excluded(o); ok {
		return refusal
	}
	next := *o
	next.Status, next.Error, next.FinishedAt = OperationRunning, nil, 0
	if r.counts.Failure == 0 {
		next.Status = OperationCompleting
		m.putOperation(r, &next)
		m.runCompletion(r)
	} else {
		next.RetryRev = m.rev // a later failure is a new failure
		m.putOperation(r, &next)
		m.workOn(r, m.steps)
	}
	return Result{Operation: r.operation, Changed: true}
}

// retryOne makes the partition that failed first due again. The last partition ends the sweep.
func (m *Machine) retryOne(o *operationRow) {
	if n := o.failed.Head(); n != nil && n.Key <= int64(o.operation.RetryRev) {
		m.retryPartition(n.Item, o.operation.Policy.Restart)
	}
	if n := o.failed.Head(); n == nil || n.Key > int64(o.operation.RetryRev) {
		next := *o.operation
		next.RetryRev = 0
		m.putOperation(o, &next)
	}
}

// retryPartition goes on where the task stopped, or starts it from scratch. The last run has had its cleanup, so its session is forgotten.
func (m *Machine) retryPartition(r *row, restart bool) {
	n := *m.task(r)
	n.NotBefore, n.Deadline, n.Failures = max(m.now, 1), 0, 0
	if restart {
		n.Checkpoint = Payload{}
	}
	if n.Ended != nil {
		ended := *n.Ended
		ended.Session = 0
		n.Ended = &ended
	}
	m.put(r, &n)
}
