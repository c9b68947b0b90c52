package raftstore

import (
	"cmp"
	"context"
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"github.com/taskrt/taskrt/raftstore/members"
	"github.com/taskrt/taskrt/raftstore/rpc"
	"github.com/taskrt/taskrt/task"
)

// Read runs fn on this node's machine, which then holds at least everything that any Propose or Read of the cluster had
// seen when Read was called (ReadIndex, SPEC W4). fn must be short and must not block: Apply waits for it. It must not
// keep the machine; values that the machine returns are immutable and may be kept. Without a leader Read waits for one
// until ctx ends; then it returns ErrNoLeader, which wraps the error of ctx.
func (s *Store) Read(ctx context.Context, fn func(*task.Machine)) error {
	if err := s.catchUp(ctx); err != nil {
		return err
	}
	s.fsm.read(fn)
	return nil
}

// catchUp returns once this node's machine holds at least everything that had been acknowledged before the call.
func (s *Store) catchUp(ctx context.Context) error {
	index, err := s.readIndex(ctx)
	if err != nil {
		return err
	}
	return s.WaitIndex(ctx, index)
}

// Freeze returns the state of this node's machine, which then holds at least everything that any Propose or Read of the
// cluster had seen when Freeze was called. It stays as it is while the machine goes on. What has changed since is in
// memory twice until the frozen state is let go. Apply waits while the tables of the state are copied.
func (s *Store) Freeze(ctx context.Context) (*task.Frozen, error) {
	if err := s.catchUp(ctx); err != nil {
		return nil, err
	}
	return s.fsm.freeze()
}

// Local runs fn on this node's machine as it is: it may be stale.
func (s *Store) Local(fn func(*task.Machine)) { s.fsm.read(fn) }

// WaitIndex returns once the log is applied here up to index. If ctx ends first it returns ErrBehind, which wraps the
// error of ctx.
func (s *Store) WaitIndex(ctx context.Context, index uint64) error {
	if err := s.failure(); err != nil {
		return err
	}
	switch err := s.fsm.wait(ctx, index, s.done, s.failed); {
	case err == nil:
		return s.failure()
	case ctx.Err() == nil:
		return cmp.Or(s.failure(), ErrClosed)
	default:
		return fmt.Errorf("%w: wait for index %d: %w", ErrBehind, index, err)
	}
}

// readIndex returns an index that covers everything acknowledged before the call. All callers that come while a round
// is under way share the next round.
func (s *Store) readIndex(ctx context.Context) (uint64, error) {
	var retry rpc.Backoff
	for {
		leader := s.members.Leader()
		if err := s.ended(ctx); err != nil {
			if ctx.Err() != nil {
				return 0, fmt.Errorf("%w: %w", ErrNoLeader, err)
			}
			return 0, err
		}
		if leader.Identity != "" {
			index, err := s.reads.Join(ctx, s.done)
			if err == nil {
				return index, nil
			}
		}
		retry.Wait(ctx, s.done, leader.Changed)
	}
}

// readRound asks once: this node itself if it leads, or else the leader. The question tells the leader this node's term, taken after the readers
// came. So the leader need not ask this node for it (SPEC W4).
func (s *Store) readRound(ctx context.Context) (uint64, error) {
	leader := s.members.Leader()
	switch leader.Identity {
	case "":
		return 0, ErrNoLeader
	case s.identity:
		return s.verifiedIndex(ctx)
	}
	term, err := s.ownTerm()
	if err != nil {
		return 0, err
	}
	question, err := cbor.Marshal(term)
	if err != nil {
		return 0, err
	}
	b, err := s.callLeader(ctx, leader, rpc.KindReadIndex, question)
	if err != nil {
		return 0, err
	}
	var r indexReply
	if err := cbor.Unmarshal(b, &r); err != nil {
		return 0, fmt.Errorf("raftstore: answer of the leader: %w", err)
	}
	return r.Index, nil
}

// ownTerm is what this node answers when it is asked for its term: the highest that it has seen. A start that no majority has confirmed answers
// nothing, because its directory may be an older state of the node (SPEC C7).
func (s *Store) ownTerm() (termReply, error) {
	if err := s.failure(); err != nil {
		return termReply{}, err
	}
	if !s.raft.Admitted() {
		return termReply{}, ErrNoLeader
	}
	return termReply{s.raft.CurrentTerm()}, nil
}

// readLocal answers another node's question, if this node leads. If the two nodes are a majority, everything is known that a round would ask for.
// Otherwise the question joins a round of this node's reads.
func (s *Store) readLocal(ctx context.Context, from string, question []byte) (uint64, error) {
	term := s.leadingTerm()
	if term == 0 {
		return 0, ErrNotLeader
	}
	var seen termReply // stays 0 if a former build asks
	if len(question) > 0 && cbor.Unmarshal(question, &seen) != nil {
		return 0, ErrNotLeader
	}
	if seen.Term > 0 && seen.Term <= term && members.Majority(s.members, s.identity, from) {
		if index := s.raft.CommitIndex(); s.raft.CurrentTerm() == term {
			return index, nil
		}
	}
	return s.reads.Join(ctx, s.done)
}

// verifiedIndex is ReadIndex on the leader (docs/architecture.md#readindex). An entry of this term is applied (leadingTerm). The commit index is
// taken, and then a majority of the voters is asked for its term. If no voter of it has seen a later term than this leader's, no later leader was
// elected before the question, so none has committed anything. Index and terms must both be taken after the reader's call. Their order does not
// matter (readLocal).
//
// raft.VerifyLeader would not do: it counts the answer to a heartbeat that was sent before the question. A leader that
// was stopped (SIGSTOP, a suspended VM) while such an answer waited in its socket confirms itself with the answer, and
// reads a state that its successors have long overtaken.
func (s *Store) verifiedIndex(ctx context.Context) (uint64, error) {
	term := s.leadingTerm()
	if term == 0 || s.raft.CurrentTerm() != term {
		return 0, ErrNotLeader
	}
	index := s.raft.CommitIndex()
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ElectionTimeout)
	defer cancel()
	voters, asked, member, answers := members.AskVoters[termReply](ctx, s.members, rpc.KindTerm, struct{}{})
	agree := 0
	if member {
		agree++
	}
	for ; 2*agree <= voters && asked > 0; asked-- {
		switch a := <-answers; {
		case a.Err != nil:
		case a.Answer.Term > term:
			return 0, ErrNotLeader
		case a.Answer.Term > 0:
			agree++
		}
	}
	if 2*agree <= voters || s.raft.CurrentTerm() != term {
		return 0, ErrNotLeader
	}
	return index, nil
}
