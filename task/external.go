package task

import (
	"github.com/taskrt/taskrt/task/queue"
	"github.com/taskrt/taskrt/task/table"
)

// External leases (SPEC section 8) have no session. Their workers renew each lease by itself over HTTP. Like everything
// that expires they end by a Tick, on the lease clock (SPEC J6, L4).

const (
	minLease     Millis = 1_000 // SPEC L2
	maxLease     Millis = 3_600_000
	defaultLease Millis = 30_000
)

// validLease reports whether a worker may ask for a lease of length d.
func validLease(d Millis) bool { return d >= minLease && d <= maxLease }

// acceptName names what a repeated accept asks for (SPEC J2).
type acceptName struct{ namespace, behavior, worker, request string }

func acceptOf(t *Task) acceptName {
	return acceptName{t.Namespace, t.Behavior, t.Lease.Worker, t.Lease.Request}
}

func (m *Machine) leaseToken(r *row) uint64 { return m.task(r).Lease.Token }

// enterLease enters a running task into what ends its lease, and into what is derived for its worker.
func (m *Machine) enterLease(r *row) {
	t := m.task(r)
	l := t.Lease
	m.of(r).running++
	r.Kind = queue.Runs
	m.overruns.Push(int64(m.overrunAt(r)), l.Token, &r.Pos, r)
	m.enterDoomed(r)
	if !l.External() {
		m.of(r).space.use.Take(1, int64(m.leaseNow))
		m.sessions[l.Session].take(r, l.Seq)
		return
	}
	m.losses.Push(int64(m.leaseEnd(l)), l.Token, &m.store.Rows.Extra(r).Side, r)
	m.acceptors[l.Worker]++
	if l.Request != "" {
		m.accepts[acceptOf(t)] = table.Put(m.accepts[acceptOf(t)], r, m.leaseToken)
	}
}

func (m *Machine) leaveLease(r *row) {
	t := m.task(r)
	l := t.Lease
	m.of(r).running--
	m.overruns.Remove(&r.Pos)
	m.leaveDoomed(r)
	if !l.External() {
		m.of(r).space.use.Take(-1, int64(m.leaseNow))
		m.sessions[l.Session].release(l.Seq)
		return
	}
	m.losses.Remove(&m.store.Rows.Extra(r).Side)
	if m.acceptors[l.Worker]--; m.acceptors[l.Worker] == 0 {
		delete(m.acceptors, l.Worker)
	}
	if l.Request != "" {
		name := acceptOf(t)
		if m.accepts[name] = table.Drop(m.accepts[name], l.Token, m.leaseToken); len(m.accepts[name]) == 0 {
			delete(m.accepts, name)
		}
	}
}

// leaseEnd returns when an external lease ends if nothing renews it. The first entry of a term gives it a full TTL
// (SPEC C3) without writing a record. Nothing prolongs the grace of a cancelled run (SPEC L8).
func (m *Machine) leaseEnd(l *Lease) LeaseTime {
	end := max(l.Expires, later(m.floor, l.TTL))
	if l.GraceEnd != 0 {
		end = min(end, l.GraceEnd)
	}
	return end
}

// extendLeases does for external leases what extendSessions does: the term's floor has moved, and all their ends move with it.
func (m *Machine) extendLeases() {
	m.losses.Rekey(func(r *row) int64 { return int64(m.leaseEnd(m.task(r).Lease)) })
}

// reported returns the row of a task whose current lease is token's. external says whether the report came over HTTP. For any other token it returns
// nil and the answer (SPEC L3). A worker with a session reports through it, an external worker reports over HTTP. Neither can end the other's runs.
func (m *Machine) reported(k Key, token uint64, external bool) (*row, Result) {
	r := m.leased(k, token)
	switch {
	case r == nil || !external && m.task(r).Lease.External():
		return nil, halt()
	case external && !m.task(r).Lease.External():
		return nil, refuse(NotExternal, "the lease belongs to a session")
	}
	return r, Result{}
}

// LeaseEnd returns the instant of the lease clock at which an external lease ends if nothing renews it. It ends at or
// after this instant, by a Tick only (SPEC L4). LeaseEnd returns 0 for a task without such a lease.
func (m *Machine) LeaseEnd(t *Task) LeaseTime {
	if t.Lease == nil || !t.Lease.External() {
		return 0
	}
	return m.leaseEnd(t.Lease)
}

// LeasesOf returns the running tasks that an accept request got, in the order of their assignment. A repeated
// request_id is answered with them (SPEC J2). For the empty request there are none.
func (m *Machine) LeasesOf(namespace, behavior, worker, request string) []*Task {
	return table.Each(m.accepts[acceptName{namespace, behavior, worker, request}], m.task)
}
