package task

// CloseSession ends a session cleanly: its runs are given back (SPEC R3).
type CloseSession struct {
	Session uint64 `cbor:"1,keyasint"`
}

func (c CloseSession) apply(m *Machine) Result {
	s := m.sessions[c.Session]
	if s == nil {
		return refuse(SessionNotFound, "the session has ended")
	}
	m.endSessionAs(s, outcomeGivenBack)
	return Result{}
}
