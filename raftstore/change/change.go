package change

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/raftstore/members"
	"github.com/taskrt/taskrt/raftstore/rpc"
)

// Raft is what changes need of raft.
type Raft interface {
	Servers() []raft.Server // the latest configuration
	State() raft.RaftState
	CommitIndex() uint64
	CurrentTerm() uint64
	Slow() bool       // the disk is slow
	Mute(term uint64) // as the leader of this term send nothing more while the disk is slow

	// Ask waits for the answer to a request, which is one of the methods below.
	Ask(request func() raft.Future) error
	AddVoter(id raft.ServerID, identity raft.ServerAddress, prev uint64, timeout time.Duration) raft.IndexFuture
	DemoteVoter(id raft.ServerID, prev uint64, timeout time.Duration) raft.IndexFuture
	RemoveServer(id raft.ServerID, prev uint64, timeout time.Duration) raft.IndexFuture
	LeadershipTransfer() raft.Future
	LeadershipTransferToServer(id raft.ServerID, identity raft.ServerAddress) raft.Future
}

// Config is what changes need of the store.
type Config struct {
	Identity   string // this node's
	Raft       Raft
	Rules      Rules
	RPCTimeout time.Duration
	Logger     *slog.Logger

	Health   func(ctx context.Context, identity string) (members.Health, error) // asks another member how it is
	Changed  <-chan struct{}                                                    // the configuration, or what is settled, has changed
	OneByOne sync.Locker                                                        // held while somebody changes the configuration
	Leader   func() (identity, addr string)                                     // "" if unknown
	Clients  *rpc.Clients
}

// Changes changes a cluster's configuration.
type Changes struct{ c Config }

// New returns the Changes of a node. They do nothing by themselves.
func New(c Config) *Changes { return &Changes{c} }

// Where is what a node is in the configuration that this node knows.
type Where struct {
	Instance string // of its directory
	Votes    bool
}

// Find returns where a node is; ok is false if it is no member.
func (m *Changes) Find(node string) (w Where, ok bool) {
	srv, ok := members.FindServer(m.c.Raft.Servers(), node)
	return Where{members.InstanceOf(string(srv.Address)), ok && srv.Suffrage == raft.Voter}, ok
}

// Bears returns a MajorityError if no majority would be alive without a voter. Every node may ask.
func (m *Changes) Bears(ctx context.Context, node string) error {
	srv, ok := members.FindServer(m.c.Raft.Servers(), node)
	if !ok || srv.Suffrage != raft.Voter {
		return nil
	}
	return m.bears(ctx, string(srv.Address))
}

// TransferRequest asks the leader to hand over.
type TransferRequest struct {
	To string `cbor:"1,keyasint,omitempty"` // node ID; "": the leader chooses
}

// The errors of Transfer. The first two are the store's, too.
var (
	ErrNoLeader  = errors.New("raftstore: no leader")
	ErrNotLeader = errors.New("raftstore: this node does not lead")
	ErrNoVoter   = errors.New("raftstore: who does not vote cannot lead")
)

// Transfer asks the leader to hand over to a voter, or to whom it chooses if to is "". Every node may ask.
func (m *Changes) Transfer(ctx context.Context, to string) error {
	leader, addr := m.c.Leader()
	switch {
	case leader == m.c.Identity:
		return m.HandOver(ctx, to)
	case addr == "":
		return ErrNoLeader
	}
	if w, ok := m.Find(to); to != "" && (!ok || !w.Votes) {
		return ErrNoVoter
	}
	_, err := rpc.Request[struct{}](ctx, m.c.Clients, addr, leader, rpc.KindTransfer, TransferRequest{To: to})
	return err
}

// HandOver hands leadership over, on the leader: to a voter, or to the most current one if to is "".
func (m *Changes) HandOver(ctx context.Context, to string) error {
	if m.c.Raft.State() != raft.Leader {
		return ErrNotLeader
	}
	request := m.c.Raft.LeadershipTransfer
	if to != "" {
		srv, ok := members.FindServer(m.c.Raft.Servers(), to)
		switch {
		case !ok || srv.Suffrage != raft.Voter:
			return ErrNoVoter
		case string(srv.Address) == m.c.Identity:
			return nil
		}
		request = func() raft.Future { return m.c.Raft.LeadershipTransferToServer(srv.ID, srv.Address) }
	}
	var err error
	for range 3 {
		done := make(chan error, 1)
		go func() { done <- m.c.Raft.Ask(request) }()
		select {
		case err = <-done:
		case <-ctx.Done():
			return fmt.Errorf("raftstore: transfer: %w", ctx.Err())
		}
		if err == nil || m.c.Raft.State() != raft.Leader {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("raftstore: transfer: %w", ctx.Err())
		}
	}
	return fmt.Errorf("raftstore: transfer: %w", err)
}
