package lone

import (
	"context"
	"fmt"

	"github.com/taskrt/taskrt/worker"
)

// health is how a worker is.
type health struct {
	status func() worker.Status        // may hang, if the worker does
	probe  func(context.Context) error // reads and writes the disk of the cluster's files
}

// noSession is the state of a worker that serves nobody yet.
const noSession = "has no session: looks for the cluster's leader"

// alive returns nil as long as the worker can do its work: its state answers, and so does its disk. It does not ask whether there is a session, or
// whether the disk is full: starting the process again helps against neither (SPEC C10). If the state hangs, alive does not return.
func (h *health) alive(ctx context.Context) error {
	h.status()
	if err := h.probe(ctx); err != nil && ctx.Err() != nil { // other errors are answers
		return fmt.Errorf("worker: the disk of its files does not answer: %w", err)
	}
	return nil
}

// state says for whom the worker works.
func (h *health) state(context.Context) string {
	switch st := h.status(); {
	case st.Session == 0:
		return noSession
	case !st.Connected:
		return fmt.Sprintf("session %d: has lost %s, looks for the cluster's leader", st.Session, st.Leader)
	default:
		return fmt.Sprintf("session %d: works for %s", st.Session, st.Leader)
	}
}
