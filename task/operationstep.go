package task

// This file takes operations further. put and add write an operation's tasks like all others, and then call stepOperation. So the same entry decides
// what a change means for the operation (SPEC O3). Work on many tasks is done for as many tasks as an entry may change (Limit.Steps). Ticks do the
// rest, and each operation with work left gets an equal share (SPEC O1).

// stepOperation takes the operation of r further, if the change of r allows it. prev is r's former record, or nil if r is new.
func (m *Machine) stepOperation(r *row, prev *Task) {
	t := m.task(r)
	if t.Role == RoleNone {
		return
	}
	o := m.operations[t.operation()]
	if o.operation.Removing || m.purging(t.Namespace) {
		return
	}
	ended := t.Final() && (prev == nil || !prev.Final())
	switch t.Role {
	case RolePartition:
		m.cleanUp(o, t, prev)
		if ended && t.Status == Failure {
			m.partitionFailed(o, t)
		}
		if ended && o.settled() {
			m.complete(o)
		}
	case RoleCompletion:
		if ended && o.operation.Status == OperationCompleting {
			m.completed(o, t)
		}
	case RoleCleanup:
		if ended && t.Status == Failure && t.Error.Code == CodeSessionEnded {
			m.cleanupDropped(o)
		}
	}
}

// settled reports whether all partitions are final and stay final.
func (o *operationRow) settled() bool {
	x := o.operation
	return x.Status == OperationRunning && x.RetryRev == 0 && o.counts.Success+o.counts.Failure == x.Partitions
}

// partitionFailed notes the first final failure. With fail_fast it stops the other partitions (SPEC O3).
func (m *Machine) partitionFailed(o *operationRow, t *Task) {
	x := o.operation
	if x.Status != OperationRunning || x.Stop != "" || x.Policy.RunAll && x.Error != nil {
		return
	}
	next := *x
	if next.Error == nil {
		next.Error = partitionError(t)
	}
	if !next.Policy.RunAll {
		next.Stop, next.RetryRev = t.Error.Code, 0
	}
	m.putOperation(o, &next)
	m.workOn(o, m.steps)
}

// hasWork reports whether Ticks have something to do for the operation.
func (m *Machine) hasWork(o *operationRow) bool {
	x := o.operation
	switch {
	case x.Removing:
		return true
	case m.purging(x.Namespace):
		return false // it goes on no more, and the purge removes it
	}
	return x.Status == OperationRunning && (x.Made < x.Partitions || x.RetryRev != 0 || x.Stop != "" && o.open.Len() > 0)
}

// schedule keeps o among the operations with work. It must follow every change that hasWork depends on.
func (m *Machine) schedule(o *operationRow) {
	switch work := m.hasWork(o); {
	case work && o.busy == 0:
		m.fanout.busy.Push(0, o.operation.CreatedRev, &o.busy, o)
	case !work && o.busy != 0:
		m.fanout.busy.Remove(&o.busy)
	}
}

// workOn does up to n steps of the operation's work, as far as the entry's limit allows.
func (m *Machine) workOn(o *operationRow, n int64) {
	for n = min(n, m.steps); n > 0 && o.busy != 0; {
		done := int64(1)
		switch x := o.operation; {
		case x.Removing:
			done = m.removeSome(o, n)
		case x.Stop != "" && o.open.Len() > 0:
			m.cancelAny(o.open.Head().Item, CodeCancelled)
		case x.Made < x.Partitions:
			done = m.makeSome(o, n)
		default:
			m.retryOne(o)
		}
		n -= done
		m.steps -= done
		m.tickChange = true
	}
}

// partitionEnded notes where the run of a partition ended, for its cleanup. If the operation says so, the run's checkpoint goes (SPEC O5).
func (m *Machine) partitionEnded(n *Task, session uint64) {
	n.Ended.Session = session
	if m.restarts(n) {
		n.Checkpoint = Payload{}
	}
}

// restarts reports whether each attempt at t begins from scratch. Then its checkpoints do not restart the count of losses (SPEC O5, T8).
func (m *Machine) restarts(t *Task) bool {
	return t.Role == RolePartition && m.operations[t.operation()].operation.Policy.Restart
}

// makeSome makes up to n of the tasks that are not there yet.
func (m *Machine) makeSome(o *operationRow, n int64) int64 {
	from, next := o.operation.Made, *o.operation
	next.Made = min(from+n, next.Partitions)
	m.putOperation(o, &next)
	m.makePartitions(o, from, next.Made)
	return next.Made - from
}

// tickOperations does the Tick's part for operations.
func (m *Machine) tickOperations() {
	var rows []*operationRow
	for c := m.fanout.busy.Cursor(); c.Node() != nil && int64(len(rows)) < m.steps; c.Next() {
		rows = append(rows, c.Node().Item)
	}
	for i, o := range rows {
		m.workOn(o, max(m.steps/int64(len(rows)-i), 1))
	}
}
