package task

import "cmp"

// Beat stores the latest progress, a durable checkpoint, or both, of a running attempt (SPEC L3, T8). It also renews an
// external lease (SPEC J3). A Beat that only renews gives the record no new rev, and nobody is told.
//
//fields:wire value
type Beat struct {
	Key        Key      `cbor:"1,keyasint"`
	Token      uint64   `cbor:"2,keyasint"`
	Seq        uint64   `cbor:"3,keyasint"`
	Progress   *Payload `cbor:"4,keyasint,omitempty"`
	Checkpoint *Payload `cbor:"5,keyasint,omitempty"`
	Extend     Millis   `cbor:"6,keyasint,omitempty"` // external: from now on the lease lasts this long; 0: as long as before

	External bool `cbor:"7,keyasint,omitempty"` // reported over HTTP: the lease must be an external one
}

func (c Beat) apply(m *Machine) Result {
	if c.Extend != 0 && (!c.External || !validLease(c.Extend)) {
		return invalid("extend", "an external lease is extended by 1s to 1h")
	}
	r, refusal := m.reported(c.Key, c.Token, c.External)
	if r == nil {
		return refusal
	}
	t := m.task(r)
	renewal := c.Seq == 0 && c.Progress == nil && c.Checkpoint == nil
	if outdated(t, c.Seq) || renewal && !c.External {
		return Result{Task: t}
	}
	if refusal, ok := c.admit(m); !ok {
		return refusal
	}
	n, lease := *t, *t.Lease
	n.Lease = &lease
	if c.External {
		lease.TTL = cmp.Or(c.Extend, lease.TTL)
		lease.Expires = later(m.leaseNow, lease.TTL)
	}
	if renewal {
		m.replace(r, &n)
		return Result{Task: &n}
	}
	if c.Seq != 0 {
		lease.Report = c.Seq
	}
	if c.Progress != nil {
		n.Progress = *c.Progress
	}
	if c.Checkpoint != nil {
		n.Checkpoint = *c.Checkpoint
		if !m.restarts(t) {
			n.LostCount = 0
		}
	}
	m.put(r, &n)
	return Result{Task: &n}
}

// admit refuses a report whose blobs are not stored, or that refers to blobs where it must not.
func (c *Beat) admit(m *Machine) (Result, bool) {
	if c.Progress != nil {
		if refusal, ok := inline("progress", c.Progress); !ok {
			return refusal, false
		}
	}
	if c.Checkpoint != nil {
		return m.admit("checkpoint", c.Checkpoint)
	}
	return Result{}, true
}
