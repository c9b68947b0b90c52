package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/task"
)

// machine returns a machine with a record of every kind.
func machine(t testing.TB, tasks int) *task.Machine {
	m := task.NewMachine()
	index := uint64(0)
	apply := func(c task.Command) task.Result {
		index = m.Index() + 1
		rs, _ := m.Apply(task.Header{Index: index, Term: 1, Now: 1000, LeaseNow: 1}, []task.Proposal{
			{Command: c, Origin: task.Origin{Process: 7, Seq: index, Lowest: max(1, index-min(index, 5))}},
		})
		if rs[0].Code != task.OK {
			t.Fatalf("%T: %s", c, rs[0].Code)
		}
		return rs[0]
	}
	policy := task.DefaultPolicy()
	policy.IDFrom, policy.ParamsSchema = []string{"/a"}, []byte("{}")
	apply(task.Activate{
		Namespace: task.DefaultNamespace, Module: task.Module{Digest: "m", Version: "v", Manifest: []byte("{}"), Size: 3},
		Behaviors: []task.Activated{{Name: "echo", Policy: policy}},
	})
	index++
	m.Apply(task.Header{Index: index, Term: 1, Now: 1000, LeaseNow: 1}, []task.Proposal{
		{Command: task.Tick{}, Origin: task.Origin{Process: 8, Seq: 1, Lowest: 1, Body: 9}},
		{Command: task.Tick{}, Origin: task.Origin{Process: 8, Seq: 2, Lowest: 1, Body: 9}},
	})
	apply(task.OpenSession{Worker: "w", Node: "n", Slots: 1 << 20, TTL: 1e6, Proof: []byte("p")})
	for i := range tasks {
		k := task.Key{Namespace: task.DefaultNamespace, ID: fmt.Sprintf("task-%d", i)}
		x := apply(task.Submit{
			Namespace: k.Namespace, ID: k.ID, Behavior: "echo", Params: task.Payload{Encoding: task.JSON, Data: []byte("{}")},
			Labels: []task.Label{{Name: "a", Value: "b\xff"}}, Deadline: 5000,
		}).Task
		if i%4 == 0 {
			continue
		}
		l := apply(task.Assign{Key: k, Rev: x.Rev, Session: 1}).Task.Lease
		switch i % 4 {
		case 1:
			apply(task.Beat{Key: k, Token: l.Token, Seq: 2, Progress: &task.Payload{Encoding: task.JSON, Data: []byte("1")}})
		case 2:
			apply(task.Finish{Key: k, Token: l.Token, Result: task.Payload{Encoding: task.Bytes, Data: []byte{0, 255}}})
		case 3:
			apply(task.Finish{Key: k, Token: l.Token, Error: &task.Error{Code: "X", Message: "\xff", Details: task.Payload{Encoding: task.JSON, Data: []byte("1")}}})
		}
	}
	others(apply, m)
	return m
}

// others adds records of the kinds that are not about single tasks.
func others(apply func(task.Command) task.Result, m *task.Machine) {
	digest := strings.Repeat("0f", 32)
	apply(task.RaiseLevel{Level: 2})
	apply(task.CreateToken{Name: "token", Roles: 3, Namespaces: []string{"*"}, Behaviors: []string{"a*", "b"}, Hash: []byte(digest)[:32], TTL: 1 << 40, Rate: 7})
	apply(task.RotateToken{Name: "token", Hash: []byte(digest)[1:33], Overlap: 1 << 30})
	apply(task.SetRoot{Off: true})
	m.Apply(task.Header{Index: m.Index() + 1, Term: 1, Now: 1000, LeaseNow: 1}, []task.Proposal{{
		Caller: task.Caller{Token: 2, From: "10.0.0.1", Route: "PUT /v1/namespaces/{name}", Target: "shop/"}, Command: task.RevokeToken{Name: "nobody"},
	}})
	apply(task.NoteRefusals{Refusals: []task.Refusal{{Token: 2, From: "::1", Route: "GET /v1/tasks", Namespace: "shop", Count: 1 << 40}}})
	apply(task.NoteBlob{Digest: digest, Size: 3})
	apply(task.NoteBlob{Digest: digest, Size: 3, Ready: true})
	apply(task.PutNamespace{Name: "shop", Create: true, Quota: &task.Quota{MaxTasks: 1 << 40, SubmitsPerSecond: 9}, Retention: &task.Retention{Failure: -1}})
	policy := task.DefaultPolicy()
	policy.Operation = &task.OperationPolicy{Concurrency: task.OnePerTarget, Incompatible: []string{"other"}, Complete: "done", Cleanup: "done"}
	apply(task.Activate{
		Namespace: "shop", Module: task.Module{Digest: "op", Version: "v", Manifest: []byte("{}")},
		Behaviors: []task.Activated{{Name: "work", Policy: policy}, {Name: "done", Policy: task.DefaultPolicy()}},
	})
	apply(task.StartOperation{
		Namespace: "shop", ID: "job", Behavior: "work", Target: "t\xff", Object: "o", Partitions: 2, Names: []string{"a", "b\xff"},
		Arg: task.Payload{Encoding: task.JSON, Blobs: &task.Blobs{Content: digest, Size: 3}}, Labels: []task.Label{{Name: "x"}}, Priority: 4,
	})
	assign := func(k task.Key) uint64 {
		return apply(task.Assign{Key: k, Rev: m.Task(k).Rev, Session: 1}).Task.Lease.Token
	}
	k := task.Key{Namespace: "shop", ID: "job:0"}
	apply(task.Finish{Key: k, Token: assign(k), Error: &task.Error{Code: "X"}}) // leaves a cleanup that is bound
	apply(task.StoreUpdate{Namespace: "shop", Client: 1, Adds: []task.StoreAdd{{Group: "g", Data: "d"}}})
	apply(task.Activate{
		Namespace: task.SystemNamespace, Module: task.Module{Digest: task.NativeMaintenance, Version: "n"},
		Behaviors: []task.Activated{{Name: task.MaintenanceBehavior, Policy: task.DefaultPolicy()}},
	})
	k = task.MaintenanceKey()
	apply(task.Submit{Namespace: k.Namespace, ID: k.ID, Behavior: task.MaintenanceBehavior, Priority: 4})
	apply(task.RecordRun{Token: assign(k), Run: task.MaintenanceRun{
		Message: "m\xff", Before: 5, Objects: []task.ObjectCount{{Kind: "task", Scanned: 1}}, Filter: task.FilterStats{Bits: 1},
	}})
}

func snapshot(t testing.TB, m *task.Machine) []byte {
	var b bytes.Buffer
	if err := WriteSnapshot(&b, m.Freeze()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSnapshotRoundTrip(t *testing.T) {
	m := machine(t, 300)
	b := snapshot(t, m)
	restored, err := ReadSnapshot(iotest.OneByteReader(bytes.NewReader(b)))
	if err != nil {
		t.Fatal(err)
	}
	if restored.Digest() != m.Digest() {
		t.Errorf("digest %v, want %v", restored.Digest(), m.Digest())
	}
	if err := restored.Check(); err != nil {
		t.Error(err)
	}
	if again := snapshot(t, restored); !bytes.Equal(again, b) {
		t.Error("the snapshot of the restored machine is not the same bytes")
	}
	// A command sent again is answered from the snapshot's answers.
	h := task.Header{Index: m.Index() + 1, Term: 1}
	p := []task.Proposal{{Command: task.Tick{}, Origin: task.Origin{Process: 7, Seq: m.Index(), Lowest: 1}}}
	a, _ := m.Apply(h, p)
	c, _ := restored.Apply(h, p)
	x, err := EncodeResults(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := EncodeResults(c)
	if err != nil || !bytes.Equal(x, y) || a[0].Index != m.Index()-1 {
		t.Errorf("answers differ after restoring: %v\n%+v\n%+v", err, a, c)
	}
}

// TestDamagedSnapshot cuts, extends and damages a snapshot everywhere: an error, never a panic or another machine.
func TestDamagedSnapshot(t *testing.T) {
	b := snapshot(t, machine(t, 5))
	read := func(b []byte) error {
		_, err := ReadSnapshot(bytes.NewReader(b))
		return err
	}
	for n := range len(b) {
		if err := read(b[:n]); !errors.Is(err, ErrMalformed) {
			t.Fatalf("cut to %d of %d bytes: %v", n, len(b), err)
		}
		damaged := bytes.Clone(b)
		damaged[n] ^= 1 << (n % 8)
		m, err := ReadSnapshot(bytes.NewReader(damaged))
		if err == nil && !bytes.Equal(snapshot(t, m), b) { // it may become another encoding of the same: of an absent 0
			t.Errorf("byte %d of %d damaged: no error", n, len(b))
		}
	}
	if err := read(append(bytes.Clone(b), 0)); !errors.Is(err, ErrMalformed) {
		t.Errorf("trailing byte: %v", err)
	}
	if err := read(append(bytes.Clone(b[:len(b)-2]), 99, 1, 0xa0, 0, 0)); !errors.Is(err, ErrMalformed) {
		t.Errorf("unknown tag: %v", err)
	}
	if err := read(append(bytes.Clone(b[:len(b)-2]), tagTask, 0, 0, 0)); !errors.Is(err, ErrMalformed) {
		t.Errorf("empty record: %v", err)
	}
	huge := append([]byte(snapshotMagic), snapshotVersion, tagTask, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f)
	if err := read(huge); !errors.Is(err, ErrMalformed) {
		t.Errorf("a record of terabytes: %v", err)
	}
	newer := append([]byte(snapshotMagic), snapshotVersion+1)
	if err := read(newer); !errors.Is(err, ErrMalformed) {
		t.Errorf("a newer format: %v", err)
	}
	failed := errors.New("disk")
	if _, err := ReadSnapshot(iotest.ErrReader(failed)); !errors.Is(err, failed) {
		t.Errorf("reading fails: %v", err)
	}
	if err := WriteSnapshot(failingWriter{failed}, machine(t, 5).Freeze()); !errors.Is(err, failed) {
		t.Errorf("writing fails: %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// TestARefusedSnapshotIsLetGo: it is decoded beside the machine that is built; when that refuses it, nobody reads on.
func TestARefusedSnapshotIsLetGo(t *testing.T) {
	whole := snapshot(t, machine(t, 20_000))
	begin := len(snapshotMagic) + 1
	length, n := binary.Uvarint(whole[begin+1:])
	head := whole[begin : begin+1+n+int(length)]
	twice := append(append(bytes.Clone(whole[:begin]), head...), whole[begin:]...)
	synctest.Test(t, func(t *testing.T) { // which fails if a goroutine is left
		r := &slowReader{r: bytes.NewReader(twice)}
		if _, err := ReadSnapshot(r); !errors.Is(err, task.ErrBadSnapshot) {
			t.Errorf("%v", err)
		}
		if r.reading.Load() || r.n > len(twice)/2 {
			t.Errorf("%d bytes of %d were read, still reading: %v", r.n, len(twice), r.reading.Load())
		}
		time.Sleep(time.Second)
	})
}

// slowReader returns little at a time, and each takes a while.
type slowReader struct {
	r       io.Reader
	n       int
	reading atomic.Bool
}

func (s *slowReader) Read(p []byte) (int, error) {
	s.reading.Store(true)
	defer s.reading.Store(false)
	<-time.After(time.Millisecond)
	n, err := s.r.Read(p[:min(len(p), 4<<10)])
	s.n += n
	return n, err
}

func FuzzReadSnapshot(f *testing.F) {
	b := snapshot(f, machine(f, 4))
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ReadSnapshot(bytes.NewReader(b))
		if err != nil {
			return
		}
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkEncodeEntry(b *testing.B) {
	ps := submits(256)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := EncodeEntry(task.Header{}, ps); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/command")
}

func BenchmarkDecodeEntry(b *testing.B) {
	entry, err := EncodeEntry(task.Header{}, submits(256))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := DecodeEntry(entry); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/command")
}

func submits(n int) []task.Proposal {
	var ps []task.Proposal
	for i := range n {
		ps = append(ps, task.Proposal{
			Origin: task.Origin{Process: 1 << 60, Seq: uint64(i + 1), Lowest: 1},
			Command: task.Submit{
				Namespace: task.DefaultNamespace, ID: fmt.Sprintf("0190a0b0-0000-7000-8000-%012d", i), Behavior: "echo",
				Params: task.Payload{Encoding: task.JSON, Data: make([]byte, 256)}, Priority: 4,
			},
		})
	}
	return ps
}

func BenchmarkSnapshot(b *testing.B) {
	m := machine(b, 100_000)
	data := snapshot(b, m)
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			snapshot(b, m)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100_000, "ns/task")
		b.ReportMetric(float64(len(data))/100_000, "bytes/task")
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if _, err := ReadSnapshot(bytes.NewReader(data)); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100_000, "ns/task")
	})
}
