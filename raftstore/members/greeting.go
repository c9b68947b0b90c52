package members

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/internal/discover"
	"github.com/taskrt/taskrt/raftstore/rpc"
)

// Greetings (SPEC C1, C2). Every node runs the same loop from its start on:
//
//  - A member tells all other members where it lives now, until each has heard it. Then it rests.
//  - A node that is no member greets everybody it can find. If anybody belongs to a cluster, the node asks the leader to add it. If
//    nobody does and enough such nodes have greeted each other, one of them founds the cluster (founding.go).
//
// The leader adds newcomers as non-voters and promotes them when they have caught up (joining.go).

// hello is what nodes say to each other, in a greeting and in its answer.
type hello struct {
	Self   Peer   `cbor:"1,keyasint"`
	Member bool   `cbor:"2,keyasint,omitempty"` // Self belongs to a cluster
	Expect int    `cbor:"3,keyasint,omitempty"`
	Known  []Peer `cbor:"4,keyasint,omitempty"`
	Join   bool   `cbor:"5,keyasint,omitempty"` // Self asks to be added

	Cluster string `cbor:"6,keyasint,omitempty"` // the cluster of a member
}

type helloReply struct {
	Hello     hello  `cbor:"1,keyasint"`
	Leader    string `cbor:"2,keyasint,omitempty"` // identity of the leader, whose address is in Known
	Duplicate string `cbor:"3,keyasint,omitempty"` // the greeter must stop, and why
	Error     string `cbor:"4,keyasint,omitempty"` // why the join has not succeeded yet
	Removed   bool   `cbor:"5,keyasint,omitempty"` // the greeter was removed, and must stop
}

// contact is what this process has learned from another node directly.
type contact struct {
	peer   Peer
	member bool
	expect int
	knows  bool // it has our address of this start
}

const (
	settleMin = 100 * time.Millisecond
	settleMax = 5 * time.Second
)

// settle is the loop of greetings.
func (m *Members) settle(ctx context.Context) {
	pause := settleMin
	for ctx.Err() == nil {
		progress := m.settleOnce(ctx)
		if m.settled() {
			select {
			case <-ctx.Done():
			case <-m.unsettled:
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
		case <-m.unsettled:
		}
		t.Stop()
		pause = min(2*pause, settleMax)
	}
}

// wakeSettle makes settle look again.
func (m *Members) wakeSettle() { wake(m.unsettled) }

// doubtAfter is how long a node knows no leader before it asks the members whether it is still one of them. A removed node hears nothing more from
// the leader.
const doubtAfter = 2 * time.Second

// doubt makes this node greet all members again.
func (m *Members) doubt() {
	m.contactMu.Lock()
	for _, c := range m.contacts {
		c.knows = false
	}
	m.contactMu.Unlock()
	m.wakeSettle()
	wake(m.starting)
}

// settled reports whether nothing is left to do: this node is a member, and all others know its address.
func (m *Members) settled() bool {
	if !m.member() {
		return false
	}
	m.contactMu.Lock()
	defer m.contactMu.Unlock()
	for _, srv := range m.raft.Servers() {
		if c := m.contacts[string(srv.Address)]; string(srv.Address) != m.identity && (c == nil || !c.knows) {
			return false
		}
	}
	return true
}

// settleOnce greets the nodes that toGreet names and takes the next step. It reports whether it has learned anything
// new.
func (m *Members) settleOnce(ctx context.Context) (progress bool) {
	member := m.member()
	var leader string
	var join []string
	if !m.settled() { // else nobody is greeted
		var err error
		if join, err = discover.Expand(ctx, m.c.Resolver, m.c.Join); err != nil { // anew each time, because the addresses of names change
			m.c.Logger.Debug("cannot look up whom to join", "err", err)
		}
	}
	for _, to := range m.toGreet(member, join) {
		r, err := m.greet(ctx, to, !member)
		if err != nil {
			m.c.Logger.Debug("greeting failed", "addr", to.Addr, "node", to.ID, "err", err)
			continue
		}
		if why := m.refuseBuild(&r.Hello); why != "" {
			m.c.Logger.Warn("cannot form a cluster", "addr", to.Addr, "reason", why)
			continue
		}
		if m.foreign(r.Hello) {
			m.c.Logger.Warn("an address leads to another cluster", "addr", to.Addr, "node", r.Hello.Self.ID)
			continue
		}
		if r.Duplicate != "" {
			m.c.Fail(fmt.Errorf("%w: %s", ErrDuplicateID, r.Duplicate))
			return false
		}
		if r.Removed {
			m.c.Fail(fmt.Errorf("%w: its directory takes part no longer; with an empty one the node may ask again, and votes when `taskrt cluster approve %s` says so", ErrRemoved, m.book.self.ID))
			return false
		}
		if r.Error != "" {
			m.c.Logger.Info("not yet joined", "via", r.Hello.Self.ID, "reason", r.Error)
		}
		if m.learn(r.Hello, true) {
			progress = true
		}
		if r.Leader != "" {
			leader = r.Leader
		}
	}
	if member || m.member() {
		return progress
	}
	if p, ok := m.book.Lookup(leader); ok && leader != m.identity {
		if r, err := m.greet(ctx, p, true); err == nil {
			if r.Duplicate != "" {
				m.c.Fail(fmt.Errorf("%w: %s", ErrDuplicateID, r.Duplicate))
			} else if r.Error != "" {
				m.c.Logger.Info("not yet joined", "via", r.Hello.Self.ID, "reason", r.Error)
			}
		}
		return progress
	}
	if !m.hasState() {
		m.maybeBootstrap(ctx)
	}
	return progress
}

// toGreet lists the addresses to greet. A member greets the members that do not know its address yet. While there are any, it also greets the
// addresses to join through. A node that is no member greets all known addresses and the addresses to join through.
func (m *Members) toGreet(member bool, join []string) []Peer {
	var ps []Peer
	missing := !member
	m.contactMu.Lock()
	defer m.contactMu.Unlock()
	for _, srv := range m.raft.Servers() {
		identity := string(srv.Address)
		if c := m.contacts[identity]; identity == m.identity || (c != nil && c.knows) {
			continue
		}
		missing = true
		if p, ok := m.book.Lookup(identity); ok {
			ps = append(ps, p)
		}
	}
	if !missing {
		return nil
	}
	for _, p := range m.book.all() {
		if !member && p.Identity() != m.identity {
			ps = append(ps, p)
		}
	}
	for _, addr := range join {
		if addr != m.book.self.Addr && !slices.ContainsFunc(ps, func(p Peer) bool { return p.Addr == addr }) {
			ps = append(ps, Peer{Addr: addr})
		}
	}
	slices.SortStableFunc(ps, func(a, b Peer) int { return strings.Compare(a.Addr, b.Addr) })
	return slices.CompactFunc(ps, func(a, b Peer) bool { return a.Addr == b.Addr })
}

// greet says hello to the node at p.Addr.
func (m *Members) greet(ctx context.Context, p Peer, join bool) (helloReply, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	h := m.hello()
	h.Join = join
	if join && p.Format == 0 { // a node that does not know formats would add one that cannot read what it sends
		h.Join = false
		r, err := rpc.Request[helloReply](ctx, m.clients, p.Addr, "", rpc.KindHello, h)
		if err != nil || m.formatError("", r.Hello.Self.Format) != "" {
			return r, err
		}
		h.Join = true
	}
	r, err := rpc.Request[helloReply](ctx, m.clients, p.Addr, "", rpc.KindHello, h)
	if err == nil && r.Hello.Self.Identity() == m.identity {
		return r, errors.New("that is this node itself")
	}
	return r, err
}

func (m *Members) hello() hello {
	h := hello{Self: m.book.Me(), Member: m.hasState(), Expect: m.c.BootstrapExpect, Known: m.book.all()}
	if h.Member {
		h.Cluster = m.book.clusterID()
	}
	return h
}

// foreign reports whether h comes from a member of another cluster than this node's.
func (m *Members) foreign(h hello) bool {
	own := m.book.clusterID()
	return h.Member && m.hasState() && h.Cluster != "" && own != "" && h.Cluster != own
}

// makeRoom forgets nodes that are no members. A node that still wants to be a member greets again.
func makeRoom(m *Members) {
	servers := m.raft.Servers()
	if err := m.book.retain(func(p Peer) bool { return listed(servers, p.Identity()) }); err != nil {
		m.c.FailDisk(err)
	}
}

// learn takes over what another node has said. knows says that the node has heard our own hello.
func (m *Members) learn(h hello, knows bool) (news bool) {
	if m.book.full(len(h.Known) + 1) {
		makeRoom(m)
	}
	news, err := m.book.Learn(append([]Peer{h.Self}, h.Known...)...)
	if err == nil && h.Member && h.Cluster != "" && (!m.hasState() || m.book.clusterID() == "") {
		err = m.book.adopt(h.Cluster)
	}
	if err != nil {
		m.c.FailDisk(err)
		return false
	}
	m.contactMu.Lock()
	defer m.contactMu.Unlock()
	id := h.Self.Identity()
	c := m.contacts[id]
	if c == nil {
		if len(m.contacts) >= maxPeers {
			servers := m.raft.Servers()
			maps.DeleteFunc(m.contacts, func(id string, _ *contact) bool { return !listed(servers, id) })
		}
		c = &contact{}
		m.contacts[id] = c
		news = true
	}
	restarted := c.peer.Incarnation < h.Self.Incarnation
	news = news || restarted || c.member != h.Member
	c.peer, c.member, c.expect = h.Self, h.Member, h.Expect
	c.knows = knows || (c.knows && !restarted)
	return news
}

// answerHello answers the hello that greet sends.
func (m *Members) answerHello(ctx context.Context, h hello) (helloReply, error) {
	r := helloReply{}
	if h.Self.Identity() == m.identity {
		r.Hello = m.hello()
		return r, nil
	}
	if why := m.refuseBuild(&h); why != "" {
		m.c.Logger.Warn("cannot form a cluster", "addr", h.Self.Addr, "reason", why)
		r.Hello = hello{Self: m.book.Me(), Member: m.hasState(), Cluster: m.book.clusterID()}
		r.Error = why
		return r, nil
	}
	if m.foreign(h) {
		r.Hello = hello{Self: m.book.Me(), Member: true, Cluster: m.book.clusterID()}
		r.Error = "this is another cluster"
		return r, nil
	}
	if h.Self.ID == m.book.self.ID {
		why := fmt.Sprintf("two nodes call themselves %q: %s and %s", m.book.self.ID, m.book.self.Addr, h.Self.Addr)
		if h.Member && !m.hasState() {
			m.c.Fail(fmt.Errorf("%w: %s", ErrDuplicateID, why))
			return r, errors.New("stopping")
		}
		r.Duplicate = why
		return r, nil
	}
	if m.hasState() && m.c.Gone(h.Self.ID, h.Self.Instance) {
		r.Hello, r.Removed = hello{Self: m.book.Me(), Member: true, Cluster: m.book.clusterID()}, true
		return r, nil
	}
	// A node that greets us has put our answer into its book: it knows where we live.
	if m.learn(h, true) {
		m.wakeSettle()
	}
	if m.hasState() && h.Join {
		switch {
		case m.raft.State() == raft.Leader:
			if err := m.admit(ctx, h.Self); errors.Is(err, ErrDuplicateID) {
				r.Duplicate = err.Error()
			} else if err != nil {
				r.Error = err.Error()
			}
		default:
			r.Leader = m.Leader().Identity
		}
	}
	r.Hello = m.hello()
	return r, nil
}
