package task

// Tick lets time pass: sessions expire, deadlines strike, retention sweeps, and due tasks become eligible. The leader
// proposes it at NextTick. Clocks advance only with commands, and things expire only in a Tick (SPEC L4).
//
//fields:wire value
type Tick struct{}

// apply ends sessions and leases first. So a lost run whose deadline is over ends by its deadline in the same Tick. A Tick strikes and removes only a
// limited number (Limit). The rest is due at the next Tick, which NextTick then asks for at once.
func (c Tick) apply(m *Machine) Result {
	for n := m.expiries.Head(); n != nil && n.Key <= int64(m.leaseNow); n = m.expiries.Head() {
		m.endSessionAs(n.Item, outcomeLost)
		m.tickChange = true
	}
	m.endLeases()
	for range m.limits.StrikesATick {
		n := m.deadlines.Head()
		if n == nil || n.Key > int64(m.now) {
			break
		}
		m.cancelAny(n.Item, CodeDeadlineExceeded)
		m.tickChange = true
	}
	m.tickOperations()
	m.tickNamespaces()
	m.sweep()
	tickAccess(m)
	m.tickChange = m.audit.Expire(int64(m.now), m.limits.Sweep) || m.tickChange
	m.tickChange = m.blobs.Holds.Expire(int64(m.leaseNow)) || m.tickChange
	changed := m.answers.Expire(int64(m.leaseNow)) || m.tickChange
	m.tickChange = false
	return Result{Changed: changed}
}
