package raftstore

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
func (s *Store) watchLeader(ctx context.Context) {
	for s.ended(ctx) == nil {
		view := s.leader.get()
		if view.identity == "" || view.identity == s.identity {
			select {
			case <-view.changed:
			case <-ctx.Done():
			}
			continue
		}
		if !s.outlives(ctx, view) {
			continue
		}
		s.succeed(ctx, view)
		select {
		case <-view.gone:
		case <-time.After(s.cfg.HeartbeatTimeout): // raft's time-outs decide, unless that leader is back
		case <-ctx.Done():
		}
	}
}

// outlives waits until the leader's process has ended: one that this node was connected to, as it may look for it at an address of
// long ago. False: another leads, or this node ends.
func (s *Store) outlives(ctx context.Context, view leaderView) bool {
	var retry backoff
	s.met.Store(nil)
	for {
		p, _ := s.book.lookup(view.identity)
		lost, err := s.clients.Lost(ctx, p.Addr, view.identity, view.gone)
		if s.met.Load() != nil && errors.Is(err, syscall.ECONNREFUSED) {
			return true
		}
		if err == nil {
			s.met.Store(&view.identity)
			select {
			case <-lost:
			case <-view.gone:
			case <-ctx.Done():
			}
		}
		retry.wait(ctx, s.done, view.gone)
		select {
		case <-view.gone:
			return false
		default:
		}
		if s.ended(ctx) != nil {
			return false
		}
	}
}

// succeed asks for an election if a majority has lost the leader and nobody of it has a longer log than this node.
func (s *Store) succeed(ctx context.Context, view leaderView) {
	q := refusedRequest{Leader: view.identity, Term: s.raft.CurrentTerm()}
	for asked := 1; ; asked++ {
		voters, refused, first := s.witnesses(ctx, q)
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
		case <-view.gone:
			return
		case <-ctx.Done():
			return
		}
	}
	if !s.follows(q) || s.raft.State() != raft.Follower || s.ended(ctx) != nil {
		return
	}
	s.log.Info("the leader's process has ended: asking for an election", "leader", view.identity, "term", q.Term)
	s.raft.Campaign()
}

// follows reports whether this node takes that leader of that term for its own.
func (s *Store) follows(q refusedRequest) bool {
	leader, _ := s.raft.LeaderWithID()
	return string(leader) == q.Leader && s.raft.CurrentTerm() == q.Term
}

// witnesses asks the other voters, and counts this node, too. first: it is a voter, and no log of those that find the same is before its.
func (s *Store) witnesses(ctx context.Context, q refusedRequest) (voters, refused int, first bool) {
	ctx, cancel := context.WithTimeout(ctx, witnessTime)
	defer cancel()
	own := s.logEnd()
	voters, asked, first, answers := askVoters[refusedReply](ctx, s, rpc.KindRefused, q)
	refused = 1
	for range asked {
		if a := <-answers; a.err == nil && a.answer.Refused {
			refused++
			first = first && !own.before(a.answer.Log, s.identity, a.identity)
		}
	}
	return voters, refused, first
}

// answerRefused is the other side of witnesses.
func (s *Store) answerRefused(ctx context.Context, q refusedRequest) refusedReply {
	p, ok := s.book.lookup(q.Leader)
	if met := s.met.Load(); !ok || !s.follows(q) || met == nil || *met != q.Leader || s.ended(ctx) != nil {
		return refusedReply{}
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	c, err := s.cfg.Net.Dial(ctx, p.Addr, mux.Propose)
	if err == nil {
		c.Close()
	}
	return refusedReply{Refused: errors.Is(err, syscall.ECONNREFUSED), Log: s.logEnd()}
}

// logEnd is where this node's log ends, or its snapshot if that is later.
func (s *Store) logEnd() (end logEnd) {
	end.Term, end.Index = s.raft.LogEnd()
	return end
}
