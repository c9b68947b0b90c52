package task

// DrainNode stops or resumes assignments to the workers of a node (SPEC L10). Running tasks go on.
type DrainNode struct {
	Node  string `cbor:"1,keyasint"` // node ID
	Drain bool   `cbor:"2,keyasint,omitempty"`
}

func (c DrainNode) apply(m *Machine) Result {
	if c.Node == "" {
		return invalid("node", "a node has an ID")
	}
	switch changed, full := m.roster.Drain(c.Node, c.Drain); {
	case full:
		return invalid("node", "more than 1,000 nodes are drained")
	case !changed:
		return Result{}
	}
	for _, s := range m.sessions { // order-free: a number
		switch {
		case s.session.Node != c.Node || !s.session.Isolates:
		case c.Drain:
			m.isolating--
		default:
			m.isolating++
		}
	}
	m.emit(Event{Kind: DrainChanged})
	return Result{Changed: true}
}
