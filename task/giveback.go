package task

// GiveBack returns an attempt that was not run to its end. The task is due at once, and nothing counts it (SPEC R3, T8).
//
//fields:wire value
type GiveBack struct {
	Key   Key    `cbor:"1,keyasint"`
	Token uint64 `cbor:"2,keyasint"`

	External bool `cbor:"3,keyasint,omitempty"` // from an accept whose answer could not be delivered (SPEC J2)

	Fuel  int64 `cbor:"4,keyasint,omitempty"` // as in Finish
	Pages int64 `cbor:"5,keyasint,omitempty"` // as in Finish
}

func (c GiveBack) apply(m *Machine) Result {
	if refusal, ok := checkUsed(c.used(), c.External); !ok {
		return refusal
	}
	r, refusal := m.reported(c.Key, c.Token, c.External)
	if r == nil {
		return refusal
	}
	return Result{Task: m.releaseWith(r, outcomeGivenBack, m.now, parting{used: c.used()})}
}
