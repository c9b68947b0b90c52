package raftstore

import (
	"cmp"
	"context"
	"fmt"
	"sync"

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
			index, err := s.reads.join(ctx, s.done)
			if err == nil {
				return index, nil
			}
		}
		retry.Wait(ctx, s.done, leader.Changed)
	}
}

// readRound asks once: this node itself if it leads, or else the leader.
func (s *Store) readRound(ctx context.Context) (uint64, error) {
	leader := s.members.Leader()
	switch leader.Identity {
	case "":
		return 0, ErrNoLeader
	case s.identity:
		return s.verifiedIndex(ctx)
	}
	b, err := s.callLeader(ctx, leader, rpc.KindReadIndex, nil)
	if err != nil {
		return 0, err
	}
	var r indexReply
	if err := cbor.Unmarshal(b, &r); err != nil {
		return 0, fmt.Errorf("raftstore: answer of the leader: %w", err)
	}
	return r.Index, nil
}

// readLocal answers another node's question: if this node leads, the question joins a round of this node's reads.
func (s *Store) readLocal(ctx context.Context) (uint64, error) {
	if s.leadingTerm() == 0 {
		return 0, ErrNotLeader
	}
	return s.reads.join(ctx, s.done)
}

// verifiedIndex is ReadIndex on the leader (docs/architecture.md#readindex). An entry of this term is applied
// (leadingTerm). The commit index is taken, and only then a majority of the voters is asked for its term. If none of
// them has seen a later term than this leader's, no later leader can have been elected before the question, and so none
// has committed anything.
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

// readRounds lets many readers share one round.
type readRounds struct {
	mu      sync.Mutex
	waiting []chan readAnswer
	asked   chan struct{} // capacity 1: somebody waits
}

type readAnswer struct {
	index uint64
	err   error
}

func newReadRounds() *readRounds { return &readRounds{asked: make(chan struct{}, 1)} }

// join waits for the outcome of a round that begins after the call.
func (r *readRounds) join(ctx context.Context, done <-chan struct{}) (uint64, error) {
	answer := make(chan readAnswer, 1)
	r.mu.Lock()
	r.waiting = append(r.waiting, answer)
	r.mu.Unlock()
	wake(r.asked)
	select {
	case a := <-answer:
		return a.index, a.err
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-done:
		return 0, ErrClosed
	}
}

// runReads runs one round after the other while somebody waits.
func (s *Store) runReads(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.reads.asked:
		}
		s.reads.mu.Lock()
		waiting := s.reads.waiting
		s.reads.waiting = nil
		s.reads.mu.Unlock()
		if len(waiting) == 0 {
			continue
		}
		var a readAnswer
		a.index, a.err = s.readRound(ctx)
		for _, w := range waiting {
			w <- a
		}
	}
}
