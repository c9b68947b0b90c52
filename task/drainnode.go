package task

// DrainNode stops, or resumes, assignments to the workers of a node (SPEC L10). Running tasks go on.
type DrainNode struct {
	Node  string `cbor:"1,keyasint"` // node ID
	Drain bool   `cbor:"2,keyasint,omitempty"`
}

func (c DrainNode) apply(m *Machine) Result { return invalid("drain", "not yet") }
