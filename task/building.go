package task

// Stubs of what is being built.

func notBuilt() Result { return refuse("not_built", "being built") }

func (c StartOperation) apply(m *Machine) Result     { return notBuilt() }
func (c CancelOperation) apply(m *Machine) Result    { return notBuilt() }
func (c RetryOperation) apply(m *Machine) Result     { return notBuilt() }
func (c RemoveOperation) apply(m *Machine) Result    { return notBuilt() }
func (c PutNamespace) apply(m *Machine) Result       { return notBuilt() }
func (c SetNamespaceStatus) apply(m *Machine) Result { return notBuilt() }
func (c ImportRecords) apply(m *Machine) Result      { return notBuilt() }
func (c StartMaintenance) apply(m *Machine) Result   { return notBuilt() }
func (c RecordRun) apply(m *Machine) Result          { return notBuilt() }
func (c DropTasks) apply(m *Machine) Result          { return notBuilt() }
func (c DropOperations) apply(m *Machine) Result     { return notBuilt() }
func (c TrimBehavior) apply(m *Machine) Result       { return notBuilt() }
func (c PurgeNamespace) apply(m *Machine) Result     { return notBuilt() }
func (c EndPurge) apply(m *Machine) Result           { return notBuilt() }

// Reads.

// Operation returns an operation that is not being removed, with its counts, or nil.
func (m *Machine) Operation(k Key) *Operation { return nil }

// Operations returns a page in order of creation, and a cursor as Tasks does.
func (m *Machine) Operations(f OperationFilter) (operations []*Operation, next string) {
	return nil, ""
}

// OperationTasks returns the tasks of partitions from..from+limit-1 that exist and, if status is not 0, have it, and the
// partition to go on from, -1 at the end. It looks at no more than 10,000 partitions.
func (m *Machine) OperationTasks(k Key, from int64, limit int, status Status) (tasks []*Task, next int64) {
	return nil, -1
}

// MaintenanceRuns returns what is remembered of runs, the newest first.
func (m *Machine) MaintenanceRuns() []*MaintenanceRun { return nil }
