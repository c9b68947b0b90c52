package task

// CancelOperation asks for the cancel of all tasks that are not final. The completion still runs (SPEC O3).
type CancelOperation struct {
	Key Key `cbor:"1,keyasint"`
}

// apply stops a running operation. If the operation stops already, or was cancelled, it changes nothing and is no error.
func (c CancelOperation) apply(m *Machine) Result {
	r := m.liveOperation(c.Key)
	if r == nil {
		return m.noOperation(c.Key)
	}
	switch o := r.operation; {
	case o.Status == OperationCompleting:
		return Result{Code: OperationState, Message: "the operation is completing", Operation: o}
	case o.Status == OperationFailure && o.Error.Code == CodeCancelled:
		return Result{Operation: o}
	case o.Final():
		return Result{Code: NotCancellable, Message: "the operation has ended", Operation: o}
	case o.Stop != "":
		return Result{Operation: o, Told: true}
	}
	next := *r.operation
	next.Stop, next.RetryRev = CodeCancelled, 0
	next.Error = cancelError(CodeCancelled)
	m.putOperation(r, &next)
	m.workOn(r, m.steps)
	if r.settled() { // it was retried, and no task was due again yet
		m.complete(r)
	}
	return Result{Operation: r.operation, Changed: true, Told: !r.operation.Final()}
}

// liveOperation returns an operation that is not being removed, or nil.
func (m *Machine) liveOperation(k Key) *operationRow {
	if r := m.operations[k]; r != nil && !r.operation.Removing {
		return r
	}
	return nil
}

// noOperation answers a command about an operation that is not there.
func (m *Machine) noOperation(k Key) Result {
	if !m.NamespaceExists(k.Namespace) {
		return noNamespace()
	}
	return refuse(OperationNotFound, "no operation has this ID")
}
