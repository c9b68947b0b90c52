package task

// PauseBehavior stops or resumes the assignment of a behavior's tasks (SPEC L10). Running tasks go on.
type PauseBehavior struct {
	Namespace string `cbor:"1,keyasint"`
	Name      string `cbor:"2,keyasint"`
	Paused    bool   `cbor:"3,keyasint,omitempty"`
}

func (c PauseBehavior) apply(m *Machine) Result {
	if r, ok := m.writable(c.Namespace); !ok {
		return r
	}
	b := m.behaviors[behaviorName{c.Namespace, c.Name}]
	if b.live() == nil {
		return noBehavior()
	}
	if b.behavior.Paused == c.Paused {
		return Result{Behavior: b.behavior}
	}
	next := *b.behavior
	next.Paused = c.Paused
	m.putBehavior(b, &next)
	return Result{Behavior: &next, Changed: true}
}
