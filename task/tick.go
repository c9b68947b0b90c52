package task

// Tick lets time pass: sessions expire, deadlines strike, retention sweeps, due tasks become eligible. The leader
// proposes it at NextTick. The clocks only advance with commands, and nothing expires but in a Tick (SPEC L4).
//
//fields:wire value
type Tick struct{}

// apply lets sessions and leases end first: a run that was lost and whose deadline is over ends by its deadline in the same
// Tick. Deadlines and removals are bounded per Tick (Limit); what is left over is due at the next one, which NextTick
// then asks for at once.
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
	changed := m.answers.Expire(int64(m.leaseNow)) || m.tickChange
	m.tickChange = false
	return Result{Changed: changed}
}
