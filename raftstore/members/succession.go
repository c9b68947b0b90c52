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

// A follower takes one to two HeartbeatTimeouts to believe that its leader is gone, and votes for nobody before. But a process that ends closes its
// connections, and its address refuses new ones. When a majority of the voters find that their leader refuses them, the voter among them with the
// longest log asks its raft for an election, as if the leader had handed over to it (section 3.10 of the raft thesis). Voters then vote although they
// know a leader. An election is safe at any time. A majority is needed so that a single node that cannot reach the leader does not depose it. A host
// that vanishes refuses nothing. Then raft's time-outs decide, as they do when any of this fails.

const (
	probeTime    = 300 * time.Millisecond // a probe of the leader that takes longer counts as no refusal
	witnessTime  = 400 * time.Millisecond // a voter that says nothing for longer is left out
	askWitnesses = 3                      // times, because some voters notice later than others
	askPause     = 50 * time.Millisecond
)

// refusedRequest asks a voter whether the process of the leader of a term has ended.
type refusedRequest struct {
	Leader string `cbor:"1,keyasint"` // identity
	Term   uint64 `cbor:"2,keyasint"`
}

// refusedReply is the voter's answer, and how long its log is.
type refusedReply struct {
	Refused bool   `cbor:"1,keyasint"`
	Log     logEnd `cbor:"2,keyasint"`
}

// logEnd is the last entry of a log.
type logEnd struct {
	Term  uint64 `cbor:"1,keyasint"`
	Index uint64 `cbor:"2,keyasint"`
}

// before reports whether e, the log of identity, loses a vote to o, the log of other. Of equal logs the smaller
// identity wins.
func (e logEnd) before(o logEnd, identity, other string) bool {
	switch {
	case e.Term != o.Term:
		return e.Term < o.Term
	case e.Index != o.Index:
		return e.Index < o.Index
	}
	return identity > other
}

// watchLeader watches whichever other node leads, until this node ends.
func (m *Members) watchLeader(ctx context.Context) {
	for !m.ended(ctx) {
		view := m.Leader()
		if view.Identity == "" || view.Identity == m.identity {
			var leaderless <-chan time.Time
			if view.Identity == "" {
				leaderless = time.After(doubtAfter)
			}
			select {
			case <-view.Changed:
			case <-ctx.Done():
			case <-leaderless:
				m.doubt()
			}
			continue
		}
		if !m.outlives(ctx, view) {
			continue
		}
		m.succeed(ctx, view)
		select {
		case <-view.Gone:
		case <-time.After(m.c.HeartbeatTimeout): // raft's time-outs decide, unless this leader is back
		case <-ctx.Done():
		}
	}
}

// outlives waits until the leader's process has ended. It must have been connected to the leader: otherwise it might
// look for the leader at an address of long ago. It returns false if another node leads, or this node ends.
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

// succeed asks for an election, if a majority has lost the leader and none of that majority has a longer log than this
// node.
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

// follows reports whether this node takes the leader and the term of q for its own.
func (m *Members) follows(q refusedRequest) bool {
	leader, _ := m.raft.LeaderWithID()
	return string(leader) == q.Leader && m.raft.CurrentTerm() == q.Term
}

// witnesses asks the other voters, and counts this node, too. first says that this node is a voter, and that no other voter that has lost the leader
// would win a vote against it.
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

// answerRefused answers the question that witnesses asks.
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

// logEnd returns the end of this node's log, or of its snapshot if that is later.
func (m *Members) logEnd() (end logEnd) {
	end.Term, end.Index = m.raft.LogEnd()
	return end
}
