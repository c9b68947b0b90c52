package members

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/internal/discover"
	"github.com/taskrt/taskrt/raftstore/rpc"
)

// The errors that are wrapped by what Config.Fail is called with.
var (
	ErrDuplicateID = errors.New("raftstore: node ID is in use by another node")
	ErrRemoved     = errors.New("raftstore: this node was removed from its cluster")
)

// Raft is what members need of raft.
type Raft interface {
	Servers() []raft.Server // the latest configuration
	State() raft.RaftState
	CurrentTerm() uint64
	CommitIndex() uint64
	LeaderWithID() (raft.ServerAddress, raft.ServerID)
	LogEnd() (term, index uint64) // the end of this node's log, or of its snapshot if that is later
	ConfigurationIndex() uint64   // of the newest committed configuration
	Campaign()                    // begins an election now

	// Ask waits for the answer to a request, which is one of the methods below.
	Ask(request func() raft.Future) error
	BootstrapCluster(raft.Configuration) raft.Future
	AddNonvoter(id raft.ServerID, identity raft.ServerAddress, prev uint64, timeout time.Duration) raft.IndexFuture
	RemoveServer(id raft.ServerID, prev uint64, timeout time.Duration) raft.IndexFuture
}

// Config is what Members need of the store.
type Config struct {
	Join             []string // through whom to join, as discover.Check has it; the node's own address may be among them
	Resolver         discover.Resolver
	BootstrapExpect  int // how many nodes found the cluster together; 1: this one alone, 0: it only joins
	HeartbeatTimeout time.Duration
	RPCTimeout       time.Duration
	LevelAfter       time.Duration // for how long all members must know a level before it is raised
	Dial             rpc.Dialer    // to see whether the leader's process has ended
	Logger           *slog.Logger

	Gone      func(id, instance string) bool                             // a directory was removed from the cluster
	Level     func() uint64                                              // the cluster's feature level, as far as this node has applied
	Health    func(ctx context.Context, identity string) (Health, error) // asks another member how it is
	Admit     func()                                                     // raft may take part: a majority has confirmed this start, or no confirmation is needed
	Confirmed func(identity, start string)                               // another start of a member was confirmed
	Shorter   func(identity string, term, last uint64) string            // what a log that ends so lacks of what the member has promised; "": nothing
	Ended     <-chan struct{}                                            // closed when the node takes part no longer
	Fail      func(error)                                                // stops the node, because its ID is taken, or it was removed
	FailDisk  func(error)                                                // stops the node, because it cannot write what it must remember
}

// Health is how a member is, by its own account.
type Health struct {
	Applied uint64 // index up to which the log is applied
	Stopped bool
	Level   uint64 // the highest feature level that its build knows
	Hold    bool   // the cluster's level must not be raised
	Slow    bool   // its disk is too slow to lead
}

// Members is a node's view of its cluster, and its part in it.
type Members struct {
	c        Config
	book     *Book
	identity string
	raft     Raft
	clients  *rpc.Clients

	leader     leaderWatch
	met        atomic.Pointer[string] // the leader, if this node has been connected to it since it leads
	founding   atomic.Pointer[founding]
	unsettled  chan struct{} // settle must look again
	takes      atomic.Bool   // raft takes part
	starting   chan struct{} // announce must look again
	confirming sync.Mutex    // one start at a time
	promote    chan struct{} // the configuration has changed

	admitting sync.Mutex // one change of members at a time
	contactMu sync.Mutex
	contacts  map[string]*contact // by identity
}

// New returns the members as the node with this book knows them. Raft and other nodes are not asked anything before
// Run.
func New(c Config, b *Book, r Raft, cs *rpc.Clients) *Members {
	return &Members{
		c: c, book: b, identity: b.Me().Identity(), raft: r, clients: cs,
		leader: leaderWatch{view: Leader{Changed: make(chan struct{}), Gone: make(chan struct{})}}, contacts: map[string]*contact{},
		unsettled: make(chan struct{}, 1), starting: make(chan struct{}, 1), promote: make(chan struct{}, 1),
	}
}

// Run joins or founds a cluster, tells its members where this node lives, and watches their leader, until ctx ends.
func (m *Members) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { m.watchLeader(ctx) })
	wg.Go(func() { starts{m}.announce(ctx) })
	m.settle(ctx)
	wg.Wait()
}

// Answer answers a request about members. From is the identity of the node that asks.
func (m *Members) Answer(ctx context.Context, from string, kind byte, body []byte) (byte, []byte) {
	switch kind {
	case rpc.KindHello:
		return rpc.Handle(body, func(h hello) (helloReply, error) {
			if h.Self.Identity() != from {
				return helloReply{}, fmt.Errorf("%s says that it is %s", from, h.Self.Identity())
			}
			return m.answerHello(ctx, h)
		})
	case rpc.KindRefused:
		return rpc.Handle(body, func(q refusedRequest) (refusedReply, error) { return m.answerRefused(ctx, q), nil })
	case rpc.KindStart:
		return rpc.Handle(body, func(q startRequest) (startReply, error) {
			if q.Self.Identity() != from {
				return startReply{}, fmt.Errorf("%s says that it is %s", from, q.Self.Identity())
			}
			return starts{m}.answerStart(ctx, q)
		})
	case rpc.KindHolder:
		return rpc.Handle(body, func(struct{}) (holderReply, error) { return holderReply{m.book.Me()}, nil })
	case rpc.KindPromise:
		return rpc.Handle(body, func(q promiseRequest) (promiseReply, error) { return m.answerPromise(q) })
	}
	return rpc.StatusRefused, []byte("unknown request")
}

// Changing returns the lock of changes of the configuration, and a channel that tells of a change, or that something about members is settled.
func (m *Members) Changing() (held sync.Locker, changed <-chan struct{}) {
	return &m.admitting, m.promote
}

// ConfigChanged must be called when raft's configuration has changed. It does not block, because raft's goroutines call
// it.
func (m *Members) ConfigChanged() {
	m.wakeSettle()
	wake(m.starting)
	wake(m.promote)
}

// Forget forgets the peers that are members no longer: replaced instances, nodes of clusters that were met by mistake.
// It does nothing before there is a cluster.
func (m *Members) Forget() error {
	servers := m.raft.Servers()
	if len(servers) == 0 {
		return nil
	}
	return m.book.retain(func(p Peer) bool {
		return listed(servers, p.Identity())
	})
}

// FindServer returns the server with a node ID.
func FindServer(ss []raft.Server, id string) (raft.Server, bool) {
	i := slices.IndexFunc(ss, func(srv raft.Server) bool { return string(srv.ID) == id })
	if i < 0 {
		return raft.Server{}, false
	}
	return ss[i], true
}

// listed reports whether an identity is among the servers.
func listed(ss []raft.Server, identity string) bool {
	return slices.ContainsFunc(ss, func(srv raft.Server) bool { return string(srv.Address) == identity })
}

// member reports whether this node, with this directory, is in the configuration.
func (m *Members) member() bool {
	return listed(m.raft.Servers(), m.identity)
}

// hasState reports whether this node belongs, or has belonged, to a cluster.
func (m *Members) hasState() bool { return len(m.raft.Servers()) > 0 }

// Cluster returns the ID of the cluster of which this node is a member; "" before it is one. From then on it stays the same.
func (m *Members) Cluster() string {
	if !m.hasState() {
		return ""
	}
	return m.book.clusterID()
}

// ended reports whether it makes no sense to go on.
func (m *Members) ended(ctx context.Context) bool {
	select {
	case <-m.c.Ended:
		return true
	default:
		return ctx.Err() != nil
	}
}

// VoterAnswer is what a voter has said, or why it has said nothing.
type VoterAnswer[A any] struct {
	Identity string
	Answer   A
	Err      error
}

// Majority reports whether two nodes are a majority of the voters.
func Majority(m *Members, one, another string) bool {
	voters, these := 0, 0
	for _, srv := range m.raft.Servers() {
		if srv.Suffrage != raft.Voter {
			continue
		}
		voters++
		if id := string(srv.Address); id == one || id == another {
			these++
		}
	}
	return 2*these > voters
}

// AskVoters asks all other voters side by side. asked says how many; each of them answers once. member says that this
// node is a voter itself.
func AskVoters[A any](ctx context.Context, m *Members, kind byte, question any) (voters, asked int, member bool, answers <-chan VoterAnswer[A]) {
	servers := m.raft.Servers()
	out := make(chan VoterAnswer[A], len(servers))
	for _, srv := range servers {
		if srv.Suffrage != raft.Voter {
			continue
		}
		voters++
		identity := string(srv.Address)
		if identity == m.identity {
			member = true
			continue
		}
		addr, ok := m.book.Where(identity)
		if !ok {
			continue
		}
		asked++
		go func() {
			a, err := rpc.Request[A](ctx, m.clients, addr, identity, kind, question)
			out <- VoterAnswer[A]{identity, a, err}
		}()
	}
	return voters, asked, member, out
}

// wake wakes the goroutine that waits for c. If none waits, the next look at c finds the news. c has room for one.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
