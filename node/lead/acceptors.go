package lead

import (
	"context"
	"net"

	"github.com/taskrt/taskrt/node/accept"
	"github.com/taskrt/taskrt/task"
)

// acceptors is the way by which links of accepts reach the loop (SPEC J2). The table says which accepts wait. Only the loop touches the table.
type acceptors struct {
	loop  *loop
	table *accept.Table
}

var _ accept.Leader = (*acceptors)(nil)

// with runs f in the loop's goroutine, with the machine and both clocks at one moment. It returns false if the term has
// ended.
func (a *acceptors) with(f func(*task.Machine, accept.Clock)) bool {
	return a.loop.do(func() { a.now(f) })
}

func (a *acceptors) now(f func(*task.Machine, accept.Clock)) {
	clock := accept.Clock{Mono: a.loop.term.hub.cfg.Clock.Mono()}
	_, clock.Lease, _ = a.loop.term.hub.cfg.Store.Stamps()
	a.loop.term.hub.cfg.Store.Local(func(m *task.Machine) { f(m, clock) })
}

// Ask implements accept.Leader.
func (a *acceptors) Ask(q accept.Ask, to accept.Replier) bool {
	return a.with(func(m *task.Machine, clock accept.Clock) {
		a.table.Ask(m, clock, q, to)
		a.loop.dirty = true
	})
}

// Settle implements accept.Leader.
func (a *acceptors) Settle(call uint64) bool {
	return a.loop.do(func() {
		a.table.Settle(call)
		a.loop.dirty = true
	})
}

// Abandon implements accept.Leader.
func (a *acceptors) Abandon(ab accept.Abandon, to accept.Replier) bool {
	return a.with(func(m *task.Machine, _ accept.Clock) {
		if back, ok := a.table.Abandon(m, ab, to); ok {
			a.giveBack(back)
		}
	})
}

// Drop implements accept.Leader.
func (a *acceptors) Drop(calls []uint64, to accept.Replier) {
	a.loop.do(func() { a.table.Drop(to, calls) })
}

// landed goes on after a proposal of assignments. Some of them may be for acceptors that wait here.
func (a *acceptors) landed(assigns []task.Assign, rs []task.Result, err error) {
	if err != nil && !retriable(err) {
		a.table.Lost()
		return
	}
	var backs []accept.Back
	a.now(func(m *task.Machine, clock accept.Clock) { backs = a.table.Landed(m, clock, assigns, rs) })
	for _, b := range backs {
		a.giveBack(b)
	}
}

// giveBack gives back leases whose acceptor is gone. A lease that is given back counts neither as an attempt nor as a failure (SPEC J2). If this
// leader cannot do it, the node that abandoned the call tells the next leader.
func (a *acceptors) giveBack(b accept.Back) {
	cmds := make([]task.Command, len(b.Tasks))
	for i, t := range b.Tasks {
		cmds[i] = task.GiveBack{Key: t.Key(), Token: t.Lease.Token, External: true}
	}
	t := a.loop.term
	t.wg.Go(func() {
		if _, err := t.decide(cmds...); err != nil {
			a.loop.do(a.table.Lost)
			return
		}
		a.with(func(m *task.Machine, clock accept.Clock) {
			a.table.Returned(m, clock, b)
			a.loop.dirty = true
		})
	})
}

// handleAccepts serves the link of a node to which accepts have come. A node that does not lead ends the link at once: the other node then looks for
// the leader again.
func (h *Hub) handleAccepts(nc net.Conn) {
	defer nc.Close()
	if t := h.current(); t != nil {
		t.serveAccepts(nc)
	}
}

func (t *term) serveAccepts(nc net.Conn) {
	defer context.AfterFunc(t.ctx, func() { _ = nc.Close() })()
	err := accept.Serve(nc, t.loop.acceptors)
	t.hub.cfg.Logger.Debug("link for accepts ended", "from", nc.RemoteAddr(), "err", err)
}
