package memnet_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/internal/memnet"
	"github.com/taskrt/taskrt/internal/mux"
)

// layer is raft's StreamLayer over a node of the network.
type layer struct {
	net.Listener
	node *memnet.Node
}

func (l layer) Dial(addr raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return l.node.Dial(ctx, string(addr), mux.Raft)
}

type countFSM struct{ n int }

func (f *countFSM) Apply(*raft.Log) any                 { f.n++; return f.n }
func (f *countFSM) Snapshot() (raft.FSMSnapshot, error) { return nil, fmt.Errorf("none") }
func (f *countFSM) Restore(io.ReadCloser) error         { return nil }

// TestRaft runs hashicorp/raft's own NetworkTransport over the network: election, a cut-off leader, healing, loss.
func TestRaft(t *testing.T) {
	bubble(t, func(t *testing.T, n *memnet.Net) {
		nodes := map[raft.ServerID]*raft.Raft{}
		var servers []raft.Server
		for _, id := range []string{"n1", "n2", "n3"} {
			servers = append(servers, raft.Server{ID: raft.ServerID(id), Address: raft.ServerAddress(id)})
		}
		for _, s := range servers {
			nd := n.Node(string(s.ID))
			trans := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
				Stream: layer{nd.Listen(mux.Raft), nd}, MaxPool: 3, Timeout: 10 * time.Second, Logger: hclog.NewNullLogger(),
				MaxRPCsInFlight: 1, // no pipelines: the library's get stuck for ever (raftstore/guard mends them)
			})
			conf := raft.DefaultConfig()
			conf.LocalID, conf.LogOutput = s.ID, io.Discard
			store := raft.NewInmemStore()
			snaps := raft.NewInmemSnapshotStore()
			if err := raft.BootstrapCluster(conf, store, store, snaps, trans, raft.Configuration{Servers: servers}); err != nil {
				t.Fatal(err)
			}
			r, err := raft.NewRaft(conf, &countFSM{}, store, store, snaps, trans)
			if err != nil {
				t.Fatal(err)
			}
			nodes[s.ID] = r
			defer func() {
				r.Shutdown().Error()
				trans.Close()
				trans.CloseStreams()
				n.Crash(string(s.ID)) // NetworkTransport.Close leaves accepted connections open
			}()
		}
		// apply writes through whoever leads, other than not, within a virtual minute.
		apply := func(not raft.ServerID) raft.ServerID {
			for end := time.Now().Add(time.Minute); time.Now().Before(end); <-time.After(50 * time.Millisecond) {
				for id, r := range nodes {
					if id != not && r.State() == raft.Leader && r.Apply([]byte("x"), time.Second).Error() == nil {
						return id
					}
				}
			}
			t.Fatal("no leader took a write")
			return ""
		}
		for round := range 5 {
			old := apply("")
			n.Isolate(string(old))
			next := apply(old)
			if nodes[old].State() == raft.Leader {
				<-time.After(5 * time.Second)
				if nodes[old].State() == raft.Leader {
					t.Fatalf("round %d: %s leads without a quorum", round, old)
				}
			}
			n.Rejoin(string(old))
			n.Lossy(uint64(round), 20)
			for range 20 {
				apply("")
			}
			n.Lossy(0, 0)
			n.Delay(string(old), string(next), 3*time.Millisecond)
		}
		var last uint64
		for _, r := range nodes {
			last = max(last, r.LastIndex())
		}
		apply("")
		for end := time.Now().Add(time.Minute); ; <-time.After(10 * time.Millisecond) {
			behind := false
			for _, r := range nodes {
				behind = behind || r.AppliedIndex() <= last
			}
			if !behind {
				break
			}
			if time.Now().After(end) {
				t.Fatal("a node did not catch up after healing")
			}
		}
		synctest.Wait()
	})
}
