package task

// This file is the last resort of SPEC L7. The holder of a lease ends its runs at run_timeout. If it does not, because
// it hangs or counts time wrongly, the leader ends the lease.

// defaultRunTimeout is the run_timeout of a policy that names none.
const defaultRunTimeout Millis = 3_600_000

// overrunAt returns when the leader ends the run of r, as a last resort.
func (m *Machine) overrunAt(r *row) LeaseTime {
	l := m.task(r).Lease
	ttl := l.TTL
	if s := m.sessions[l.Session]; s != nil {
		ttl = s.session.TTL
	}
	timeout := defaultRunTimeout
	if v := m.version(m.of(r), m.task(r).Version); v != nil && v.Policy.RunTimeout > 0 {
		timeout = v.Policy.RunTimeout
	}
	return later(later(later(l.Given, timeout), m.cancelGrace(r)), ttl)
}

// endLeases does the Tick's part: external leases that have ended are lost, and runs that last too long fail.
func (m *Machine) endLeases() {
	for range m.limits.StrikesATick {
		n := m.losses.Head()
		if n == nil || n.Key > int64(m.leaseNow) {
			break
		}
		m.endLease(n.Item, func(r *row) { m.release(r, outcomeLost, m.now) })
	}
	for range m.limits.StrikesATick {
		n := m.overruns.Head()
		if n == nil || n.Key > int64(m.leaseNow) {
			break
		}
		m.endLease(n.Item, m.timeOut)
	}
}

// endLease ends a lease for another reason than its worker's report. The worker must be told to halt.
func (m *Machine) endLease(r *row, end func(*row)) {
	lease := m.task(r).Lease
	end(r)
	m.emit(Event{Kind: LeaseEnded, Task: m.task(r), Lease: lease})
	m.tickChange = true
}

// timeOut ends a run as failed. If the run was being cancelled it ends as cancelled.
func (m *Machine) timeOut(r *row) {
	m.failRun(r, func(p *Policy) Error {
		return Error{Code: CodeTimeout, Message: "the leader ended a run that passed its run_timeout", Retryable: p.OnTimeout != OnErrorFail}
	})
}
