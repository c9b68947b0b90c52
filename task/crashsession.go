package task

import "slices"

// CrashSession ends a session whose process was seen to die (SPEC L5): its parent has reaped it, so that nothing of it executes
// any more. Nobody knows which of the attempts that executed then was its end, so none of them counts as lost: they are
// suspects, which run next alone, each in a process of its own. One that was alone did it, and has failed: CRASHED. What did
// not execute yet is given back.
type CrashSession struct {
	Worker string `cbor:"1,keyasint"`
	Proof  []byte `cbor:"2,keyasint"` // of the session; see OpenSession
	// Before is a Hello number: a session that was opened with it or a later one is another process's, and stays. So a copy of
	// this command that was held up ends no successor's session.
	Before uint64   `cbor:"3,keyasint"`
	Tokens []uint64 `cbor:"4,keyasint,omitempty"` // of the attempts that executed
}

func (c CrashSession) apply(m *Machine) Result {
	if c.Before == 0 {
		return invalid("before", "a crash names the Hello before which its session was opened")
	}
	s := m.workers[c.Worker]
	switch {
	case s == nil || s.session.Hello >= c.Before:
		return refuse(SessionNotFound, "the session has ended")
	case !slices.Equal(s.session.Proof, c.Proof):
		return refuse(WorkerInUse, "the session is not of the process that died")
	}
	m.endSession(s, func(r *row) {
		switch executed := slices.Contains(c.Tokens, m.task(r).Lease.Token); {
		case !executed:
			m.release(r, outcomeGivenBack, m.now)
		case s.session.Alone:
			m.crashed(r)
		default:
			m.release(r, outcomeSuspect, m.now)
		}
	})
	return Result{}
}

// crashed ends a run that was alone in its process when that died.
func (m *Machine) crashed(r *row) {
	m.failRun(r, func(p *Policy) Error {
		return Error{Code: CodeCrashed, Message: "the process that ran it, and nothing else, died", Retryable: p.OnTrap != OnErrorFail}
	})
}

// fits refuses to give a suspect to a session that runs others beside it, and anything else to one that is for suspects. Where
// no process could run one alone, it runs as all others do.
func (m *Machine) fits(t *Task, s *Session) bool {
	return t.Bound != 0 || m.takes(t.Suspect, s) // nobody else may run what is bound
}

// takes is fits for suspects, or for all others, that are not bound.
func (m *Machine) takes(suspects bool, s *Session) bool {
	if suspects {
		return s.Alone || m.isolating == 0
	}
	return !s.Alone
}

// SuspectModules returns the modules of the suspects that wait and may start, sorted, each once (SPEC L5). The leader asks a
// session that Isolates for a process of their own. None: in O(1).
func (m *Machine) SuspectModules() []string {
	if !m.board.Suspects() {
		return nil
	}
	var modules []string
	for _, l := range m.board.Lanes {
		b := m.behaviorOf(l)
		if !l.Suspects || !b.mayStart() {
			continue
		}
		if v := m.version(b, l.Version); v != nil && v.Module != "" {
			modules = append(modules, v.Module)
		}
	}
	slices.Sort(modules)
	return slices.Compact(modules)
}
