package task

// RenewSession keeps a session and all its leases alive (SPEC L2). It writes no task.
//
//fields:wire value
type RenewSession struct {
	Session uint64 `cbor:"1,keyasint"`
	Acked   uint64 `cbor:"2,keyasint,omitempty"` // number of the last assignment received
}

func (c RenewSession) apply(m *Machine) Result {
	s := m.sessions[c.Session]
	if s == nil {
		return refuse(SessionNotFound, "the session has ended")
	}
	n := *s.session
	n.Expires = max(n.Expires, later(m.leaseNow, n.TTL))
	n.Acked = max(n.Acked, min(c.Acked, n.Seq))
	m.putSession(s, &n)
	return Result{Session: &n}
}
