package task

// PutBehavior defines an external behavior, or changes its policy: a new version (SPEC B7, J1).
type PutBehavior struct {
	Namespace string `cbor:"1,keyasint"`
	Name      string `cbor:"2,keyasint"`
	Version   string `cbor:"3,keyasint"` // hash of the policy, by the proposer
	Policy    Policy `cbor:"4,keyasint"`
}

func (c PutBehavior) apply(m *Machine) Result { return invalid("put", "not yet") }
