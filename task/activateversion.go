package task

// ActivateVersion makes a kept version of a behavior the active one: rollback (SPEC B2).
type ActivateVersion struct {
	Namespace string `cbor:"1,keyasint"`
	Name      string `cbor:"2,keyasint"`
	Version   string `cbor:"3,keyasint"`
}

func (c ActivateVersion) apply(m *Machine) Result {
	if r, ok := m.writable(c.Namespace); !ok {
		return r
	}
	b := m.behaviors[behaviorName{c.Namespace, c.Name}]
	old := b.live()
	if old == nil {
		return noBehavior()
	}
	if old.Active == c.Version {
		return Result{Behavior: old}
	}
	found, ok := old.Find(c.Version)
	if !ok || c.Version == "" {
		return noVersion()
	}
	if (found.Module == "") != old.External { // the version is from before a deletion, and the name was taken for the other kind since
		return otherKind("the version is one of the other kind: it may finish its tasks, but not become active")
	}
	v := *found
	v.ActivatedAt = m.now
	m.activate(b, v)
	m.dropModules()
	return Result{Behavior: b.behavior, Changed: true}
}

func noVersion() Result {
	return Result{Code: VersionNotFound, Field: "version", Message: "no kept version of the behavior has this name"}
}
