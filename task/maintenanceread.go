package task

// BehaviorsAfter returns up to limit behaviors of all namespaces that follow the given one by namespace and name, with
// Pinned filled in. Unlike Behaviors it also returns deleted behaviors, which stay while they have tasks.
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
