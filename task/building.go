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
func (c NoteBlob) apply(m *Machine) Result           { return notBuilt() }
func (c DropBlobs) apply(m *Machine) Result          { return notBuilt() }
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

// Namespace returns a namespace with its usage, or nil. Namespaces returns all by name.
func (m *Machine) Namespace(name string) *Namespace { return nil }
func (m *Machine) Namespaces() []*Namespace         { return nil }

// OverRate says whether a submit would be refused now for its namespace's submits_per_second, if the log's clock were at
// at: a node asks before it proposes, so that what is refused does not fill the log.
func (m *Machine) OverRate(namespace string, submits int64, at Time) bool { return false }

// Blob returns a blob with its references, or nil.
func (m *Machine) Blob(digest string) *Blob { return nil }

// Blobs yields blobs by digest, those after the given one.
func (m *Machine) Blobs(after string) func(yield func(*Blob) bool) { return func(func(*Blob) bool) {} }

// MaintenanceRuns returns what is remembered of runs, the newest first.
func (m *Machine) MaintenanceRuns() []*MaintenanceRun { return nil }
