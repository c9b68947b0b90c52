package task

import "github.com/taskrt/taskrt/task/names"

// PutBehavior defines an external behavior, or changes its policy by a new version (SPEC B7, J1).
type PutBehavior struct {
	Namespace string `cbor:"1,keyasint"`
	Name      string `cbor:"2,keyasint"`
	Version   string `cbor:"3,keyasint"` // hash of the policy, by the proposer
	Policy    Policy `cbor:"4,keyasint"`
}

// apply answers with an Outcome: created if no behavior had the name, existing if the same version was active, and else updated.
func (c PutBehavior) apply(m *Machine) Result {
	if r, ok := m.writable(c.Namespace); !ok {
		return r
	}
	switch {
	case !names.IsBehavior(c.Name):
		return invalid("name", "a behavior name is 3 to 128 characters of a-z 0-9 . _ -")
	case c.Version == "":
		return invalid("version", "a version has a name")
	}
	b := m.behaviorRow(c.Namespace, c.Name)
	outcome := SubmitCreated
	if old := b.live(); old != nil {
		switch {
		case !old.External:
			return otherKind("the behavior is one of a module: delete it first")
		case old.Active == c.Version:
			return Result{Behavior: old, Outcome: SubmitExisting}
		}
		outcome = SubmitUpdated
	}
	m.activate(b, Version{Version: c.Version, Policy: c.Policy, ActivatedAt: m.now})
	m.dropModules()
	return Result{Behavior: b.behavior, Outcome: outcome, Changed: true}
}
