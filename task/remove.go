package task

// Remove deletes a record (SPEC L9).
type Remove struct {
	Key Key `cbor:"1,keyasint"`
}

func (c Remove) apply(m *Machine) Result {
	r := m.find(c.Key)
	if r == nil {
		return m.missing(c.Key)
	}
	if m.task(r).Role != RoleNone {
		return operationTask(m.task(r))
	}
	m.drop(r)
	return Result{}
}

// operationTask refuses changes of an operation's task that only the operation may make, while it runs and later,
// because its outcome counts its tasks (SPEC O6).
func operationTask(t *Task) Result {
	return Result{Code: OperationTask, Message: "the task belongs to the operation " + t.Parent + ", which alone can do this", Task: t}
}

func noTask() Result { return refuse(TaskNotFound, "no task has this ID") }
