package task

import "github.com/taskrt/taskrt/task/exclusive"

// terms are what package exclusive is told of an operation.
func (o *Operation) terms() exclusive.Terms {
	p := &o.Policy
	return exclusive.Terms{
		Namespace: o.Namespace, Target: o.Target, Object: o.Object, Behavior: o.Behavior,
		PerTarget: p.Concurrency == OnePerTarget, PerObject: p.Concurrency == OnePerObject, Incompatible: p.Incompatible,
	}
}

// enterExclusions lists r if it has not ended. An operation that is being removed stays listed until its last task, which may still run, is gone.
func (m *Machine) enterExclusions(r *operationRow) {
	if o := r.operation; !o.Final() {
		m.fanout.running.Enter(o.terms(), o.CreatedRev, r)
	}
}

func (m *Machine) leaveExclusions(r *operationRow) {
	if o := r.operation; !o.Final() {
		m.fanout.running.Leave(o.terms(), o.CreatedRev)
	}
}

// excluded returns the refusal of an operation that must not run now, naming the oldest one that excludes it.
func (m *Machine) excluded(o *Operation) (Result, bool) {
	r, ok := m.fanout.running.Excluding(o.terms())
	if !ok {
		return Result{}, false
	}
	oldest := r.operation
	message := "operation " + oldest.ID + " of " + oldest.Behavior + " runs on the target"
	if oldest.Removing {
		message = "operation " + oldest.ID + " of " + oldest.Behavior + " is being removed from the target"
	}
	return Result{Code: OperationConflict, Message: message, Operation: oldest}, true
}
