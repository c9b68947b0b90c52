package task

// Which operations may run at the same time (SPEC O2). Every operation that has not ended stands in a few lists, each
// under what a start that it excludes, or is excluded by, will ask for: so a start looks at the heads of a few lists and
// not at operations.

// exclusion names such a list. Everything is about one target.
type exclusion struct {
	kind              exclusionKind
	namespace, target string
	behavior, object  string
}

type exclusionKind uint8

const (
	ofBehavior     exclusionKind = iota + 1 // operations of the behavior
	ofObject                                // and the object
	alonePerTarget                          // those of the behavior that are alone on the target
	alonePerObject                          // and on the object
	incompatible                            // operations that do not stand the behavior
)

// exclusions returns the lists in which the operation stands while it has not ended.
func (o *Operation) exclusions() []exclusion {
	names := []exclusion{o.exclusion(ofBehavior, o.Behavior, ""), o.exclusion(ofObject, o.Behavior, o.Object)}
	return o.byPolicy(names, alonePerTarget, alonePerObject, incompatible)
}

// enemies returns the lists whose operations exclude the operation, or are excluded by it.
func (o *Operation) enemies() []exclusion {
	names := []exclusion{
		o.exclusion(alonePerTarget, o.Behavior, ""), o.exclusion(alonePerObject, o.Behavior, o.Object),
		o.exclusion(incompatible, o.Behavior, ""),
	}
	return o.byPolicy(names, ofBehavior, ofObject, ofBehavior)
}

func (o *Operation) exclusion(k exclusionKind, behavior, object string) exclusion {
	return exclusion{k, o.Namespace, o.Target, behavior, object}
}

// byPolicy adds the lists that the policy calls for: one if the operation is alone on its target or object, and one of each
// behavior that it does not stand. One that is named twice is there twice.
func (o *Operation) byPolicy(names []exclusion, perTarget, perObject, others exclusionKind) []exclusion {
	switch o.Policy.Concurrency {
	case OnePerTarget:
		names = append(names, o.exclusion(perTarget, o.Behavior, ""))
	case OnePerObject:
		names = append(names, o.exclusion(perObject, o.Behavior, o.Object))
	}
	for _, other := range o.Policy.Incompatible {
		names = append(names, o.exclusion(others, other, ""))
	}
	return names
}

// enterExclusions lists r if it has not ended. One that is being removed stands there until its last task is gone: its
// runs may still be going on.
func (m *Machine) enterExclusions(r *operationRow) {
	if r.operation.Final() {
		return
	}
	for _, name := range r.operation.exclusions() {
		enlist(m.fanout.running, name, r)
	}
}

func (m *Machine) leaveExclusions(r *operationRow) {
	if r.operation.Final() {
		return
	}
	for _, name := range r.operation.exclusions() {
		unlist(m.fanout.running, name, r)
	}
}

// excluded returns the refusal of an operation that must not run now, naming the oldest one that excludes it.
func (m *Machine) excluded(o *Operation) (Result, bool) {
	var oldest *Operation
	for _, name := range o.enemies() {
		if rows := m.fanout.running[name]; len(rows) > 0 && (oldest == nil || rows[0].operation.CreatedRev < oldest.CreatedRev) {
			oldest = rows[0].operation
		}
	}
	if oldest == nil {
		return Result{}, false
	}
	message := "operation " + oldest.ID + " of " + oldest.Behavior + " runs on the target"
	if oldest.Removing {
		message = "operation " + oldest.ID + " of " + oldest.Behavior + " is being removed from the target"
	}
	return Result{Code: OperationConflict, Message: message, Operation: oldest}, true
}
