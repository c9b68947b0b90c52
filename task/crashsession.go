package task

import "slices"

// CrashSession ends a session whose process was seen to die (SPEC L5). The process's parent has reaped it, so nothing of it executes any more. Nobody
// knows which of the executing attempts ended it, so none of them counts as lost. They are suspects: each runs next alone in a process of its own. An
// attempt that was alone in the process has ended it, and fails as CRASHED. Attempts that did not execute yet are given back.
type CrashSession struct {
	Worker string `cbor:"1,keyasint"`
	Proof  []byte `cbor:"2,keyasint"` // the session's proof; see OpenSession
	// Before is a Hello number. A session that was opened with this number or a later one belongs to another process,
	// and stays. So a copy of this command that was held up does not end a successor's session.
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

// crashed ends a run that was alone in its process when the process died.
func (m *Machine) crashed(r *row) {
	m.failRun(r, func(p *Policy) Error {
		return Error{Code: CodeCrashed, Message: "the process that ran it, and nothing else, died", Retryable: p.OnTrap != OnErrorFail}
	})
}

// fits reports whether t may go to s. A suspect goes only to a session that runs nothing beside it, and nothing else
// goes to such a session. If no process could run a suspect alone, it runs as other tasks do.
func (m *Machine) fits(t *Task, s *Session) bool {
	return t.Bound != 0 || m.takes(t.Suspect, s) // a bound task can run nowhere else
}

// takes is fits for tasks that are not bound. suspects says whether it is asked for suspects or for all others.
func (m *Machine) takes(suspects bool, s *Session) bool {
	if suspects {
		return s.Alone || m.isolating == 0
	}
	return !s.Alone
}

// SuspectModules returns the modules of the suspects that wait and may start, sorted, each once (SPEC L5). The leader
// asks a session that Isolates for a process for them. Without suspects it costs O(1).
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
