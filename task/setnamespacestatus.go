package task

func (c SetNamespaceStatus) apply(m *Machine) Result {
	n := m.namespaces[c.Name]
	switch {
	case c.Status < NamespaceIsActive || c.Status > NamespaceIsPurging:
		return invalid("status", "a namespace is made ACTIVE, INACTIVE or PURGING")
	case c.Name == SystemNamespace, c.Name == DefaultNamespace && c.Status == NamespaceIsPurging:
		return Result{Code: NamespaceReserved, Field: "name", Message: "the status of _system cannot be changed, and default cannot be purged"}
	case !m.NamespaceExists(c.Name):
		return noNamespace()
	case n.space.Status == c.Status:
		return Result{Space: n.space}
	}
	if r, ok := m.writable(c.Name); !ok {
		return r
	}
	next := *n.space
	next.Status, next.ChangedAt = c.Status, m.now
	m.putSpace(n, &next)
	for _, b := range m.behaviorsIn(c.Name) { // their waiting tasks may now be assigned, or no longer
		m.policyChanged(b)
	}
	for _, o := range m.fanout.spaces[c.Name] { // an operation that is purged goes on no more
		m.schedule(o)
	}
	if c.Status == NamespaceIsPurging {
		for r := range m.overruns.All {
			m.enterDoomed(r)
		}
	}
	return Result{Space: &next, Changed: true}
}
