package task

// DrainNode stops or resumes assignments to the workers of a node (SPEC L10). Running tasks go on.
type DrainNode struct {
	Node  string `cbor:"1,keyasint"` // node ID
	Drain bool   `cbor:"2,keyasint,omitempty"`
}

// maxDrained bounds the set of drained nodes. It is far above any cluster. A name stays in the set until it is resumed,
// whether or not a node of this name is there.
const maxDrained = 1_000

func (c DrainNode) apply(m *Machine) Result {
	switch {
	case c.Node == "":
		return invalid("node", "a node has an ID")
	case c.Drain == m.drained[c.Node]:
		return Result{}
	case !c.Drain:
		m.sum -= hashDrained(c.Node)
		delete(m.drained, c.Node)
	case len(m.drained) >= maxDrained:
		return invalid("node", "more than 1,000 nodes are drained")
	default:
		m.sum += hashDrained(c.Node)
		m.drained[c.Node] = true
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
