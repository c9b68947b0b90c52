package task

// live returns the behavior as everybody but its waiting tasks sees it: nil if there is none, or it was deleted (SPEC B8).
func (b *behaviorRow) live() *Behavior {
	if b == nil || b.behavior == nil || b.behavior.Deleted {
		return nil
	}
	return b.behavior
}

// putBehavior makes next the record of b, and lets its tasks wait as it says. Every change of a behavior passes here.
func (m *Machine) putBehavior(b *behaviorRow, next *Behavior) {
	old := b.live()
	if b.behavior != nil {
		m.sum -= hashBehavior(b.behavior)
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

func noBehavior() Result {
	return Result{Code: BehaviorNotFound, Field: "behavior", Message: "no behavior has this name"}
}

// behaviorChanged answers a proposer that has validated with another record: it does so again (Submit.BehaviorRev).
func behaviorChanged() Result {
	return refuse(BehaviorWasChanged, "the behavior is no longer the one that the request was checked with")
}

func otherKind(message string) Result {
	return Result{Code: OtherKind, Field: "behavior", Message: message}
}
