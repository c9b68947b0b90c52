package members

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/raftstore/rpc"
)

// A follower takes one to two HeartbeatTimeouts to believe that its leader is gone, and votes for nobody before. But a process that
// ends closes its connections, and its address refuses new ones. When a majority of the voters find that of their leader, the one of
// them with the longest log asks its raft for an election as if the leader had handed over to it (section 3.10 of the raft thesis):
// voters then vote although they know a leader. An election is safe at any time; the majority is there so that who alone cannot reach
// the leader does not depose it. A host that vanishes refuses nothing: then raft's time-outs decide, as they do when any of this fails.

const (
	probeTime    = 300 * time.Millisecond // until a probe of the leader counts as no refusal
	witnessTime  = 400 * time.Millisecond // until a voter that says nothing is left out
	askWitnesses = 3                      // times, as some notice later than others
	askPause     = 50 * time.Millisecond
)

// refusedRequest asks a voter whether the process of the leader of a term has ended.
type refusedRequest struct {
	Leader string `cbor:"1,keyasint"` // identity
	Term   uint64 `cbor:"2,keyasint"`
}

// refusedReply says so, and how long the log of who answers is.
type refusedReply struct {
	Refused bool   `cbor:"1,keyasint"`
	Log     logEnd `cbor:"2,keyasint"`
}

// logEnd is the last entry of a log.
type logEnd struct {
	Term  uint64 `cbor:"1,keyasint"`
	Index uint64 `cbor:"2,keyasint"`
}

// before orders logs as votes do, and equal ones by who has them.
func (e logEnd) before(o logEnd, identity, other string) bool {
	switch {
	case e.Term != o.Term:
		return e.Term < o.Term
	case e.Index != o.Index:
		return e.Index < o.Index
	}
	return identity > other
}

// watchLeader looks after whoever else leads, until this node ends.
func (m *Members) watchLeader(ctx context.Context) {
	for !m.ended(ctx) {
		view := m.Leader()
		if view.Identity == "" || view.Identity == m.identity {
			select {
			case <-view.Changed:
			case <-ctx.Done():
			}
			continue
		}
		if !m.outlives(ctx, view) {
			continue
		}
		m.succeed(ctx, view)
		select {
		case <-view.Gone:
		case <-time.After(m.c.HeartbeatTimeout): // raft's time-outs decide, unless that leader is back
		case <-ctx.Done():
		}
	}
}

// outlives waits until the leader's process has ended: one that this node was connected to, as it may look for it at an address of
// long ago. False: another leads, or this node ends.
func (m *Members) outlives(ctx context.Context, view Leader) bool {
	var retry rpc.Backoff
	m.met.Store(nil)
	for {
		p, _ := m.book.Lookup(view.Identity)
		lost, err := m.clients.Lost(ctx, p.Addr, view.Identity, view.Gone)
		if m.met.Load() != nil && errors.Is(err, syscall.ECONNREFUSED) {
			return true
		}
		if err == nil {
			m.met.Store(&view.Identity)
			select {
			case <-lost:
			case <-view.Gone:
			case <-ctx.Done():
			}
		}
		retry.Wait(ctx, m.c.Ended, view.Gone)
		select {
		case <-view.Gone:
			return false
		default:
		}
		if m.ended(ctx) {
			return false
		}
	}
}

// succeed asks for an election if a majority has lost the leader and nobody of it has a longer log than this node.
func (m *Members) succeed(ctx context.Context, view Leader) {
	q := refusedRequest{Leader: view.Identity, Term: m.raft.CurrentTerm()}
	for asked := 1; ; asked++ {
		voters, refused, first := m.witnesses(ctx, q)
		if !first {
			return
		}
		if 2*refused > voters {
			break
		}
		if asked == askWitnesses {
			return
		}
		select {
		case <-time.After(askPause):
		case <-view.Gone:
			return
		case <-ctx.Done():
			return
		}
	}
	if !m.follows(q) || m.raft.State() != raft.Follower || m.ended(ctx) {
		return
	}
	m.c.Logger.Info("the leader's process has ended: asking for an election", "leader", view.Identity, "term", q.Term)
	m.raft.Campaign()
}

// follows reports whether this node takes that leader of that term for its own.
func (m *Members) follows(q refusedRequest) bool {
	leader, _ := m.raft.LeaderWithID()
	return string(leader) == q.Leader && m.raft.CurrentTerm() == q.Term
}

// witnesses asks the other voters, and counts this node, too. first: it is a voter, and no log of those that find the same is before its.
func (m *Members) witnesses(ctx context.Context, q refusedRequest) (voters, refused int, first bool) {
	ctx, cancel := context.WithTimeout(ctx, witnessTime)
	defer cancel()
	own := m.logEnd()
	voters, asked, first, answers := AskVoters[refusedReply](ctx, m, rpc.KindRefused, q)
	refused = 1
	for range asked {
		if a := <-answers; a.Err == nil && a.Answer.Refused {
			refused++
			first = first && !own.before(a.Answer.Log, m.identity, a.Identity)
		}
	}
	return voters, refused, first
}

// answerRefused is the other side of witnesses.
func (m *Members) answerRefused(ctx context.Context, q refusedRequest) refusedReply {
	p, ok := m.book.Lookup(q.Leader)
	if met := m.met.Load(); !ok || !m.follows(q) || met == nil || *met != q.Leader || m.ended(ctx) {
		return refusedReply{}
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	c, err := m.c.Dial.Dial(ctx, p.Addr, mux.Propose)
	if err == nil {
		c.Close()
	}
	return refusedReply{Refused: errors.Is(err, syscall.ECONNREFUSED), Log: m.logEnd()}
}

// logEnd is where this node's log ends, or its snapshot if that is later.
func (m *Members) logEnd() (end logEnd) {
	end.Term, end.Index = m.raft.LogEnd()
	return end
}
