package task

import "slices"

// DeleteBehavior takes a behavior away: its tasks wait for one of that name (SPEC B8, I5).
type DeleteBehavior struct {
	Namespace string `cbor:"1,keyasint"`
	Name      string `cbor:"2,keyasint"`
	Purge     bool   `cbor:"3,keyasint,omitempty"` // maintenance removes its waiting and final tasks
}

// apply keeps the record for the running tasks, which finish by their version's policy, and for those that are pinned.
// It goes with the last task. Deleting again is refused, but for a purge of what was deleted without one.
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
