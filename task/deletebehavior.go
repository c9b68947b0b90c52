package task

// DeleteBehavior takes a behavior away: its tasks wait for one of that name (SPEC B8, I5).
type DeleteBehavior struct {
	Namespace string `cbor:"1,keyasint"`
	Name      string `cbor:"2,keyasint"`
	Purge     bool   `cbor:"3,keyasint,omitempty"` // Ticks remove its waiting and final tasks
}

func (c DeleteBehavior) apply(m *Machine) Result { return invalid("delete", "not yet") }
