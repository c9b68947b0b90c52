package raftstore

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/raftstore/members"
	"github.com/taskrt/taskrt/raftstore/rpc"
	"github.com/taskrt/taskrt/task"
)

// Comparing digests (SPEC C4). Every second, if anything was applied since the last comparison, the leader asks each member for the digest of its
// last entry, and looks up its own at that index. If one differs, the leader asks all members for the digest at that index. A member that differs
// from a majority of the voters stops. Digests are running sums, so a difference never goes away.

const (
	digestEvery  = time.Second
	digestRounds = 5 // rounds without a majority before all stop: a node that is only slow may still make a majority
)

type digestRequest struct {
	At uint64 `cbor:"1,keyasint,omitempty"` // an index of the log; 0: the latest
}

type digestReply struct {
	Found   bool        `cbor:"1,keyasint,omitempty"` // false: not applied yet, or no longer remembered
	Digest  task.Digest `cbor:"2,keyasint"`
	Applied uint64      `cbor:"3,keyasint"` // index up to which the log is applied
	Stopped bool        `cbor:"4,keyasint,omitempty"`
	Level   uint64      `cbor:"5,keyasint,omitempty"` // the highest feature level that the node knows
	Hold    bool        `cbor:"6,keyasint,omitempty"` // Config.HoldLevel
	Slow    bool        `cbor:"7,keyasint,omitempty"` // its disk is too slow to lead
}

func (s *Store) answerDigest(q digestRequest) digestReply {
	a := digestReply{Applied: s.fsm.appliedIndex(), Stopped: s.failure() != nil, Level: s.cfg.KnownLevel, Hold: s.cfg.HoldLevel, Slow: s.raft.Slow()}
	if q.At == 0 {
		a.Digest, a.Found = s.ring.Latest(), true
	} else {
		s.compared.FoundDifferent() // only a leader that has found a difference asks so, and it may be the one that stops
		a.Digest, a.Found = s.ring.At(q.At)
	}
	return a
}

// compareDigests compares digests while this node leads.
func (s *Store) compareDigests(ctx context.Context) {
	tick := time.NewTicker(digestEvery)
	defer tick.Stop()
	var compared uint64 // own index at the last complete comparison
	undecided := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		latest := s.ring.Latest()
		if latest.Index == compared && undecided == 0 {
			continue // idle: nothing is sent
		}
		differs, complete := s.findDifference(ctx)
		if differs == 0 {
			if complete {
				compared = latest.Index
				s.compared.FoundEqual(compared)
			}
			undecided = 0
			continue
		}
		s.compared.FoundDifferent()
		if undecided++; s.vote(ctx, differs, undecided >= digestRounds) {
			return
		}
	}
}

// findDifference asks every other member for its latest digest. differs is an index at which a member has another digest than this node, or 0.
// complete says that every member was compared at this node's latest index, or could not be asked.
func (s *Store) findDifference(ctx context.Context) (differs uint64, complete bool) {
	complete = true
	for _, m := range s.raft.Servers() {
		if string(m.Address) == s.identity {
			continue
		}
		a, err := s.askDigest(ctx, string(m.Address), 0)
		if err != nil || a.Stopped || a.Digest.Index == 0 {
			continue // when the member is back entries follow, and with them the next comparison
		}
		own, ok := s.ring.At(a.Digest.Index)
		if !ok || own.Index < s.ring.Latest().Index {
			complete = false
		}
		if ok && own.Sum != a.Digest.Sum {
			return own.Index, false
		}
	}
	return 0, complete
}

func (s *Store) askDigest(ctx context.Context, identity string, at uint64) (digestReply, error) {
	addr, ok := s.book.Where(identity)
	if !ok {
		return digestReply{}, fmt.Errorf("raftstore: no address known of %s", identity)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return rpc.Request[digestReply](ctx, s.clients, addr, identity, rpc.KindDigest, digestRequest{At: at})
}

// health asks a member how it is.
func (s *Store) health(ctx context.Context, identity string) (members.Health, error) {
	a, err := s.askDigest(ctx, identity, 0)
	return members.Health{Applied: a.Applied, Stopped: a.Stopped, Level: a.Level, Hold: a.Hold, Slow: a.Slow}, err
}

// vote collects the digests at index, and stops the members that differ from the majority. It reports whether this node need not compare any more. If
// last is set and there is no majority, all members stop.
func (s *Store) vote(ctx context.Context, index uint64, last bool) bool {
	own, ok := s.ring.At(index)
	if !ok {
		return false
	}
	sums := map[string]uint64{s.identity: own.Sum}
	voters := 0
	votes := map[uint64]int{}
	for _, m := range s.raft.Servers() {
		identity := string(m.Address)
		if m.Suffrage == raft.Voter {
			voters++
		}
		if identity != s.identity {
			a, err := s.askDigest(ctx, identity, index)
			if err != nil || !a.Found {
				continue
			}
			sums[identity] = a.Digest.Sum
		}
		if m.Suffrage == raft.Voter {
			votes[sums[identity]]++
		}
	}
	var majority uint64
	decided := false
	for sum, n := range votes {
		if 2*n > voters {
			majority, decided = sum, true
		}
	}
	if !decided && !last {
		return false
	}
	s.log.Error("digests differ", "index", index, "digests", sums, "majority", decided)
	for identity, sum := range sums {
		if identity == s.identity || (decided && sum == majority) {
			continue
		}
		d := task.Digest{Index: index, Sum: majority}
		if !decided {
			d.Index = 0 // nobody knows which state is right: stop in any case
		}
		if addr, ok := s.book.Where(identity); ok {
			if _, err := rpc.Request[struct{}](ctx, s.clients, addr, identity, rpc.KindDiverged, d); err != nil {
				s.log.Error("cannot tell a node that it must stop", "node", identity, "err", err)
			}
		}
	}
	if decided && own.Sum == majority {
		return false // go on comparing: the other may come back, or may not have heard
	}
	if decided { // the majority is healthy, and can go on at once under another leader
		ctx, cancel := context.WithTimeout(ctx, 2*s.cfg.ElectionTimeout)
		defer cancel()
		if err := s.Transfer(ctx); err != nil {
			s.log.Warn("leadership transfer failed", "err", err)
		}
	}
	s.fail(fmt.Errorf("%w: index %d, digest %016x", ErrDiverged, index, own.Sum))
	return true
}

// toldDiverged hears from the leader that this node's state differs from the majority's at d.Index, or (index 0) that nobody knows which state is
// right. The node believes the first only if its own digest at this index is another one.
func (s *Store) toldDiverged(d task.Digest) {
	if d.Index != 0 {
		own, ok := s.ring.At(d.Index)
		if !ok || own.Sum == d.Sum {
			return
		}
	}
	s.fail(fmt.Errorf("%w: index %d, digest %016x", ErrDiverged, d.Index, s.ring.Latest().Sum))
}
