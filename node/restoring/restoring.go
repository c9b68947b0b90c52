// Package restoring founds a new cluster of a backup, in an empty directory (SPEC C8). DESIGN.md says how.
package restoring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/taskrt/taskrt/backup"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/internal/durable"
	"github.com/taskrt/taskrt/raftstore/logstore"
	"github.com/taskrt/taskrt/raftstore/members"
	"github.com/taskrt/taskrt/raftstore/refound"
	"github.com/taskrt/taskrt/task"
)

// Plan says what is restored, and where.
type Plan struct {
	// Open opens the backup. It is read twice: to verify it, and to restore it.
	Open func() (io.ReadCloser, error)
	// Dir is --dir of the server that will run on it. It is made, or it is empty.
	Dir string
	// Node is the ID of the first node of the new cluster. Approve names nodes that vote as soon as they have joined with empty directories.
	Node    string
	Approve []string
	// DropTokens forgets the access tokens.
	DropTokens bool
	// AllowMissing restores a backup that does not have all blobs that the state knows.
	AllowMissing bool
	// Log is the format of the node's log.
	Log logstore.Kind
	// Progress, if it is not nil, is told how far it is. phase is verify or restore.
	Progress func(phase string, h backup.Header, seen backup.End)
}

// Restored says what was made.
type Restored struct {
	Cluster string        `json:"cluster"` // ID of the new cluster
	Node    string        `json:"node"`
	Dir     string        `json:"dir"`
	Blobs   int64         `json:"blobs"`   // that were put there
	Missing int64         `json:"missing"` // that the state knows, and the backup does not have
	From    backup.Header `json:"from"`
}

// command is how every restore calls itself in a directory that is not finished.
const command = "taskrt snapshot restore"

// ErrNotEmpty says that a directory has something in it.
var ErrNotEmpty = errors.New("a backup is restored into an empty directory only")

// Restore verifies the backup, and turns a directory into that of the only node of a new cluster. A server does not start on the directory before
// Restore has returned nil. If Restore is interrupted, or fails, it can be done again with the same directory.
func Restore(ctx context.Context, p Plan) (*Restored, error) {
	if err := p.room(); err != nil {
		return nil, err
	}
	v, err := p.verify(ctx)
	if err != nil {
		return nil, err
	}
	r := &Restored{Node: p.Node, Dir: p.Dir, From: v.Header, Blobs: v.End.Blobs, Missing: v.Header.Blobs - v.End.Blobs}
	if r.Missing > 0 && !p.AllowMissing {
		return nil, fmt.Errorf("the backup lacks %d of %d blobs that its state knows: tasks that need them will fail; --allow-missing restores it all the same", r.Missing, v.Header.Blobs)
	}
	if r.Cluster, err = p.restore(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

func (p *Plan) raft() string { return filepath.Join(p.Dir, "raft") }

// room makes sure that the directory is empty, or that Restore has begun it and has not finished.
func (p *Plan) room() error {
	unfinished, err := members.Unfinished(p.raft())
	if err != nil {
		return err
	}
	if strings.HasPrefix(unfinished, command) {
		return nil
	}
	entries, err := os.ReadDir(p.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if e.Name() != "lost+found" { // of a file system of its own
			return fmt.Errorf("%w: %s has %q", ErrNotEmpty, p.Dir, e.Name())
		}
	}
	return nil
}

func (p *Plan) progress(phase string) func(backup.Header, backup.End) {
	if p.Progress == nil {
		return nil
	}
	return func(h backup.Header, seen backup.End) { p.Progress(phase, h, seen) }
}

func (p *Plan) verify(ctx context.Context) (*backup.Verified, error) {
	in, err := p.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return backup.Verify(backup.Until(ctx, in), p.progress("verify"))
}

// restore puts the blobs there, and founds the cluster at last.
func (p *Plan) restore(ctx context.Context) (cluster string, err error) {
	if err := p.begin(); err != nil {
		return "", err
	}
	in, err := p.Open()
	if err != nil {
		return "", err
	}
	defer in.Close()
	b, err := backup.NewReader(backup.Until(ctx, in))
	if err != nil {
		return "", err
	}
	defer b.Close()
	m, err := b.Machine()
	if err == nil {
		err = p.blobs(ctx, b)
	}
	if err != nil {
		return "", err
	}
	return p.found(m, b.Header())
}

// begin marks the directory as unfinished, and removes what an earlier attempt has made of a node.
func (p *Plan) begin() error {
	if err := durable.MkdirAll(p.Dir); err != nil {
		return err
	}
	if err := os.RemoveAll(p.raft()); err != nil {
		return err
	}
	if err := durable.MkdirAll(p.raft()); err != nil {
		return err
	}
	_, err := members.Rebegin(p.raft(), p.Node, "", task.KnownLevel, p.again())
	return err
}

// again is what the operator is told to run after an interruption.
func (p *Plan) again() string { return command + " FILE --dir " + p.Dir }

// blobs stores the blobs of the backup.
func (p *Plan) blobs(ctx context.Context, b *backup.Reader) (err error) {
	store, err := blob.Open(blob.Config{Dir: filepath.Join(p.Dir, "blobs")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	tell := p.progress("restore")
	for {
		if tell != nil {
			tell(b.Header(), b.Seen())
		}
		x, err := b.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case x.Missing:
			continue
		case x.Size > blob.DefaultMaxBytes:
			return fmt.Errorf("blob %s has %d bytes, more than %d", x.Digest, x.Size, blob.DefaultMaxBytes)
		}
		data, err := io.ReadAll(x)
		if err != nil {
			return err
		}
		if _, err := store.Put(ctx, data); err != nil {
			return fmt.Errorf("store blob %s: %w", x.Digest, err)
		}
	}
}

// found founds the cluster.
func (p *Plan) found(m *task.Machine, h backup.Header) (cluster string, err error) {
	d, err := refound.Create(p.raft(), p.Log)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	plan := refound.Plan{Node: p.Node, Cluster: refound.NewID(), Approve: p.Approve, DropTokens: p.DropTokens, Command: p.again()}
	return plan.Cluster, d.Found(&refound.State{Node: p.Node, Cluster: h.Cluster, Index: m.Index(), Term: h.Term, Machine: m}, plan)
}
