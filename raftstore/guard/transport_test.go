package guard

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/internal/memnet"
)

func openTransport(net *memnet.Net, id string) transport {
	c := Config{
		Identity: id + "/a", Net: net.Node(id + ":1"), RPCTimeout: 10 * time.Second, Logger: slog.New(slog.DiscardHandler),
		Where: func(identity string) (string, bool) { return identity[:2] + ":1", true },
	}
	return newTransport(&c, &snapLog{}, unbounded, func(raft.ServerAddress, uint64) bool { return false }, &yields{slow: func() bool { return false }})
}

// TestDeposed: raft never sees what a leader sends from a later term than its own. What comes after it on the same connection arrives.
func TestDeposed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := memnet.New()
		defer net.Close()
		leader, follower := openTransport(net, "n1"), openTransport(net, "n2")
		defer leader.shut()
		defer follower.shut()
		seen := make(chan any, 10)
		go func() {
			for {
				select {
				case rpc := <-follower.Consumer():
					seen <- rpc.Command
					rpc.Respond(&raft.AppendEntriesResponse{Term: 3, Success: true}, nil)
				case <-follower.layer.done:
					return
				}
			}
		}()
		header := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, Addr: []byte("n1/a")}
		entries := func(terms ...uint64) (es []*raft.Log) {
			for i, term := range terms {
				es = append(es, &raft.Log{Index: uint64(10 + i), Term: term})
			}
			return es
		}
		for _, c := range []struct {
			req  raft.AppendEntriesRequest
			want bool
		}{
			{raft.AppendEntriesRequest{Term: 3, PrevLogTerm: 4}, false},
			{raft.AppendEntriesRequest{Term: 3, PrevLogTerm: 3, Entries: entries(3, 4)}, false},
			{raft.AppendEntriesRequest{Term: 3, PrevLogTerm: 3, Entries: entries(3, 3)}, true},
			{raft.AppendEntriesRequest{Term: 3, PrevLogTerm: 2}, true},
		} {
			c.req.RPCHeader = header
			err := leader.AppendEntries("n2", "n2/a", &c.req, &raft.AppendEntriesResponse{})
			if c.want && err != nil || !c.want && (err == nil || !strings.Contains(err.Error(), errDeposed.Error())) {
				t.Errorf("entries %+v: %v", c.req, err)
			}
		}
		snapshot := &raft.InstallSnapshotRequest{RPCHeader: header, Term: 3, LastLogTerm: 4, Size: 1 << 20}
		err := leader.InstallSnapshot("n2", "n2/a", snapshot, &raft.InstallSnapshotResponse{}, bytes.NewReader(make([]byte, 1<<20)))
		if err == nil || !strings.Contains(err.Error(), errDeposed.Error()) {
			t.Errorf("a snapshot: %v", err)
		}
		if n := len(seen); n != 2 {
			t.Errorf("raft has seen %d requests, want 2", n)
		}
	})
}

// TestNoHeartbeatFastPath: heartbeats must pass through raft's main loop (raft #695).
func TestNoHeartbeatFastPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := memnet.New()
		defer net.Close()
		leader, follower := openTransport(net, "n1"), openTransport(net, "n2")
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
