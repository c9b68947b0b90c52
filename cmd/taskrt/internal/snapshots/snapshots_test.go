package snapshots

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/taskrt/taskrt/api/snapshot"
	"github.com/taskrt/taskrt/backup"
	"github.com/taskrt/taskrt/backup/sealed"
	"github.com/taskrt/taskrt/internal/terminal"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// node sends a stream that it was given.
type node struct{ stream []byte }

func (n node) Save(_ context.Context, r snapshot.SaveRequest) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(n.stream)), r.Check()
}

func (node) Begin(context.Context) (*snapshot.BeginReply, error) { return nil, errors.New("not asked") }

func (node) Holds(context.Context) (*snapshot.HoldsReply, error) { return nil, errors.New("not asked") }

// write writes a backup of an empty cluster, or one that its writer gives up.
func write(t *testing.T, whole bool) []byte {
	t.Helper()
	f := task.NewMachine().Freeze()
	h := backup.Header{Cluster: "c1", Node: "n1", Begun: time.Unix(1, 0).UTC(), LogFormat: wire.Format, WithBlobs: true}
	h.Describe(f)
	var out bytes.Buffer
	w, err := backup.NewWriter(&out, h)
	if err == nil {
		err = w.State(f)
	}
	if whole {
		err = errors.Join(err, w.Close())
	} else {
		err = errors.Join(err, w.BreakOff(errors.New("the hold is over")))
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestSave: a file is there when it is whole, and only then; with a key it is encrypted (SPEC C8).
func TestSave(t *testing.T) {
	t.Parallel()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	good := write(t, true)
	for _, x := range []struct {
		name   string
		stream []byte
		keys   []age.Recipient
		want   error
	}{
		{"plain", good, nil, nil},
		{"encrypted", good, []age.Recipient{id.Recipient()}, nil},
		{"cut", good[:len(good)-1], nil, backup.ErrTruncated},
		{"cut and encrypted", good[:len(good)-1], []age.Recipient{id.Recipient()}, backup.ErrTruncated},
		{"broken off", write(t, false), nil, backup.ErrBrokenOff},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "backup")
		var said bytes.Buffer
		out := terminal.Answer{Output: terminal.New(&said), Status: terminal.New(&said)}
		if err := save(t.Context(), node{x.stream}, snapshot.SaveRequest{}, file, x.keys, out); !errors.Is(err, x.want) {
			t.Errorf("%s: %v, want %v", x.name, err, x.want)
		}
		left, err := os.ReadDir(dir)
		if err != nil || (len(left) == 0) != (x.want != nil) || len(left) > 1 {
			t.Fatalf("%s leaves %v, %v", x.name, left, err)
		}
		if x.want != nil {
			continue
		}
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", x.name, info.Mode(), err)
		}
		if err := verify(t.Context(), source{path: file, keys: []age.Identity{id}}, out); err != nil {
			t.Errorf("%s: %v", x.name, err)
		}
		if err := verify(t.Context(), source{path: file}, out); errors.Is(err, sealed.ErrSealed) != (x.keys != nil) {
			t.Errorf("%s, without the secret key: %v", x.name, err)
		}
	}
}
