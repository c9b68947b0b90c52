package task

import "slices"

// live returns the behavior, or nil if there is none or if it was deleted (SPEC B8). Only the tasks of a deleted behavior still see it.
func (b *behaviorRow) live() *Behavior {
	if b == nil || b.behavior == nil || b.behavior.Deleted {
		return nil
	}
	return b.behavior
}

// putBehavior makes next the record of b, and puts b's tasks where they now have to wait. Every change of a behavior passes here.
func (m *Machine) putBehavior(b *behaviorRow, next *Behavior) {
	old := b.live()
	if b.behavior != nil {
		m.sum -= hashBehavior(b.behavior)
	} else {
		b.space.usage.Behaviors++
	}
	m.rev++
	next.Namespace, next.Name, next.Rev = b.namespace, b.name, m.rev
	m.sum += hashBehavior(next)
	b.behavior = next
	switch {
	case old == nil && !next.Deleted:
		m.counts.Behaviors++
	case old != nil && next.Deleted:
		m.counts.Behaviors--
	}
	m.policyChanged(b)
	m.emit(Event{Kind: BehaviorChanged, Behavior: next})
}

// forgetBehavior forgets a deleted behavior when no task of it is left, because creating and deleting names must not fill the memory (SPEC B8). A
// later behavior of that name is new. The same holds for a name that only imported tasks had.
func (m *Machine) forgetBehavior(b *behaviorRow) {
	switch {
	case b.needed() || m.behaviors[b.behaviorName] != b:
		return
	case b.behavior == nil:
		m.forgetRow(b)
		return
	case !b.behavior.Deleted:
		return
	}
	versions := len(b.behavior.Versions)
	m.sum -= hashBehavior(b.behavior)
	b.behavior = nil
	b.space.usage.Behaviors--
	m.forgetRow(b)
	if versions > 0 {
		m.dropModules()
	}
}

// forgetRow forgets a name that has no record.
func (m *Machine) forgetRow(b *behaviorRow) {
	delete(m.behaviors, b.behaviorName)
	m.store.DropOwner(b.Number)
	m.numbered[b.Number] = nil
	i := slices.Index(m.byName, b)
	m.byName = slices.Concat(m.byName[:i], m.byName[i+1:]) // a new list, because a caller that removes tasks walks the old one
}

// needed reports whether something needs the record of b.
func (b *behaviorRow) needed() bool { return b.tasks > 0 || len(b.held) > 0 }

func noBehavior() Result {
	return Result{Code: BehaviorNotFound, Field: "behavior", Message: "no behavior has this name"}
}

// behaviorChanged answers a proposer that has checked with another record. The proposer then checks again (Submit.BehaviorRev).
func behaviorChanged() Result {
	return refuse(BehaviorWasChanged, "the behavior is no longer the one that the request was checked with")
}

func otherKind(message string) Result {
	return Result{Code: OtherKind, Field: "behavior", Message: message}
}
