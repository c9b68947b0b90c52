package task

// ActivateVersion makes a kept version of a behavior the active one: rollback (SPEC B2).
type ActivateVersion struct {
	Namespace string `cbor:"1,keyasint"`
	Name      string `cbor:"2,keyasint"`
	Version   string `cbor:"3,keyasint"`
}

func (c ActivateVersion) apply(m *Machine) Result { return invalid("activate", "not yet") }
