package task

// Snooze ends the attempt without an outcome. The task is due again at At (SPEC R5).
//
//fields:wire value
type Snooze struct {
	Key        Key      `cbor:"1,keyasint"`
	Token      uint64   `cbor:"2,keyasint"`
	Seq        uint64   `cbor:"3,keyasint"`
	At         Time     `cbor:"4,keyasint,omitempty"` // 0: now + 1 s, or at once if the node of its worker is drained
	Checkpoint *Payload `cbor:"5,keyasint,omitempty"`

	External bool `cbor:"6,keyasint,omitempty"` // reported over HTTP: the lease must be an external one

	Fuel int64 `cbor:"7,keyasint,omitempty"` // as in Finish

	Progress *Payload `cbor:"8,keyasint,omitempty"` // as in Finish
	Pages    int64    `cbor:"9,keyasint,omitempty"` // as in Finish
}

// snoozeDefault is how long a run that named no time sleeps (SPEC R5).
const snoozeDefault Millis = 1_000

func (c Snooze) apply(m *Machine) Result {
	if refusal, ok := checkUsed(c.used(), c.External); !ok {
		return refusal
	}
	r, refusal := m.reported(c.Key, c.Token, c.External)
	if r == nil {
		return refusal
	}
	if outdated(m.task(r), c.Seq) {
		return Result{Task: m.task(r)}
	}
	if c.Progress != nil {
		if refusal, ok := inline("progress", c.Progress); !ok {
			return refusal
		}
	}
	if c.Checkpoint != nil {
		if refusal, ok := m.admit("checkpoint", c.Checkpoint); !ok {
			return refusal
		}
	}
	at := min(c.At, MaxTime)
	if at <= 0 {
		at = later(m.now, snoozeDefault)
		if m.Drained(m.task(r).Lease.Node) {
			at = m.now // another worker can have the task now
		}
	}
	return Result{Task: m.releaseWith(r, outcomeSnoozed, at, parting{checkpoint: c.Checkpoint, progress: c.Progress, used: c.used()})}
}
