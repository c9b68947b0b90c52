package guard

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/internal/memnet"
	"github.com/taskrt/taskrt/raftstore/logstore"
)

// TestOpenRefuses: a node whose log lacks what its snapshots show is told so, and holds nothing afterwards: its log can be opened again.
func TestOpenRefuses(t *testing.T) {
	for _, kind := range []logstore.Kind{logstore.Bolt, logstore.WAL} {
		t.Run(string(kind), func(t *testing.T) {
			dir := t.TempDir()
			snaps, err := raft.NewFileSnapshotStoreWithLogger(dir, 2, hclogTo(slog.New(slog.DiscardHandler)))
			if err != nil {
				t.Fatal(err)
			}
			sink, err := snaps.Create(raft.SnapshotVersionMax, 10, 4, raft.Configuration{}, 1, nil)
			if err == nil {
				err = sink.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				lock, err := os.Create(filepath.Join(dir, "lock"))
				if err != nil {
					t.Fatal(err)
				}
				net := memnet.New()
				r, err := Open(Config{
					Dir: dir, Lock: lock, Identity: "n1/a", Net: net.Node("n1:1"), LogStore: kind,
					Where: func(string) (string, bool) { return "", false }, Fail: func(error) {}, Slow: func() {},
					Readable: func(io.Reader) error { return nil }, Logger: slog.New(slog.DiscardHandler),
				})
				if r != nil || !errors.Is(err, errLogIncomplete) {
					t.Errorf("a snapshot of term 4 without a log: %v", err)
				}
				net.Close()
			}
		})
	}
}
