package task

import (
	"cmp"
)

// Instance is the last instance number of a target and a behavior. It outlives its operations, and goes with the namespace.
//
//fields:hash record
type Instance struct {
	Namespace string `cbor:"1,keyasint"`
	Behavior  string `cbor:"2,keyasint"`
	Target    string `cbor:"3,keyasint,omitempty"`
	Last      int64  `cbor:"4,keyasint"`
	Rev       uint64 `cbor:"5,keyasint"` // of the write
}

type instanceName struct{ namespace, behavior, target string }

func (x *Instance) name() instanceName { return instanceName{x.Namespace, x.Behavior, x.Target} }

func (k instanceName) compare(l instanceName) int {
	return cmp.Or(cmp.Compare(k.namespace, l.namespace), cmp.Compare(k.behavior, l.behavior), cmp.Compare(k.target, l.target))
}

// nextInstance counts the operations of a behavior on a target (SPEC O2).
func (m *Machine) nextInstance(o *Operation) int64 {
	k := instanceName{o.Namespace, o.Behavior, o.Target}
	next := int64(1)
	if former := m.instances.Get(k); former != nil {
		next = former.Last + 1
	}
	m.putInstance(k, next)
	return next
}

// putInstance stores last as the last instance number.
func (m *Machine) putInstance(k instanceName, last int64) {
	if former := m.instances.Get(k); former != nil {
		m.sum -= hashInstance(former)
	}
	m.rev++
	next := &Instance{Namespace: k.namespace, Behavior: k.behavior, Target: k.target, Last: last, Rev: m.rev}
	m.sum += hashInstance(next)
	m.instances.Put(next)
}
