package members

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/internal/memdir"
	"github.com/taskrt/taskrt/raftstore/rpc"
)

// quiet is the raft of a node that belongs to no cluster, and knows nobody.
type quiet struct{ noRaft }

func (quiet) State() raft.RaftState                             { return raft.Follower }
func (quiet) CurrentTerm() uint64                               { return 0 }
func (quiet) CommitIndex() uint64                               { return 0 }
func (quiet) LeaderWithID() (raft.ServerAddress, raft.ServerID) { return "", "" }
func (quiet) LogEnd() (term, index uint64)                      { return 0, 0 }

// stranger is a node that belongs to no cluster, and fails the test if somebody stops it.
func stranger(t testing.TB) *Members {
	t.Helper()
	b, err := OpenBook(memdir.New(t), Peer{ID: "n1", Addr: "n1:1", Format: 2, Level: 3})
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{
		Logger: slog.New(slog.DiscardHandler), Level: func() uint64 { return 1 }, Fail: func(err error) { t.Log(err) },
		FailDisk: func(err error) { t.Error(err) }, Gone: func(string, string) bool { return false },
	}, b, quiet{}, nil)
}

// FuzzAnswer: whatever a peer asks about members is answered or refused. It breaks nothing, and nobody fills the book (SPEC A11).
func FuzzAnswer(f *testing.F) {
	for kind, q := range map[byte]any{
		rpc.KindHello: hello{Self: Peer{ID: "n2", Instance: "b", Addr: "n2:1", Incarnation: 1, Format: 2, Level: 3}, Expect: 3, Join: true, Known: []Peer{
			{ID: "n3", Instance: "c", Addr: "n3:1", Incarnation: 2},
		}},
		rpc.KindPromise: promiseRequest{Founder: "n2/b", Set: []string{"n2/b"}, Cluster: "x"},
		rpc.KindRefused: refusedRequest{Leader: "n2/b", Term: 1},
	} {
		body, err := cbor.Marshal(q)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(kind, body)
	}
	m := stranger(f)
	f.Fuzz(func(t *testing.T, kind byte, body []byte) {
		status, answer := m.Answer(context.Background(), "n2/b", kind, body)
		if status != rpc.StatusOK && status != rpc.StatusRefused || status == rpc.StatusRefused && len(answer) == 0 {
			t.Errorf("status %d, %q", status, answer)
		}
		if n := len(m.book.all()); n > maxPeers {
			t.Errorf("%d peers are known", n)
		}
	})
}

// TestPeersAreBounded: who names thousands of nodes does not fill the book.
func TestPeersAreBounded(t *testing.T) {
	m := stranger(t)
	var all []Peer
	for i := range 2 * maxPeers {
		all = append(all, Peer{ID: fmt.Sprint("x", i), Instance: strings.Repeat("y", 16), Addr: "x:1", Incarnation: 1})
	}
	for i := range 3 {
		m.learn(hello{Self: Peer{ID: "n2", Instance: fmt.Sprint(i), Addr: "n2:1", Incarnation: 1}, Known: all}, true)
	}
	if n := len(m.book.all()); n != maxPeers {
		t.Errorf("%d peers are known", n)
	}
	for i := range 2 * maxPeers {
		m.learn(hello{Self: Peer{ID: "n2", Instance: fmt.Sprint("again", i), Addr: "n2:1", Incarnation: 1}}, true)
	}
	if n := len(m.contacts); n > maxPeers {
		t.Errorf("%d have been met", n)
	}
	last := Peer{ID: "n4", Instance: "z", Addr: "n4:1", Incarnation: 1}
	if m.learn(hello{Self: last}, true); m.contacts[last.Identity()] == nil {
		t.Error("a newcomer is not heard any more")
	}
	if _, known := m.book.Lookup(last.Identity()); !known {
		t.Error("a newcomer finds no room")
	}
}
