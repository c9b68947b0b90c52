package wire

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// sameTask holds the two codecs against each other with one task, and with what becomes of it when changes are made to its
// bytes.
func sameTask(t testing.TB, r *rand.Rand, changes []byte) (byHand, read int) {
	var x task.Task
	random(r, reflect.ValueOf(&x).Elem())
	want, err := appendByLibrary([]byte{7}, &x)
	if err != nil {
		t.Fatal(err)
	}
	got, err := AppendTask([]byte{7}, &x)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%+v\nby hand: %x %v\nlibrary: %x", x, got, err, want)
	}
	if _, ok := appendTask(nil, &x); ok {
		byHand++
	}
	b := got[1:]
	if namespace, id, behavior := TaskNames(b); string(namespace) != x.Namespace || string(id) != x.ID || string(behavior) != x.Behavior {
		t.Fatalf("%+v: %q, %q, %q", x, namespace, id, behavior)
	}
	for _, c := range append([]byte{0}, changes...) {
		if c != 0 {
			b = bytes.Clone(b)
			if at := r.IntN(len(b)); c%2 == 0 {
				b[at] ^= 1 << (c >> 5)
			} else {
				b[at] = c
			}
		}
		var lib task.Task
		libErr := cborModes.strict.Unmarshal(b, &lib)
		rec, err := decodeRecord(tagTask, b, new(names))
		if (err == nil) != (libErr == nil) || err == nil && !reflect.DeepEqual(rec, &lib) {
			t.Fatalf("%x\nby hand: %+v %v\nlibrary: %+v %v", b, rec, err, lib, libErr)
		}
		if err == nil {
			read++
		}
	}
	return byHand, read
}

func TestTaskIsTheLibrarys(t *testing.T) {
	byHand, read := 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 2))
		changes := make([]byte, 6)
		for i := range changes {
			changes[i] = byte(1 + r.IntN(255))
		}
		h, n := sameTask(t, r, changes)
		byHand, read = byHand+h, read+n
	}
	if byHand < 1000 || read < 4000 {
		t.Errorf("%d written by hand, %d read after changes: the test has lost its point", byHand, read)
	}
}

// TestTaskReadByHand: what this build writes of an ordinary task is never left to the library, and every field is known.
func TestTaskReadByHand(t *testing.T) {
	typ := reflect.TypeFor[task.Task]()
	for i := range typ.NumField() { // each field alone: all of them are too many for a map of 23
		var x task.Task
		next := int64(1)
		fill(reflect.ValueOf(&x).Elem().Field(i), &next)
		b, ok := appendTask(nil, &x)
		if got := readTask(b, new(names)); !ok || !reflect.DeepEqual(got, &x) {
			t.Errorf("%s: %t, read %+v, want %+v", typ.Field(i).Name, ok, got, x)
		}
	}
}

func TestDecodeTaskPassesOverTheUnknown(t *testing.T) {
	type later struct {
		task.Task
		New string `cbor:"90,keyasint"`
	}
	b, err := appendByLibrary(nil, later{task.Task{ID: "abc", Rev: 7}, "x"})
	if err != nil {
		t.Fatal(err)
	}
	if x, err := DecodeTask(b); err != nil || x.ID != "abc" || x.Rev != 7 {
		t.Errorf("%+v, %v", x, err)
	}
	if _, err := decodeRecord(tagTask, b, new(names)); err == nil {
		t.Error("a snapshot was read past a field that this build does not know")
	}
}

func FuzzTask(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, []byte{1, 2, 200, 77})
	}
	f.Fuzz(func(t *testing.T, seed uint64, changes []byte) {
		sameTask(t, rand.New(rand.NewPCG(seed, 3)), changes[:min(len(changes), 100)])
	})
}

// ordinary is a task that has run once.
func ordinary() *task.Task {
	return &task.Task{
		Namespace: "default", ID: "0198c0de-0000-7000-8000-000000000001", Behavior: "echo", Version: "v1", Status: task.Success,
		Params: task.Payload{Encoding: task.JSON, Data: make([]byte, 256)}, Result: task.Payload{Encoding: task.JSON, Data: make([]byte, 256)},
		Attempt: 1, Rev: 7, CreatedRev: 6, Priority: 4, CreatedAt: 1_700_000_000_000, StartedAt: 1_700_000_000_001, FinishedAt: 1_700_000_000_002,
		Ended:   &task.Ended{Token: 9, Finish: 1 << 60},
		History: []task.Attempt{{Number: 1, Token: 9, Worker: "n1", Node: "n1", StartedAt: 1_700_000_000_001, FinishedAt: 1_700_000_000_002, Outcome: "SUCCESS", Fuel: 77}},
	}
}

func BenchmarkTask(b *testing.B) {
	x := ordinary()
	enc, err := AppendTask(nil, x)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		var buf []byte
		for b.Loop() {
			if buf, err = AppendTask(buf[:0], x); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encode/library", func(b *testing.B) {
		b.ReportAllocs()
		var buf []byte
		for b.Loop() {
			if buf, err = appendByLibrary(buf[:0], x); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		shared := new(names)
		for b.Loop() {
			if readTask(enc, shared) == nil {
				b.Fatal("not read")
			}
		}
	})
	b.Run("decode/library", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := cborModes.strict.Unmarshal(enc, new(task.Task)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestReadTakesLittleMemory: a task or a finish that is read from the front of many takes memory for itself, none for its neighbors,
// which others read.
func TestReadTakesLittleMemory(t *testing.T) {
	x := &task.Task{Namespace: "default", ID: "id", Params: task.Payload{Encoding: task.JSON, Data: make([]byte, 100)}}
	one, err := AppendTask(nil, x)
	if err != nil {
		t.Fatal(err)
	}
	many := append(one, make([]byte, 64<<10)...)
	finishes := append(AppendFinish(nil, &task.Finish{Key: x.Key(), Result: x.Params}), make([]byte, 64<<10)...)
	const times, most = 1000, 1500
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range times {
		if got, rest := ReadTask(many); got == nil || len(rest) != 64<<10 {
			t.Fatal("not read")
		}
		if got, rest := ReadFinish(finishes); got == nil || len(rest) != 64<<10 {
			t.Fatal("not read")
		}
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / times; n > 2*most {
		t.Errorf("both take %d bytes", n)
	}
}
