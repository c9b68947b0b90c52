package guard

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/internal/memnet"
)

// TestNoHeartbeatFastPath: heartbeats must pass through raft's main loop (raft #695).
func TestNoHeartbeatFastPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := memnet.New()
		defer net.Close()
		open := func(id string) transport {
			c := Config{
				Identity: id + "/a", Net: net.Node(id + ":1"), RPCTimeout: 10 * time.Second, Logger: slog.New(slog.DiscardHandler),
				Where: func(identity string) (string, bool) { return identity[:2] + ":1", true },
			}
			return newTransport(&c, &snapLog{}, unbounded, func(raft.ServerAddress, uint64) bool { return false }, &yields{slow: func() bool { return false }})
		}
		leader, follower := open("n1"), open("n2")
		defer leader.shut()
		defer follower.shut()
		follower.SetHeartbeatHandler(func(raft.RPC) { t.Error("a heartbeat was handled on the transport's goroutine") })
		answered := make(chan error, 1)
		go func() {
			beat := &raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, Addr: []byte("n1/a")}, Term: 3}
			answered <- leader.AppendEntries("n2", "n2/a", beat, &raft.AppendEntriesResponse{})
		}()
		select {
		case rpc := <-follower.Consumer():
			rpc.Respond(&raft.AppendEntriesResponse{Term: 3, Success: true}, nil)
		case <-time.After(time.Second):
			t.Error("raft never saw the heartbeat")
		}
		if err := <-answered; err != nil {
			t.Error(err)
		}
	})
}
