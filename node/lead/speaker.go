package lead

import (
	"fmt"
	"slices"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// speaker is who speaks on a stream: one session of one worker. It speaks for its own attempts only (SPEC A2).
//
// Tokens are numbers in a row, so a token proves nothing. The state knows whose each lease is. A token is given once, and an assignment reaches its
// worker after this leader has applied it. So the state's answer about a token stays right while the report is on its way to the log. The only
// exception is a token that nobody has been given yet.
type speaker struct {
	session uint64
	worker  string
}

// mayReport returns why a session may not make some of its reports, or nil. A report for a lease that has ended is no
// breach: the state machine answers it (SPEC L3).
func (s speaker) mayReport(store Store, reports []stream.Report) (breach error) {
	store.Local(func(m *task.Machine) {
		for i := range reports {
			key, token := reports[i].Subject()
			if breach = s.breach(m, m.Task(key), token); breach != nil {
				return
			}
		}
	})
	return breach
}

// mayLog returns the logs that a session may write, or why it may not write some of them. It may write for the leases that it holds, and for attempts
// of the same worker that have ended. Logs of attempts that no record names are dropped, because the state does not know any longer whose attempts
// these were.
func (s speaker) mayLog(store Store, ls []stream.Log) (own []stream.Log, breach error) {
	own = make([]stream.Log, 0, len(ls))
	store.Local(func(m *task.Machine) {
		for i := range ls {
			t := m.Task(ls[i].Key)
			if breach = s.breach(m, t, ls[i].Token); breach != nil {
				return
			}
			if t == nil {
				continue
			}
			past := slices.IndexFunc(t.History, func(a task.Attempt) bool { return a.Token == ls[i].Token })
			switch {
			case t.Lease != nil && t.Lease.Token == ls[i].Token:
				own = append(own, ls[i])
			case past < 0:
			case t.History[past].Worker != s.worker:
				breach = fmt.Errorf("it logs for token %d, an attempt of worker %q", ls[i].Token, t.History[past].Worker)
				return
			default:
				own = append(own, ls[i])
			}
		}
	})
	return own, breach
}

// breach says that a token is a lease of another session, or that nobody has been given it yet.
func (s speaker) breach(m *task.Machine, t *task.Task, token uint64) error {
	switch {
	case token > task.LastToken(m):
		return fmt.Errorf("it speaks for token %d, which no lease has had", token)
	case t != nil && t.Lease != nil && t.Lease.Token == token && t.Lease.Session != s.session:
		return fmt.Errorf("it speaks for token %d, a lease of worker %q", token, t.Lease.Worker)
	}
	return nil
}
