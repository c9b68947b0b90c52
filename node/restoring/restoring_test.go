package restoring_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/backup"
	"github.com/taskrt/taskrt/blob"
	"github.com/taskrt/taskrt/node/restoring"
	"github.com/taskrt/taskrt/raftstore/logstore"
	"github.com/taskrt/taskrt/raftstore/members"
	"github.com/taskrt/taskrt/raftstore/refound"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// state is a machine with a running task, a waiting one, a token, and a blob that the waiting one needs.
func state(t *testing.T, files map[string][]byte) *task.Machine {
	t.Helper()
	m := task.NewMachine()
	apply := func(c task.Command) task.Result {
		t.Helper()
		rs, _ := m.Apply(task.Header{Index: m.Index() + 1, Term: 4, Now: 1_700_000_000_000, LeaseNow: 5}, []task.Proposal{{Command: c}})
		if rs[0].Code != task.OK {
			t.Fatalf("%T: %+v", c, rs[0])
		}
		return rs[0]
	}
	for level := task.FirstLevel; level < task.MembersLevel; level++ {
		apply(task.RaiseLevel{Level: level + 1})
	}
	apply(task.CreateToken{Name: "ci", Roles: 1, Namespaces: []string{"*"}, Behaviors: []string{"*"}, Hash: bytes.Repeat([]byte{7}, 32)})
	apply(task.PutBehavior{Namespace: task.DefaultNamespace, Name: "out", Version: "v", Policy: task.DefaultPolicy()})
	for d, b := range files {
		apply(task.NoteBlob{Digest: d, Size: int64(len(b))})
		apply(task.NoteBlob{Digest: d, Size: int64(len(b)), Ready: true})
		apply(task.Submit{
			Namespace: task.DefaultNamespace, ID: "waits-" + d[:8], Behavior: "out",
			Params: task.Payload{Encoding: task.Bytes, Blobs: &task.Blobs{Content: d, Size: int64(len(b))}},
		})
	}
	x := apply(task.Submit{Namespace: task.DefaultNamespace, ID: "runs", Behavior: "out"}).Task
	apply(task.Assign{Key: x.Key(), Rev: x.Rev, External: &task.Acceptor{Worker: "w", Lease: 3600_000}})
	return m
}

// bed is a backup, and where it is restored.
type bed struct {
	t     *testing.T
	m     *task.Machine
	files map[string][]byte
	file  []byte
	plan  restoring.Plan
}

func newBed(t *testing.T, change func(*bed)) *bed {
	t.Helper()
	b := &bed{t: t, files: map[string][]byte{}}
	store, err := blob.Open(blob.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, s := range []string{"one", "another", strings.Repeat("long ", 300_000)} {
		d, err := store.Put(t.Context(), []byte(s))
		if err != nil {
			t.Fatal(err)
		}
		b.files[d] = []byte(s)
	}
	b.m = state(t, b.files)
	if change != nil {
		change(b)
	}
	b.write()
	b.plan = restoring.Plan{
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.file)), nil },
		Dir:  filepath.Join(t.TempDir(), "data"), Node: "n7", Approve: []string{"n8"}, Log: logstore.Bolt,
	}
	return b
}

// write writes the backup, without the files that are not there.
func (b *bed) write() {
	b.t.Helper()
	f := b.m.Freeze()
	needed := backup.Needed(f)
	h := backup.Header{Cluster: "c1", Node: "n1", Version: "v", Begun: time.Unix(1, 0).UTC(), LogFormat: wire.Format, WithBlobs: true, Blobs: int64(len(needed))}
	h.Describe(f)
	var out bytes.Buffer
	w, err := backup.NewWriter(&out, h)
	if err == nil {
		err = w.State(f)
	}
	for _, x := range needed {
		if content, ok := b.files[x.Digest]; ok {
			err = errors.Join(err, w.Blob(x, bytes.NewReader(content)))
		} else {
			err = errors.Join(err, w.Missing(x))
		}
	}
	if err = errors.Join(err, w.Close()); err != nil {
		b.t.Fatal(err)
	}
	b.file = out.Bytes()
}

// restored looks at the directory.
func (b *bed) restored() *refound.State {
	b.t.Helper()
	d, err := refound.Open(filepath.Join(b.plan.Dir, "raft"))
	if err != nil {
		b.t.Fatal(err)
	}
	defer d.Close()
	s, err := d.Look()
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func tasks(m *task.Machine) int64 {
	c := m.Counts()
	return c.Created + c.Running + c.Retrying + c.Repeating + c.Success + c.Failure
}

// TestRestore: the directory has the state under another cluster's ID, with higher numbers and no lease, and every blob (SPEC C8).
func TestRestore(t *testing.T) {
	t.Parallel()
	for _, drop := range []bool{false, true} {
		b := newBed(t, nil)
		b.plan.DropTokens = drop
		phases := map[string]bool{}
		b.plan.Progress = func(phase string, h backup.Header, _ backup.End) { phases[phase] = h.Cluster == "c1" }
		r, err := restoring.Restore(t.Context(), b.plan)
		if err != nil {
			t.Fatal(err)
		}
		if r.Blobs != 3 || r.Missing != 0 || r.Node != "n7" || r.From.Cluster != "c1" || !phases["verify"] || !phases["restore"] {
			t.Errorf("%+v, %v", r, phases)
		}
		s := b.restored()
		if s.Node != "n7" || s.Cluster != r.Cluster || s.Cluster == "c1" || len(s.Members) != 1 || s.Index != b.m.Index()+1 || s.Term <= 4 {
			t.Errorf("%+v", s)
		}
		if err := s.Machine.Check(); err != nil {
			t.Error(err)
		}
		k := task.Key{Namespace: task.DefaultNamespace, ID: "runs"}
		if was, is := b.m.Task(k), s.Machine.Task(k); is == nil || is.Lease != nil || s.Machine.Rev() < task.Leap || was.Lease == nil {
			t.Errorf("%+v", is)
		}
		if tasks(s.Machine) != 4 {
			t.Errorf("%+v, want %+v", s.Machine.Counts(), b.m.Counts())
		}
		tokens := int64(1)
		if drop {
			tokens = 0
		}
		var h backup.Header
		if h.Describe(s.Machine.Freeze()); h.Tokens != tokens {
			t.Errorf("%d tokens, want %d", h.Tokens, tokens)
		}
		for d, want := range b.files {
			got, err := os.ReadFile(filepath.Join(b.plan.Dir, "blobs", d[:2], d))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("blob %s: %d bytes, %v", d, len(got), err)
			}
		}
	}
}

// TestRefused: nothing is written where something is, or of a backup that is not right.
func TestRefused(t *testing.T) {
	t.Parallel()
	untouched := func(b *bed) {
		t.Helper()
		if _, err := os.Stat(b.plan.Dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the directory is there: %v", err)
		}
	}
	b := newBed(t, nil)
	b.file = b.file[:len(b.file)-1]
	if _, err := restoring.Restore(t.Context(), b.plan); !errors.Is(err, backup.ErrTruncated) {
		t.Errorf("cut: %v", err)
	}
	untouched(b)
	b = newBed(t, func(b *bed) {
		for d := range b.files {
			delete(b.files, d)
			return
		}
	})
	if _, err := restoring.Restore(t.Context(), b.plan); err == nil || !strings.Contains(err.Error(), "lacks 1 of 3 blobs") {
		t.Errorf("missing: %v", err)
	}
	untouched(b)
	b.plan.AllowMissing = true
	if r, err := restoring.Restore(t.Context(), b.plan); err != nil || r.Missing != 1 || r.Blobs != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := restoring.Restore(t.Context(), b.plan); !errors.Is(err, restoring.ErrNotEmpty) {
		t.Errorf("a second time: %v", err)
	}
	b = newBed(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := restoring.Restore(ctx, b.plan); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	untouched(b)
}

// TestInterrupted: a restore that ended in the middle leaves a directory on which no server starts, and can be done again.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	good := b.plan.Open
	for _, left := range []int{10, len(b.file) / 2, len(b.file) - 10} {
		reads := 0
		b.plan.Open = func() (io.ReadCloser, error) {
			in, err := good()
			if reads++; reads == 2 {
				in = io.NopCloser(io.LimitReader(in, int64(left)))
			}
			return in, err
		}
		if _, err := restoring.Restore(t.Context(), b.plan); err == nil || reads != 2 {
			t.Fatalf("%d bytes: %v", left, err)
		}
		self := members.Peer{ID: "n7", Level: task.KnownLevel}
		if _, err := members.OpenBook(filepath.Join(b.plan.Dir, "raft"), self); err == nil || !strings.Contains(err.Error(), "taskrt snapshot restore FILE --dir "+b.plan.Dir) {
			t.Fatalf("%d bytes: a server would start: %v", left, err)
		}
	}
	b.plan.Open = good
	if _, err := restoring.Restore(t.Context(), b.plan); err != nil {
		t.Fatal(err)
	}
	if s := b.restored(); tasks(s.Machine) != 4 {
		t.Errorf("%+v", s)
	}
}
