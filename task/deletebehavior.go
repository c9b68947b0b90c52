package task

import "slices"

// DeleteBehavior takes away a behavior. Its tasks wait for a behavior of its name (SPEC B8, I5).
type DeleteBehavior struct {
	Namespace string `cbor:"1,keyasint"`
	Name      string `cbor:"2,keyasint"`
	Purge     bool   `cbor:"3,keyasint,omitempty"` // maintenance removes its waiting and final tasks
}

// apply keeps the record for pinned tasks, and for running tasks, which finish by their version's policy. The record
// goes with the last task. A second deletion is refused, unless it asks for a purge and the first did not.
func (c DeleteBehavior) apply(m *Machine) Result {
	if r, ok := m.writable(c.Namespace); !ok {
		return r
	}
	b := m.behaviors[behaviorName{c.Namespace, c.Name}]
	if b == nil || b.behavior == nil || b.behavior.Deleted && (b.behavior.Purge || !c.Purge) {
		return noBehavior()
	}
	m.putBehavior(b, &Behavior{
		External: b.behavior.External, Deleted: true, Purge: c.Purge, Versions: b.kept(slices.Clone(b.behavior.Versions), 0),
	})
	m.forgetBehavior(b)
	m.dropModules()
	return Result{Changed: true}
}
