package task

// Remove deletes a record (SPEC L9).
type Remove struct {
	Key Key `cbor:"1,keyasint"`
}

func (c Remove) apply(m *Machine) Result {
	r := m.store.get(c.Key)
	if r == nil {
		return m.missing(c.Key)
	}
	m.drop(r)
	return Result{}
}

func noTask() Result { return refuse(TaskNotFound, "no task has this ID") }
