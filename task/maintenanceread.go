package task

// BehaviorsAfter returns up to limit behaviors of all namespaces by namespace and name, those behind the given one, with
// Pinned filled in. Unlike Behaviors it returns deleted ones too, which stay while there are tasks of theirs.
func (m *Machine) BehaviorsAfter(namespace, name string, limit int) []*Behavior {
	at, found := m.findBehavior(behaviorName{namespace, name})
	if found {
		at++
	}
	var views []*Behavior
	for _, b := range m.byName[at:] {
		if len(views) >= limit {
			break
		}
		if b.behavior != nil {
			views = append(views, b.pinned())
		}
	}
	return views
}
