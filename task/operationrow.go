package task

// operationRow is what the machine holds for one operation: its record, and what is derived for its tasks.
type operationRow struct {
	operation *Operation
	counts    OperationCounts
}

type instanceName struct{ namespace, behavior, target string }

// enterOperation and leaveOperation keep what is derived for the operation of r; enqueue and dequeue call them.
func (m *Machine) enterOperation(r *row) {}
func (m *Machine) leaveOperation(r *row) {}

// stepOperation takes the operation of r further, if the change of r lets it. add and put call it at their end.
func (m *Machine) stepOperation(r *row) {}

// tickOperations is the Tick's part; nextOperation says when it has something to do: the present, or 0.
func (m *Machine) tickOperations()     {}
func (m *Machine) nextOperation() Time { return 0 }

// dropBound ends the cleanups that are bound to a session that ends.
func (m *Machine) dropBound(s *sessionRow) {}
