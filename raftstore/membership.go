package raftstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/raftstore/rpc"
)

// Membership (SPEC C1, C2). Every node runs the same loop from its start on:
//
//   - A member tells all other members where it lives now, until each has heard, then rests.
//   - Who is no member greets everybody it can find. If anybody belongs to a cluster, it asks the leader to be added; if
//     nobody does and enough such nodes have greeted each other, one of them founds the cluster (bootstrap.go).
//
// The leader adds newcomers as non-voters and promotes them when they have caught up.

// hello is what nodes say to each other, answer included.
type hello struct {
	Self   peer   `cbor:"1,keyasint"`
	Member bool   `cbor:"2,keyasint,omitempty"` // belongs to a cluster
	Expect int    `cbor:"3,keyasint,omitempty"`
	Known  []peer `cbor:"4,keyasint,omitempty"`
	Join   bool   `cbor:"5,keyasint,omitempty"` // add me

	Cluster string `cbor:"6,keyasint,omitempty"` // of a member
}

type helloReply struct {
	Hello     hello  `cbor:"1,keyasint"`
	Leader    string `cbor:"2,keyasint,omitempty"` // identity of the leader; its address is in Known
	Duplicate string `cbor:"3,keyasint,omitempty"` // the greeter must stop: why
	Error     string `cbor:"4,keyasint,omitempty"` // why the join did not succeed yet
}

// contact is what this process has learned from another node directly.
type contact struct {
	peer   peer
	member bool
	expect int
	knows  bool // has our address of this start
}

const (
	settleMin = 100 * time.Millisecond
	settleMax = 5 * time.Second
)

// servers returns raft's latest configuration.
func (s *Store) servers() []raft.Server { return s.raft.Servers() }

func findServer(ss []raft.Server, id string) (raft.Server, bool) {
	i := slices.IndexFunc(ss, func(m raft.Server) bool { return string(m.ID) == id })
	if i < 0 {
		return raft.Server{}, false
	}
	return ss[i], true
}

// member reports whether this node, with this directory, is in the configuration.
func (s *Store) member() bool {
	m, ok := findServer(s.servers(), s.cfg.ID)
	return ok && string(m.Address) == s.identity
}

// hasState reports whether this node belongs or has belonged to a cluster.
func (s *Store) hasState() bool { return len(s.servers()) > 0 }

// settle is the loop.
func (s *Store) settle(ctx context.Context) {
	pause := settleMin
	for ctx.Err() == nil {
		progress := s.settleOnce(ctx)
		if s.settled() {
			select {
			case <-ctx.Done():
			case <-s.unsettled:
			}
			pause = settleMin
			continue
		}
		if progress {
			pause = settleMin
		}
		t := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-ctx.Done():
		case <-t.C:
		case <-s.unsettled:
		}
		t.Stop()
		pause = min(2*pause, settleMax)
	}
}

// wakeSettle makes settle look again. It must not block: raft's goroutines call it.
func (s *Store) wakeSettle() {
	wake(s.unsettled)
}

// settled reports whether nothing is left to do: this node is a member and all others know its address.
func (s *Store) settled() bool {
	if !s.member() {
		return false
	}
	s.contactMu.Lock()
	defer s.contactMu.Unlock()
	for _, m := range s.servers() {
		if c := s.contacts[string(m.Address)]; string(m.Address) != s.identity && (c == nil || !c.knows) {
			return false
		}
	}
	return true
}

// settleOnce greets whom it makes sense to greet and takes the next step. It reports whether anything new was learned.
func (s *Store) settleOnce(ctx context.Context) (progress bool) {
	member := s.member()
	var leader string
	for _, to := range s.toGreet(member) {
		r, err := s.greet(ctx, to, !member)
		if err != nil {
			s.log.Debug("greeting failed", "addr", to.Addr, "node", to.ID, "err", err)
			continue
		}
		if why := s.refuseBuild(&r.Hello); why != "" {
			s.log.Warn("cannot form a cluster", "addr", to.Addr, "reason", why)
			continue
		}
		if s.foreign(r.Hello) {
			s.log.Warn("an address leads to another cluster", "addr", to.Addr, "node", r.Hello.Self.ID)
			continue
		}
		if r.Duplicate != "" {
			s.fail(fmt.Errorf("%w: %s", ErrDuplicateID, r.Duplicate))
			return false
		}
		if r.Error != "" {
			s.log.Info("not yet joined", "via", r.Hello.Self.ID, "reason", r.Error)
		}
		if s.learn(r.Hello, true) {
			progress = true
		}
		if r.Leader != "" {
			leader = r.Leader
		}
	}
	if member || s.member() {
		return progress
	}
	if p, ok := s.book.lookup(leader); ok && leader != s.identity {
		if r, err := s.greet(ctx, p, true); err == nil {
			if r.Duplicate != "" {
				s.fail(fmt.Errorf("%w: %s", ErrDuplicateID, r.Duplicate))
			} else if r.Error != "" {
				s.log.Info("not yet joined", "via", r.Hello.Self.ID, "reason", r.Error)
			}
		}
		return progress
	}
	if !s.hasState() {
		s.maybeBootstrap(ctx)
	}
	return progress
}

// toGreet lists addresses: those of members that do not know ours yet; all known ones and those of Join for who is no
// member, or misses one.
func (s *Store) toGreet(member bool) []peer {
	var ps []peer
	missing := !member
	s.contactMu.Lock()
	defer s.contactMu.Unlock()
	for _, m := range s.servers() {
		identity := string(m.Address)
		if c := s.contacts[identity]; identity == s.identity || (c != nil && c.knows) {
			continue
		}
		missing = true
		if p, ok := s.book.lookup(identity); ok {
			ps = append(ps, p)
		}
	}
	if !missing {
		return nil
	}
	for _, p := range s.book.all() {
		if !member && p.identity() != s.identity {
			ps = append(ps, p)
		}
	}
	for _, addr := range s.cfg.Join {
		if addr != s.cfg.Addr && !slices.ContainsFunc(ps, func(p peer) bool { return p.Addr == addr }) {
			ps = append(ps, peer{Addr: addr})
		}
	}
	slices.SortStableFunc(ps, func(a, b peer) int { return strings.Compare(a.Addr, b.Addr) })
	return slices.CompactFunc(ps, func(a, b peer) bool { return a.Addr == b.Addr })
}

// greet says hello to whoever lives at p.Addr.
func (s *Store) greet(ctx context.Context, p peer, join bool) (helloReply, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	h := s.hello()
	h.Join = join
	if join && p.Format == 0 { // who does not know formats would add a node that cannot read what it sends
		h.Join = false
		r, err := rpc.Request[helloReply](ctx, s.clients, p.Addr, "", rpc.KindHello, h)
		if err != nil || formatError("", r.Hello.Self.Format) != "" {
			return r, err
		}
		h.Join = true
	}
	r, err := rpc.Request[helloReply](ctx, s.clients, p.Addr, "", rpc.KindHello, h)
	if err == nil && r.Hello.Self.identity() == s.identity {
		return r, errors.New("that is this node itself")
	}
	return r, err
}

func (s *Store) hello() hello {
	h := hello{Self: s.book.me(), Member: s.hasState(), Expect: s.cfg.BootstrapExpect, Known: s.book.all()}
	if h.Member {
		h.Cluster = s.book.clusterID()
	}
	return h
}

// foreign reports whether h is a member of another cluster than this node.
func (s *Store) foreign(h hello) bool {
	own := s.book.clusterID()
	return h.Member && s.hasState() && h.Cluster != "" && own != "" && h.Cluster != own
}

// learn takes over what another node said. knows: it has heard our own hello.
func (s *Store) learn(h hello, knows bool) (news bool) {
	news, err := s.book.learn(append([]peer{h.Self}, h.Known...)...)
	if err == nil && h.Member && h.Cluster != "" && (!s.hasState() || s.book.clusterID() == "") {
		err = s.book.adopt(h.Cluster)
	}
	if err != nil {
		s.fail(fmt.Errorf("%w: %w", ErrDiskFailed, err))
		return false
	}
	s.contactMu.Lock()
	defer s.contactMu.Unlock()
	id := h.Self.identity()
	c := s.contacts[id]
	if c == nil {
		c = &contact{}
		s.contacts[id] = c
		news = true
	}
	restarted := c.peer.Incarnation < h.Self.Incarnation
	news = news || restarted || c.member != h.Member
	c.peer, c.member, c.expect = h.Self, h.Member, h.Expect
	c.knows = knows || (c.knows && !restarted)
	return news
}

// answerHello is the other side of greet.
func (s *Store) answerHello(ctx context.Context, h hello) (helloReply, error) {
	r := helloReply{}
	if h.Self.identity() == s.identity {
		r.Hello = s.hello()
		return r, nil
	}
	if why := s.refuseBuild(&h); why != "" {
		s.log.Warn("cannot form a cluster", "addr", h.Self.Addr, "reason", why)
		r.Hello = hello{Self: s.book.me(), Member: s.hasState(), Cluster: s.book.clusterID()}
		r.Error = why
		return r, nil
	}
	if s.foreign(h) {
		r.Hello = hello{Self: s.book.me(), Member: true, Cluster: s.book.clusterID()}
		r.Error = "this is another cluster"
		return r, nil
	}
	if h.Self.ID == s.cfg.ID {
		why := fmt.Sprintf("two nodes call themselves %q: %s and %s", s.cfg.ID, s.cfg.Addr, h.Self.Addr)
		if h.Member && !s.hasState() {
			s.fail(fmt.Errorf("%w: %s", ErrDuplicateID, why))
			return r, errors.New("stopping")
		}
		r.Duplicate = why
		return r, nil
	}
	// Who greets us has put what we answer into its book: it knows where we live.
	if s.learn(h, true) {
		s.wakeSettle()
	}
	if s.hasState() && h.Join {
		switch {
		case s.raft.State() == raft.Leader:
			if err := s.admit(ctx, h.Self); errors.Is(err, ErrDuplicateID) {
				r.Duplicate = err.Error()
			} else if err != nil {
				r.Error = err.Error()
			}
		default:
			r.Leader = s.leader.get().identity
		}
	}
	r.Hello = s.hello()
	return r, nil
}

// admit adds a newcomer to the configuration, on the leader. A server of the same ID with another directory is replaced,
// unless it still lives.
func (s *Store) admit(ctx context.Context, p peer) error {
	s.admitting.Lock()
	defer s.admitting.Unlock()
	id := raft.ServerID(p.ID)
	if old, ok := findServer(s.servers(), p.ID); ok {
		if string(old.Address) == p.identity() {
			return nil
		}
		if known, ok := s.book.lookup(string(old.Address)); ok {
			ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
			_, err := rpc.Request[digestReply](ctx, s.clients, known.Addr, known.identity(), rpc.KindDigest, digestRequest{})
			cancel()
			if err == nil {
				return fmt.Errorf("%w: node %q runs at %s", ErrDuplicateID, p.ID, known.Addr)
			}
		}
		s.log.Warn("a node has come back with an empty directory: replacing it", "node", p.ID, "addr", p.Addr)
		if err := s.raft.Ask(func() raft.Future { return s.raft.RemoveServer(id, 0, s.cfg.RPCTimeout/2) }); err != nil {
			return fmt.Errorf("raftstore: remove former %s: %w", p.ID, err)
		}
	}
	add := func() raft.Future {
		return s.raft.AddNonvoter(id, raft.ServerAddress(p.identity()), 0, s.cfg.RPCTimeout/2)
	}
	if err := s.raft.Ask(add); err != nil {
		return fmt.Errorf("raftstore: add %s: %w", p.ID, err)
	}
	s.log.Info("node added", "node", p.ID, "addr", p.Addr)
	return nil
}

// Promotion of newcomers.
const (
	promoteEvery = 250 * time.Millisecond
	promoteLag   = 256 // entries behind that still count as caught up
	promoteAfter = 3   // checks in a row
)

// promoteNonvoters runs on the leader.
func (s *Store) promoteNonvoters(ctx context.Context) {
	good := map[string]int{}
	for {
		pending := false
		for _, m := range s.servers() {
			if m.Suffrage == raft.Voter {
				continue
			}
			pending = true
			identity := string(m.Address)
			a, err := s.askDigest(ctx, identity, 0)
			if err != nil || a.Stopped || a.Applied+promoteLag < s.raft.CommitIndex() {
				good[identity] = 0
				continue
			}
			if good[identity]++; good[identity] < promoteAfter {
				continue
			}
			delete(good, identity)
			promote := func() raft.Future { return s.raft.AddVoter(m.ID, m.Address, 0, s.cfg.RPCTimeout/2) }
			if err := s.raft.Ask(promote); err != nil {
				s.log.Warn("promotion failed", "node", m.ID, "err", err)
				continue
			}
			s.log.Info("node promoted to voter", "node", m.ID)
		}
		var timer <-chan time.Time
		if pending {
			timer = time.After(promoteEvery)
		}
		select {
		case <-ctx.Done():
			return
		case <-timer:
		case <-s.promote:
		}
	}
}

// configChanged is called by raft's FSM goroutine and must not block.
func (s *Store) configChanged() {
	s.wakeSettle()
	wake(s.promote)
}
