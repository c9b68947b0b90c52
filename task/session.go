package task

import (
	"slices"

	"github.com/taskrt/taskrt/task/table"
)

// sessionRow is a session's record and the leases that it keeps alive.
type sessionRow struct {
	session *Session
	leases  []held // by seq
	expiry  table.Pos
	ending  bool // endSession is at work: nothing new may be bound to it

	cleanups heap[*row] // tasks that are not final and that only this session may run, by age (SPEC O3)
	due      heap[*row] // the due ones of cleanups, in T4 order
}

// held is a lease that a session keeps alive.
type held struct {
	seq uint64 // Lease.Seq
	row *row
}

func heldSeq(h held) uint64 { return h.seq }

// take adds a lease. A later assignment has a higher number, so this nearly always appends.
func (s *sessionRow) take(r *row, seq uint64) { s.leases = table.Put(s.leases, held{seq, r}, heldSeq) }

func (s *sessionRow) release(seq uint64) { s.leases = table.Drop(s.leases, seq, heldSeq) }

// sessionsByID returns the rows in a deterministic order.
func (m *Machine) sessionsByID() []*sessionRow {
	return table.Values(m.sessions, func(s *sessionRow) uint64 { return s.session.ID })
}

func (m *Machine) addSession(s *Session) *sessionRow {
	r := &sessionRow{session: s}
	m.sum += hashSession(s)
	m.enterSession(r)
	m.emit(Event{Kind: SessionOpened, Session: s})
	return r
}

// enterSession enters a session into everything that is derived.
func (m *Machine) enterSession(r *sessionRow) {
	m.sessions[r.session.ID] = r
	m.workers[r.session.Worker] = r
	m.expiries.Push(int64(r.session.Expires), r.session.ID, &r.expiry, r)
	m.counts.Sessions++
	if m.isolates(r.session) {
		m.isolating++
	}
}

// isolates reports whether the parent of s can give a suspect a process of its own (SPEC L5). Nothing new runs on a drained node.
func (m *Machine) isolates(s *Session) bool { return s.Isolates && !m.Drained(s.Node) }

func (m *Machine) putSession(r *sessionRow, s *Session) {
	m.sum -= hashSession(r.session)
	m.sum += hashSession(s)
	if s.Expires != r.session.Expires {
		m.expiries.Remove(&r.expiry)
		m.expiries.Push(int64(s.Expires), s.ID, &r.expiry, r)
	}
	r.session = s
}

// endSessionAs ends a session. Its attempts get the outcome outcomeLost or outcomeGivenBack.
func (m *Machine) endSessionAs(s *sessionRow, outcome string) {
	m.endSession(s, func(r *row) { m.release(r, outcome, m.now) })
}

// endSession ends a session and, with end, all its leases, in the order in which they were given.
func (m *Machine) endSession(s *sessionRow, end func(*row)) {
	s.ending = true
	for _, h := range slices.Clone(s.leases) {
		r := h.row
		lease := m.task(r).Lease
		end(r)
		m.emit(Event{Kind: LeaseEnded, Task: m.task(r), Lease: lease})
	}
	m.dropBound(s)
	m.sum -= hashSession(s.session)
	m.expiries.Remove(&s.expiry)
	delete(m.sessions, s.session.ID)
	delete(m.workers, s.session.Worker)
	m.counts.Sessions--
	if m.isolates(s.session) {
		m.isolating--
	}
	m.emit(Event{Kind: SessionEnded, Session: s.session})
}
