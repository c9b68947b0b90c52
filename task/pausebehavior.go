package task

// PauseBehavior stops, or resumes, the assignment of a behavior's tasks (SPEC L10). Running ones go on.
type PauseBehavior struct {
	Namespace string `cbor:"1,keyasint"`
	Name      string `cbor:"2,keyasint"`
	Paused    bool   `cbor:"3,keyasint,omitempty"`
}

func (c PauseBehavior) apply(m *Machine) Result { return invalid("pause", "not yet") }
