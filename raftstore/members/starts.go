package members

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/raftstore/rpc"
)

// Start numbers (SPEC C7). A copy of a disk, block by block, has everything by which a directory is known. So each start draws a number. The
// directory keeps its last numbers, and the members keep the one that they have confirmed. A directory that went on has a number that an older copy
// of it does not have. A node neither votes nor acknowledges anything before a majority has confirmed its start.

// ErrSuperseded says that a directory has gone on elsewhere.
var ErrSuperseded = errors.New("raftstore: this directory is an older state of its node")

// keptStarts is how many of the last numbers of its own a directory keeps.
const keptStarts = 64

// keepStarts cuts a node's numbers. It keeps the last ones. For each member it also keeps the number that this member remembers, however old: the
// member may have been away for all later starts.
func keepStarts(starts []string, knownBy map[string]string) []string {
	old := len(starts) - keptStarts
	if old <= 0 {
		return starts
	}
	known := map[string]bool{}
	for _, start := range knownBy {
		known[start] = true
	}
	var kept []string
	for i, start := range starts {
		if i >= old || known[start] {
			kept = append(kept, start)
		}
	}
	return kept
}

// starts is what members do about starts.
type starts struct{ *Members }

// startRequest asks a member to confirm a start.
type startRequest struct {
	Self    Peer     `cbor:"1,keyasint"`
	Starts  []string `cbor:"2,keyasint"` // the newest last
	Cluster string   `cbor:"3,keyasint"`
	Fresh   bool     `cbor:"4,keyasint,omitempty"` // the node takes no part yet, so Term and Last stay what they are
	Term    uint64   `cbor:"5,keyasint,omitempty"` // that the node has seen
	Last    uint64   `cbor:"6,keyasint,omitempty"` // index of its last entry
	Keep    bool     `cbor:"7,keyasint,omitempty"` // false: the member remembers nothing, and only says what it would answer
	Config  uint64   `cbor:"8,keyasint,omitempty"` // index of the newest committed configuration that the node knows
}

type startReply struct {
	OK     bool   `cbor:"1,keyasint,omitempty"`
	Early  bool   `cbor:"6,keyasint,omitempty"` // OK, but not remembered, because the member does not know yet that starts are confirmed
	Past   string `cbor:"2,keyasint,omitempty"` // why the directory is an older state of its node, which must stop
	Lives  string `cbor:"3,keyasint,omitempty"` // why it must stop: the node runs elsewhere
	Index  uint64 `cbor:"4,keyasint,omitempty"` // of the newest committed configuration that the member knows
	Voters []Peer `cbor:"5,keyasint,omitempty"` // as the member knows them
}

// holderReply says which start runs at an address.
type holderReply struct {
	Self Peer `cbor:"1,keyasint"`
}

// chained reports whether starts are confirmed: all members know of them.
func (m starts) chained() bool { return max(m.book.levelSeen(), m.c.Level()) >= startsLevel }

// startsLevel is the feature level (task.MembersLevel) from which all members know of starts.
const startsLevel = 3

const (
	startMin       = 50 * time.Millisecond
	startMax       = 2 * time.Second
	startPatience  = 2 * time.Second        // for the answer of a member
	startGrace     = 200 * time.Millisecond // for the other members, once a majority has agreed
	holderPatience = time.Second            // for the answer of the node that may hold the identity
)

// announce tells this start to all members, and lets raft take part once a majority has confirmed it. It goes on as long as the configuration changes.
func (m starts) announce(ctx context.Context) {
	pause := startMin
	sure := map[string]bool{}
	for ctx.Err() == nil {
		all := m.announceOnce(ctx, sure)
		if all {
			select {
			case <-ctx.Done():
			case <-m.starting:
				clear(sure) // somebody may have confirmed another start since
			}
			pause = startMin
			continue
		}
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-t.C:
		case <-m.starting:
		}
		t.Stop()
		pause = min(2*pause, startMax)
	}
}

// round is one try to have a start confirmed by all.
type round struct {
	starts

	sure   map[string]bool // members that remember this start
	agree  map[string]bool // that have no objection
	voters map[string]Peer
	index  uint64 // of a committed configuration: voters are of it, or of a later one
	others map[string]Peer
}

// announceOnce asks the members that do not remember this start yet, and notes in sure those that do. It reports whether all do.
func (m starts) announceOnce(ctx context.Context, sure map[string]bool) (all bool) {
	if !m.member() || !m.chained() {
		m.takePart()
		return true
	}
	r := round{m, sure, map[string]bool{}, map[string]Peer{}, m.raft.ConfigurationIndex(), map[string]Peer{}}
	for _, srv := range m.raft.Servers() {
		p, _ := m.book.Lookup(string(srv.Address))
		if srv.Suffrage == raft.Voter {
			r.voters[string(srv.Address)] = p
		}
		if string(srv.Address) != m.identity {
			r.others[string(srv.Address)] = p
		}
	}
	// In the first round nobody remembers anything. One member may accept this directory because it knows no better, while another refuses it. Such a
	// directory must not take the place of the node's own. If the configuration has changed while this node was away, the new members are asked, too.
	if !m.takes.Load() {
		known := len(r.others)
		if !r.ask(ctx, false) || len(r.others) > known && !r.ask(ctx, false) {
			return true
		}
		if !r.enough() {
			return false
		}
	}
	clear(r.agree)
	if !r.ask(ctx, true) {
		return true
	}
	confirmed := r.enough()
	if err := m.book.told(sure, confirmed); err != nil {
		m.c.FailDisk(err)
		return true
	}
	if confirmed {
		m.takePart()
	}
	for identity := range r.others { // order-free: any of them
		if !sure[identity] {
			return false
		}
	}
	return true
}

// enough reports whether a majority, this node included, has no objection.
func (r *round) enough() bool {
	confirmed := 0
	for identity := range r.voters { // order-free: a count
		if r.sure[identity] || r.agree[identity] || identity == r.identity {
			confirmed++
		}
	}
	return 2*confirmed > len(r.voters)
}

// ask asks all members that have not agreed, side by side. It waits for all of them, but not for long once a majority has agreed. It reports false if
// a member objects. Then this node stops.
func (r *round) ask(ctx context.Context, keep bool) bool {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	q := startRequest{Self: r.book.Me(), Starts: r.book.ownStarts(), Cluster: r.book.clusterID(), Fresh: !r.takes.Load(), Keep: keep, Config: r.raft.ConfigurationIndex()}
	if q.Fresh {
		q.Term = r.raft.CurrentTerm()
		_, q.Last = r.raft.LogEnd()
	}
	out, asked := make(chan VoterAnswer[startReply], len(r.others)), 0
	for identity, p := range r.others { // order-free: side by side
		if r.sure[identity] || r.agree[identity] {
			continue
		}
		asked++
		go func() {
			a, err := r.request(ctx, identity, p.Addr, q)
			for err != nil && !keep && idle.For(ctx, startMin) { // a member that has not answered may object
				a, err = r.request(ctx, identity, p.Addr, q)
			}
			out <- VoterAnswer[startReply]{identity, a, err}
		}()
	}
	var late <-chan time.Time
	for range asked {
		if late == nil && r.enough() {
			late = time.After(startGrace)
		}
		select {
		case a := <-out:
			if a.Err == nil && !r.take(a, keep) {
				return false
			}
		case <-late:
			return true
		}
	}
	return true
}

// request asks a member at its known address. All addresses may have changed at once. Then a greeting has told where the member is now.
func (r *round) request(ctx context.Context, identity, addr string, q startRequest) (startReply, error) {
	a, err := rpc.Request[startReply](ctx, r.clients, addr, identity, rpc.KindStart, q)
	if now := r.contactAddr(identity); err != nil && now != "" && now != addr {
		return rpc.Request[startReply](ctx, r.clients, now, identity, rpc.KindStart, q)
	}
	return a, err
}

// take takes an answer. It reports false if it is an objection.
func (r *round) take(a VoterAnswer[startReply], keep bool) bool {
	switch {
	case a.Answer.Past != "":
		r.c.Fail(fmt.Errorf("%w: %s", ErrSuperseded, a.Answer.Past))
		return false
	case a.Answer.Lives != "":
		r.c.Fail(fmt.Errorf("%w: %s", ErrDuplicateID, a.Answer.Lives))
		return false
	case a.Answer.OK:
		r.agree[a.Identity] = true
		r.sure[a.Identity] = keep && !a.Answer.Early
	}
	if a.Answer.Index <= r.index {
		return true
	}
	r.index = a.Answer.Index
	clear(r.voters)
	for _, p := range a.Answer.Voters {
		r.voters[p.Identity()] = p
		if p.Identity() != r.identity {
			r.others[p.Identity()] = p
		}
	}
	return true
}

// takePart lets raft take part.
func (m starts) takePart() {
	m.takes.Store(true)
	m.c.Admit()
}

// contactAddr returns where a node says that it is, whether or not its start was confirmed; "": it has said nothing.
func (m starts) contactAddr(identity string) string {
	m.contactMu.Lock()
	defer m.contactMu.Unlock()
	if c := m.contacts[identity]; c != nil {
		return c.peer.Addr
	}
	return ""
}

// answerStart confirms a start, or says why not.
func (m starts) answerStart(ctx context.Context, q startRequest) (r startReply, err error) {
	m.confirming.Lock()
	defer m.confirming.Unlock()
	if !m.hasState() || q.Cluster != m.book.clusterID() {
		return r, nil
	}
	servers := m.raft.Servers()
	r.Index = m.raft.ConfigurationIndex()
	for _, srv := range servers {
		if p, ok := m.book.Lookup(string(srv.Address)); ok && srv.Suffrage == raft.Voter {
			r.Voters = append(r.Voters, p)
		}
	}
	identity := q.Self.Identity()
	if !listed(servers, identity) {
		if q.Config < r.Index && slices.ContainsFunc(servers, func(srv raft.Server) bool { return string(srv.ID) == q.Self.ID }) {
			r.Past = fmt.Sprintf("%s knows that %s has got another disk since", m.book.self.ID, q.Self.ID)
		}
		return r, nil
	}
	if !m.chained() {
		r.OK, r.Early = true, true
		return r, nil
	}
	known := m.book.confirmedStart(identity)
	if known == q.Self.Start {
		r.OK = true
		return r, nil
	}
	if known != "" && !slices.Contains(q.Starts, known) {
		r.Past = fmt.Sprintf("%s knows a start of %s that this directory does not know", m.book.self.ID, q.Self.ID)
		return r, nil
	}
	if q.Fresh {
		if why := m.c.Shorter(identity, q.Term, q.Last); why != "" {
			r.Past = fmt.Sprintf("%s: %s", m.book.self.ID, why)
			return r, nil
		}
	}
	if p, ok := m.book.Lookup(identity); ok && known != "" && p.Addr != q.Self.Addr && m.holds(ctx, p.Addr, identity, known) {
		r.Lives = fmt.Sprintf("node %q runs at %s, and another one with its directory at %s", q.Self.ID, p.Addr, q.Self.Addr)
		return r, nil
	}
	if r.OK = true; !q.Keep {
		return r, nil
	}
	if err := m.book.confirm(q.Self); err != nil {
		m.c.FailDisk(err)
		return r, err
	}
	m.c.Confirmed(identity, q.Self.Start)
	m.wakeSettle()
	return r, nil
}

// holds reports whether the node at an address runs with a start.
func (m starts) holds(ctx context.Context, addr, identity, start string) bool {
	ctx, cancel := context.WithTimeout(ctx, holderPatience)
	defer cancel()
	a, err := rpc.Request[holderReply](ctx, m.clients, addr, identity, rpc.KindHolder, struct{}{})
	return err == nil && a.Self.Start == start
}

// levelSeen returns the cluster's level as it was noted last.
func (b *Book) levelSeen() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.level
}

// ownStarts returns the numbers of this directory.
func (b *Book) ownStarts() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.starts)
}

// confirmedStart returns the start of an identity that was confirmed last; "": none was.
func (b *Book) confirmedStart(identity string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.confirmed[identity]
}

// Holds reports whether a start may speak for an identity: it was confirmed last, or none was.
func (b *Book) Holds(identity, start string) bool {
	known := b.confirmedStart(identity)
	return known == "" || known == start
}

// KnowsStarts reports whether the build of a node knows of starts, as far as the node has told.
func (b *Book) KnowsStarts(identity string) bool {
	p, ok := b.Lookup(identity)
	return ok && p.Level >= startsLevel
}

// confirm remembers a start, durably, and where it runs.
func (b *Book) confirm(p Peer) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.confirmed[p.Identity()], b.peers[p.Identity()], b.level = p.Start, p, max(b.level, startsLevel)
	return b.save()
}

// told notes which members have said that they remember the node's own start. With confirmed it also notes that a majority has confirmed it.
func (b *Book) told(by map[string]bool, confirmed bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	changed := false
	for member, remembers := range by { // order-free: into a map
		if remembers && b.knownBy[member] != b.self.Start {
			b.knownBy[member], changed = b.self.Start, true
		}
	}
	if id := b.self.Identity(); confirmed && b.confirmed[id] != b.self.Start {
		b.confirmed[id], b.level, changed = b.self.Start, max(b.level, startsLevel), true
	}
	if !changed {
		return nil
	}
	return b.save()
}
