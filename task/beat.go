package task

// Beat stores the latest progress and/or a durable checkpoint of a running attempt (SPEC L3, T8).
type Beat struct {
	Key        Key      `cbor:"1,keyasint"`
	Token      uint64   `cbor:"2,keyasint"`
	Seq        uint64   `cbor:"3,keyasint"`
	Progress   *Payload `cbor:"4,keyasint,omitempty"`
	Checkpoint *Payload `cbor:"5,keyasint,omitempty"`
	Extend     Millis   `cbor:"6,keyasint,omitempty"` // external: the lease lasts this long from now on; 0: as long as before

	External bool `cbor:"7,keyasint,omitempty"` // reported over HTTP: the lease must be an external one
}

func (c Beat) apply(m *Machine) Result {
	r := m.leased(c.Key, c.Token)
	if r == nil {
		return halt()
	}
	t := r.task
	if outdated(t, c.Seq) || c.Seq == 0 && c.Progress == nil && c.Checkpoint == nil {
		return Result{Task: t}
	}
	n := *t
	if c.Seq != 0 {
		lease := *t.Lease
		lease.Report = c.Seq
		n.Lease = &lease
	}
	if c.Progress != nil {
		n.Progress = *c.Progress
	}
	if c.Checkpoint != nil {
		n.Checkpoint, n.LostCount = *c.Checkpoint, 0
	}
	m.put(r, &n)
	return Result{Task: &n}
}
