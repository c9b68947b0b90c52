package raftstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/raftstore/members"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// Leadership says whether this node leads, and in which term. Term changes with every gain. Two gains may come in a
// row, because news of the second has overtaken the loss between them: the terms tell them apart.
type Leadership struct {
	Leading bool
	Term    uint64
}

// termState is one term of this node's leadership.
type termState struct {
	term  uint64
	ready bool     // under Store.leadMu: the state holds everything that former leaders committed
	stamp *stamper // set before ready
}

// observeLeader follows raft's idea of who leads.
func (s *Store) observeLeader(ctx context.Context) {
	ch := make(chan raft.Observation, 16) // if it is full, the observations that wait in it are enough
	o := raft.NewObserver(ch, false, func(o *raft.Observation) bool {
		switch o.Data.(type) {
		case raft.LeaderObservation, raft.RaftState:
			return true
		}
		return false
	})
	s.raft.RegisterObserver(o)
	defer s.raft.DeregisterObserver(o)
	for {
		addr, _ := s.raft.LeaderWithID()
		s.members.SetLeader(string(addr), false)
		select {
		case <-ctx.Done():
			return
		case <-ch:
		}
	}
}

// watchLeadership runs a term's work from each gain of leadership to its loss. Raft blocks on notify and must never wait, so watchLeadership reads
// until raft is down.
func (s *Store) watchLeadership(ctx context.Context, notify <-chan bool) {
	stop := func() {}
	for closing := ctx.Done(); ; {
		select {
		case <-s.raftDown:
			stop()
			return
		case <-closing:
			closing = nil
			stop()
			stop = func() {}
		case leading := <-notify:
			stop() // also when two gains follow each other: leadership was lost and regained
			stop = func() {}
			if leading && closing != nil {
				stop = s.startTerm(ctx)
			}
		}
	}
}

// startTerm begins to lead. The function that it returns ends the term.
func (s *Store) startTerm(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	t := &termState{term: s.raft.CurrentTerm()}
	s.leadMu.Lock()
	if s.closing { // elected on the way down: Close may already wait for wg
		s.leadMu.Unlock()
		return cancel
	}
	s.term = t
	s.wg.Add(1)
	s.leadMu.Unlock()
	s.batch.open(t)
	go func() {
		defer s.wg.Done()
		if err := s.lead(ctx, t); err != nil && ctx.Err() == nil {
			// A leader that cannot lead is worse than none (nomad #8470).
			s.log.Warn("giving up leadership", "term", t.term, "err", err)
			s.batch.close(t)
			if err := s.raft.Ask(s.raft.LeadershipTransfer); err != nil {
				s.log.Warn("leadership transfer failed", "err", err)
			}
		}
	}()
	return func() {
		cancel()
		s.batch.close(t)
		s.leadMu.Lock()
		was := t.ready
		t.ready = false
		s.term = nil
		s.leadMu.Unlock()
		if was {
			s.announce(Leadership{Term: t.term})
		}
	}
}

// lead is the work of one term. It returns nil when leadership was lost.
func (s *Store) lead(ctx context.Context, t *termState) error {
	// Everything that former leaders committed must be applied before this leader stamps, plans or answers.
	if err := s.askInTerm(ctx, func() raft.Future { return s.raft.Barrier(0) }); err != nil {
		return lostIsNil(err)
	}
	var stamp *stamper
	s.fsm.read(func(m *task.Machine) { stamp = newStamper(s.cfg.Clock, m.Now(), m.LeaseNow()) })
	// The first entry of the term is empty. It gives every session and lease a full TTL from here (SPEC C3), and it
	// makes CommitIndex an index that every replica's machine reaches: the barrier and raft's no-op are invisible to a
	// machine.
	first, err := wire.EncodeEntry(stamp.header(), nil)
	if err != nil {
		return fmt.Errorf("raftstore: first entry: %w", err)
	}
	if err := s.askInTerm(ctx, func() raft.Future { return s.raft.Apply(first, 0) }); err != nil {
		return lostIsNil(err)
	}
	s.leadMu.Lock()
	if s.term != t {
		s.leadMu.Unlock()
		return nil
	}
	t.ready, t.stamp = true, stamp
	s.leadMu.Unlock()
	s.log.Info("leading", "term", t.term)
	s.members.SetLeader(s.identity, true)
	s.announce(Leadership{Leading: true, Term: t.term})
	s.wg.Go(func() { s.batch.run(ctx, stamp) })
	s.wg.Go(func() { s.compareDigests(ctx) })
	s.wg.Go(func() { s.changes.Manage(ctx) })
	s.wg.Go(func() { raiseLevel(ctx, s) })
	<-ctx.Done()
	return nil
}

// askInTerm asks again while a transfer of leadership, which may come to nothing, keeps raft from answering.
func (s *Store) askInTerm(ctx context.Context, request func() raft.Future) error {
	for {
		err := s.raft.Ask(request)
		if !errors.Is(err, raft.ErrLeadershipTransferInProgress) {
			return err
		}
		select {
		case <-ctx.Done():
			return raft.ErrLeadershipLost
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func lostIsNil(err error) error {
	for _, lost := range []error{raft.ErrLeadershipLost, raft.ErrNotLeader, raft.ErrRaftShutdown} {
		if errors.Is(err, lost) {
			return nil
		}
	}
	return err
}

// leadingTerm returns the term in which this node leads and is ready, or 0.
func (s *Store) leadingTerm() uint64 {
	s.leadMu.Lock()
	defer s.leadMu.Unlock()
	if s.term == nil || !s.term.ready {
		return 0
	}
	return s.term.term
}

// Stamps returns what this node would stamp on a log entry now, so that its leader's loop can tell how far ahead the
// times of NextTick lie (SPEC C3). It returns false if the node does not lead.
func (s *Store) Stamps() (task.Time, task.LeaseTime, bool) {
	s.leadMu.Lock()
	t := s.term
	ready := t != nil && t.ready
	s.leadMu.Unlock()
	if !ready {
		return 0, 0, false
	}
	h := t.stamp.header()
	return h.Now, h.LeaseNow, true
}

// Leadership returns a channel of this node's gains and losses, beginning with the state as it is now. A gain is told
// once the node is ready to lead: everything committed before is in its machine. A slow reader gets the latest value
// only. Close closes the channel. Each call returns another channel, which is kept until Close.
func (s *Store) Leadership() <-chan Leadership {
	c := make(chan Leadership, 1)
	s.leadMu.Lock()
	defer s.leadMu.Unlock()
	if s.leadClosed {
		close(c)
		return c
	}
	c <- s.lastLeadership
	s.leadSubs = append(s.leadSubs, c)
	return c
}

func (s *Store) announce(l Leadership) {
	s.leadMu.Lock()
	defer s.leadMu.Unlock()
	if s.leadClosed || (l.Leading && (s.term == nil || s.term.term != l.Term)) {
		return // the loss has overtaken the gain
	}
	s.lastLeadership = l
	for _, c := range s.leadSubs {
		select {
		case <-c:
		default:
		}
		c <- l // there is room: all senders hold leadMu
	}
}

// Leader returns the ID and the address of the leader, "" if unknown.
func (s *Store) Leader() (id, addr string) {
	v := s.members.Leader()
	if v.Identity == "" {
		return "", ""
	}
	addr, _ = s.book.Where(v.Identity)
	return members.IDOf(v.Identity), addr
}

// Follow returns the leader's address, "" if unknown. gone is closed when that node no longer leads. changed is closed
// at the next news of any kind, also when the same node has become ready to lead.
func (s *Store) Follow() (addr string, gone, changed <-chan struct{}) {
	v := s.members.Leader()
	addr, _ = s.book.Where(v.Identity)
	return addr, v.Gone, v.Changed
}

// Transfer hands leadership to the most current follower.
func (s *Store) Transfer(ctx context.Context) error {
	if s.leadingTerm() == 0 {
		return ErrNotLeader
	}
	return s.changes.HandOver(ctx, "")
}
