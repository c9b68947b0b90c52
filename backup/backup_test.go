package backup_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/taskrt/taskrt/backup"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// cluster is a state, and the files that it knows.
type cluster struct {
	t     testing.TB
	m     *task.Machine
	files map[string][]byte
}

func (c *cluster) apply(cmd task.Command) task.Result {
	c.t.Helper()
	rs, _ := c.m.Apply(task.Header{Index: c.m.Index() + 1, Term: 3, Now: 1_700_000_000_000, LeaseNow: 5}, []task.Proposal{{Command: cmd}})
	if rs[0].Code != task.OK {
		c.t.Fatalf("%T: %+v", cmd, rs[0])
	}
	return rs[0]
}

func (c *cluster) put(b []byte) string {
	d := digestOf(b)
	c.apply(task.NoteBlob{Digest: d, Size: int64(len(b))})
	c.apply(task.NoteBlob{Digest: d, Size: int64(len(b)), Ready: true})
	c.files[d] = b
	return d
}

// noise returns bytes that do not compress.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(b)
	return b
}

// newCluster has records of many kinds, blobs of several sizes, a module without a blob's record, and an upload that has not ended.
func newCluster(t testing.TB, tasks int) *cluster {
	c := &cluster{t: t, m: task.NewMachine(), files: map[string][]byte{}}
	c.apply(task.RaiseLevel{Level: 2})
	c.apply(task.RaiseLevel{Level: 3})
	module := []byte("old module")
	c.files[digestOf(module)] = module
	c.apply(task.Activate{
		Namespace: task.DefaultNamespace, Module: task.Module{Digest: digestOf(module), Version: "v", Manifest: []byte("{}"), Size: int64(len(module))},
		Behaviors: []task.Activated{{Name: "echo", Policy: task.DefaultPolicy()}},
	})
	c.apply(task.Activate{
		Namespace: task.SystemNamespace, Module: task.Module{Digest: task.NativeMaintenance, Version: "v"},
		Behaviors: []task.Activated{{Name: task.MaintenanceBehavior, Policy: task.DefaultPolicy()}},
	})
	c.apply(task.CreateToken{Name: "ci", Roles: 3, Namespaces: []string{"*"}, Behaviors: []string{"*"}, Hash: noise(32), TTL: 1 << 40})
	for _, b := range [][]byte{nil, []byte("small"), bytes.Repeat([]byte{0}, 3<<20+7), noise(1 << 20), noise(2<<20 + 1)} {
		d := c.put(b)
		c.apply(task.Submit{
			Namespace: task.DefaultNamespace, ID: "needs-" + d[:8], Behavior: "echo",
			Params: task.Payload{Encoding: task.Bytes, Blobs: &task.Blobs{Content: d, Size: int64(len(b))}},
		})
	}
	c.apply(task.NoteBlob{Digest: digestOf([]byte("under way")), Size: 9})
	for i := range tasks {
		c.apply(task.Submit{Namespace: task.DefaultNamespace, ID: fmt.Sprint("task-", i), Behavior: "echo", Params: task.Payload{Encoding: task.JSON, Data: []byte(`{"a":1}`)}})
	}
	return c
}

func (c *cluster) header(f *task.Frozen) backup.Header {
	d, blobs := f.Digest(), backup.Needed(f)
	h := backup.Header{
		Cluster: "c1", Node: "n1", Version: "0.2.0", Begun: time.Unix(1, 0).UTC(), Index: d.Index, Term: 3, Digest: d.Sum, LogFormat: wire.Format, Level: c.m.Level(),
		WithBlobs: true, Blobs: int64(len(blobs)),
	}
	for _, b := range blobs {
		h.BlobBytes += b.Size
	}
	return h
}

// write writes a backup; change may change its header.
func (c *cluster) write(w io.Writer, change func(*backup.Header)) error {
	f := c.m.Freeze()
	h := c.header(f)
	if change != nil {
		change(&h)
	}
	b, err := backup.NewWriter(w, h)
	if err == nil {
		err = b.State(f)
	}
	if err != nil {
		return err
	}
	for _, x := range backup.Needed(f) {
		if content, ok := c.files[x.Digest]; ok {
			err = b.Blob(x, iotest.HalfReader(bytes.NewReader(content)))
		} else {
			err = b.Missing(x)
		}
		if err != nil {
			return err
		}
	}
	return b.Close()
}

func (c *cluster) file(change func(*backup.Header)) []byte {
	c.t.Helper()
	var b bytes.Buffer
	if err := c.write(&b, change); err != nil {
		c.t.Fatal(err)
	}
	return b.Bytes()
}

// TestRoundTrip: what is read is what was written, the state and every blob, by readers that come in any pieces (SPEC C8).
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 20_000)
	file := c.file(nil)
	if len(file) > 6<<20 {
		t.Errorf("%d bytes: zeros are not packed", len(file))
	}
	b, err := backup.NewReader(iotest.HalfReader(bytes.NewReader(file)))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if got, want := b.Header(), c.header(c.m.Freeze()); got != want {
		t.Errorf("header %+v, want %+v", got, want)
	}
	m, err := b.Machine()
	if err != nil {
		t.Fatal(err)
	}
	if m.Digest() != c.m.Digest() || m.Check() != nil {
		t.Errorf("restored to %+v, want %+v: %v", m.Digest(), c.m.Digest(), m.Check())
	}
	got := map[string][]byte{}
	for {
		x, err := b.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if got[x.Digest], err = io.ReadAll(x); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != 6 {
		t.Errorf("%d blobs", len(got))
	}
	for d, want := range c.files {
		if !bytes.Equal(got[d], want) {
			t.Errorf("blob %s has %d bytes, want %d", d, len(got[d]), len(want))
		}
	}
	if b.Position() != int64(len(file)) || b.End().Blobs != 6 || b.End().Missing != 0 {
		t.Errorf("at %d of %d: %+v", b.Position(), len(file), b.End())
	}
}

// loseLarge makes the blobs missing that would make the file large.
func (c *cluster) loseLarge() {
	for d, b := range c.files {
		if len(b) > 100 {
			delete(c.files, d)
		}
	}
}

func verify(file []byte) (*backup.Verified, error) {
	return backup.Verify(bytes.NewReader(file), nil)
}

func TestVerify(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 10)
	var seen backup.End
	progress := func(_ backup.Header, x backup.End) { seen = x }
	v, err := backup.Verify(bytes.NewReader(c.file(nil)), progress)
	if err != nil || v.End.Blobs != 6 || len(v.Missing) != 0 || seen.BlobBytes != v.End.BlobBytes {
		t.Fatalf("%+v, %v", v, err)
	}
	if checked, err := backup.Check(bytes.NewReader(c.file(nil)), progress); err != nil || checked.End != v.End || checked.Header != v.Header {
		t.Errorf("checked: %+v, %v", checked, err)
	}
	without := func(h *backup.Header) { h.WithBlobs = false }
	for _, x := range []struct {
		name   string
		change func(*backup.Header)
		want   error
	}{
		{"another index", func(h *backup.Header) { h.Index++ }, backup.ErrDamaged},
		{"another digest", func(h *backup.Header) { h.Digest++ }, backup.ErrDamaged},
		{"a later log", func(h *backup.Header) { h.LogFormat++ }, backup.ErrVersion},
		{"a later level", func(h *backup.Header) { h.Level = task.KnownLevel + 1 }, backup.ErrVersion},
		{"another level", func(h *backup.Header) { h.Level-- }, backup.ErrDamaged},
	} {
		if _, err := verify(c.file(x.change)); !errors.Is(err, x.want) {
			t.Errorf("%s: %v, want %v", x.name, err, x.want)
		}
	}
	lost := digestOf([]byte("small"))
	delete(c.files, lost)
	v, err = verify(c.file(nil))
	if err != nil || len(v.Missing) != 1 || v.Missing[0].Digest != lost || v.End.Missing != 1 {
		t.Errorf("one blob is missing: %+v, %v", v, err)
	}
	var b bytes.Buffer
	f := c.m.Freeze()
	h := c.header(f)
	without(&h)
	w, err := backup.NewWriter(&b, h)
	if err == nil {
		err = errors.Join(w.State(f), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if v, err := verify(b.Bytes()); err != nil || v.Header.Blobs != 6 || v.End.Blobs != 0 {
		t.Errorf("without blobs: %+v, %v", v, err)
	}
}

// TestForeignBlobs: a file whose blobs are not those of its state is refused, though every blob is itself.
func TestForeignBlobs(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	f := c.m.Freeze()
	known := backup.Needed(f)
	foreign := backup.Blob{Digest: strings.Repeat("f", 64), Size: 1}
	for name, blobs := range map[string][]backup.Blob{
		"one too few": known[:len(known)-1], "not the first": known[1:], "another one": append(slices.Clone(known[:len(known)-1]), foreign), "one too many": append(slices.Clone(known), foreign),
	} {
		var b bytes.Buffer
		h := c.header(f)
		h.Blobs = int64(len(blobs))
		w, err := backup.NewWriter(&b, h)
		if err == nil {
			err = w.State(f)
		}
		for _, x := range blobs {
			err = errors.Join(err, w.Missing(x))
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := verify(b.Bytes()); !errors.Is(err, backup.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCut: a file that ends anywhere before its end is no backup, and the error says where.
func TestCut(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 10)
	c.loseLarge()
	file := c.file(nil)
	for n := range len(file) {
		_, err := verify(file[:n])
		if _, checked := backup.Check(bytes.NewReader(file[:n]), nil); errors.Is(checked, backup.ErrTruncated) != errors.Is(err, backup.ErrTruncated) {
			t.Fatalf("cut after %d bytes: %v, checked: %v", n, err, checked)
		}
		switch {
		case n < 18 && !errors.Is(err, backup.ErrNoBackup):
			t.Fatalf("cut after %d bytes: %v", n, err)
		case n >= 18 && (!errors.Is(err, backup.ErrTruncated) || !strings.Contains(err.Error(), "at byte ")):
			t.Fatalf("cut after %d bytes: %v", n, err)
		}
	}
	if _, err := verify(append(slices.Clone(file), 0)); !errors.Is(err, backup.ErrDamaged) || !strings.Contains(err.Error(), "behind the last piece") {
		t.Errorf("longer: %v", err)
	}
	broken := errors.New("the disk has gone")
	if _, err := backup.Verify(io.MultiReader(bytes.NewReader(file[:len(file)/2]), iotest.ErrReader(broken)), nil); !errors.Is(err, broken) || errors.Is(err, backup.ErrTruncated) {
		t.Errorf("a disk that fails: %v", err)
	}
}

// TestFlipped: one bit that differs is found, wherever it is, and the error says where.
func TestFlipped(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 10)
	c.loseLarge()
	file := c.file(nil)
	for at := range file {
		b := slices.Clone(file)
		b[at] ^= 1 << (at % 8)
		_, err := verify(b)
		want := backup.ErrDamaged
		switch {
		case at < 16:
			want = backup.ErrNoBackup
		case at < 18:
			want = backup.ErrVersion
		case errors.Is(err, backup.ErrTruncated): // a length that became longer, in the last piece
			want = backup.ErrTruncated
		}
		if !errors.Is(err, want) || at >= 16 && !strings.Contains(err.Error(), "at byte ") {
			t.Fatalf("bit %d of byte %d: %v", at%8, at, err)
		}
	}
}

// TestVersions: a file of another format names both formats; something else is said to be something else.
func TestVersions(t *testing.T) {
	t.Parallel()
	file := newCluster(t, 0).file(nil)
	for _, format := range []byte{0, 2, 200} {
		b := slices.Clone(file)
		b[17] = format
		_, err := verify(b)
		if want := fmt.Sprintf("format %d at byte 16, and this build reads format 1", format); !errors.Is(err, backup.ErrVersion) || !strings.Contains(err.Error(), want) {
			t.Errorf("format %d: %v", format, err)
		}
	}
	if _, err := verify([]byte(strings.Repeat("a zip or so ", 9))); !errors.Is(err, backup.ErrNoBackup) {
		t.Errorf("something else: %v", err)
	}
}

// TestBrokenOff: who reads a backup that its writer gave up learns why.
func TestBrokenOff(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 10)
	var b bytes.Buffer
	f := c.m.Freeze()
	w, err := backup.NewWriter(&b, c.header(f))
	if err == nil {
		err = errors.Join(w.State(f), w.BreakOff(errors.New("the hold is over")))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := verify(b.Bytes()); !errors.Is(err, backup.ErrBrokenOff) || !strings.Contains(err.Error(), `by node "n1": the hold is over`) {
		t.Errorf("%v", err)
	}
}

// TestWriterRefuses: no file is finished that a reader would refuse.
func TestWriterRefuses(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 0)
	f := c.m.Freeze()
	blobs := backup.Needed(f)
	begin := func() *backup.Writer {
		w, err := backup.NewWriter(io.Discard, c.header(f))
		if err == nil {
			err = w.State(f)
		}
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	content := bytes.NewReader
	for name, do := range map[string]func(*backup.Writer) error{
		"other bytes":  func(w *backup.Writer) error { return w.Blob(blobs[0], content([]byte("x"))) },
		"no digest":    func(w *backup.Writer) error { return w.Missing(backup.Blob{Digest: "x"}) },
		"twice":        func(w *backup.Writer) error { return errors.Join(w.Missing(blobs[0]), w.Missing(blobs[0])) },
		"out of order": func(w *backup.Writer) error { return errors.Join(w.Missing(blobs[1]), w.Missing(blobs[0])) },
		"too few":      func(w *backup.Writer) error { return w.Close() },
	} {
		if err := do(begin()); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	full := errors.New("no space left")
	for room := range int64(3) {
		if err := c.write(&small{left: room << 20, err: full}, nil); !errors.Is(err, full) {
			t.Errorf("a disk with %d MiB: %v", room, err)
		}
	}
}

// small is a disk that is full after some bytes.
type small struct {
	left int64
	err  error
}

func (s *small) Write(b []byte) (int, error) {
	if s.left -= int64(len(b)); s.left < 0 {
		return 0, s.err
	}
	return len(b), nil
}

func FuzzVerify(f *testing.F) {
	c := newCluster(f, 3)
	c.loseLarge()
	f.Add(c.file(nil))
	f.Fuzz(func(t *testing.T, file []byte) {
		v, err := verify(file)
		if err != nil {
			return
		}
		if _, err := json.Marshal(v); err != nil || v.End.Pieces == 0 {
			t.Fatalf("%+v: %v", v, err)
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	c := newCluster(b, 100_000)
	var size int64
	for b.Loop() {
		counted := &small{left: 1 << 40}
		if err := c.write(counted, nil); err != nil {
			b.Fatal(err)
		}
		size = 1<<40 - counted.left
	}
	b.ReportMetric(float64(size)/(1<<20), "MiB")
}
