package wire

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// randomAnswer makes an answer that mostly says what became of a task, or one thing more.
func randomAnswer(r *rand.Rand) *task.Answer {
	a := &task.Answer{}
	random(r, reflect.ValueOf(a).Elem())
	v := reflect.ValueOf(&a.Result).Elem()
	for _, more := range []string{"Session", "Behavior", "Tasks", "Reasons", "Records", "Refusal", "Operation", "Space", "Count", "Left"} {
		if r.IntN(12) > 0 {
			v.FieldByName(more).SetZero()
		}
	}
	return a
}

// sameAnswer holds the two codecs against each other with an answer of a snapshot, with what becomes of it when changes are
// made to its bytes, and with the Result in it as the answer to another node.
func sameAnswer(t testing.TB, r *rand.Rand, changes []byte) (byHand, read int) {
	a := randomAnswer(r)
	want, err := appendByLibrary([]byte{7}, a)
	if err != nil {
		t.Fatal(err)
	}
	b, err := appendRecord([]byte{7}, a)
	if err != nil || !bytes.Equal(b, want) {
		t.Fatalf("%+v\nby hand: %x %v\nlibrary: %x", a, b, err, want)
	}
	if _, ok := appendAnswer(nil, a); ok {
		byHand++
	}
	sameResults(t, &a.Result)
	b = b[1:]
	for i := -1; i < len(changes); i++ {
		if i >= 0 {
			b = change(r, b, changes[i])
		}
		var lib task.Answer
		libErr := cborModes.strict.Unmarshal(b, &lib)
		got, err := decodeRecord(tagAnswer, b, new(names))
		if (err == nil) != (libErr == nil) || err == nil && !reflect.DeepEqual(got, &lib) {
			t.Fatalf("%x\nby hand: %+v %v\nlibrary: %+v %v", b, got, err, lib, libErr)
		}
		if err == nil {
			read++
		}
	}
	return byHand, read
}

func sameResults(t testing.TB, x *task.Result) {
	one, err := appendByLibrary(nil, x)
	if err != nil {
		t.Fatal(err)
	}
	b, err := EncodeResults([]task.Result{*x, *x})
	if want := append([]byte{version, 2}, append(one, one...)...); err != nil || !bytes.Equal(b, want) {
		t.Fatalf("%+v\nby hand: %x %v\nlibrary: %x", x, b, err, want)
	}
	var lib task.Result
	if err := cborModes.lenient.Unmarshal(one, &lib); err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeResults(b); err != nil || !reflect.DeepEqual(got, []task.Result{lib, lib}) {
		t.Fatalf("by hand: %+v %v\nlibrary: %+v", got, err, lib)
	}
}

func TestResultIsTheLibrarys(t *testing.T) {
	byHand, read := 0, 0
	for seed := range uint64(2500) {
		r := rand.New(rand.NewPCG(seed, 4))
		changes := make([]byte, 6)
		for i := range changes {
			changes[i] = byte(r.Uint32())
		}
		h, n := sameAnswer(t, r, changes)
		byHand, read = byHand+h, read+n
	}
	if byHand < 500 || read < 3000 {
		t.Errorf("%d written by hand, %d read after changes: the test has lost its point", byHand, read)
	}
}

// TestResultReadByHand: what this build writes of an ordinary answer is never left to the library.
func TestResultReadByHand(t *testing.T) {
	a := &task.Answer{Process: 1, Seq: 2, Keyed: true, Result: task.Result{
		Code: task.Halt, Message: "m", Field: "f", Task: ordinary(), Outcome: task.SubmitUpdated, Told: true, Repeated: true, Changed: true, Index: 300,
	}}
	b, ok := appendAnswer(nil, a)
	if got := readAnswer(b, new(names)); !ok || !reflect.DeepEqual(got, a) {
		t.Errorf("written by hand: %t, read %+v", ok, got)
	}
}

func FuzzResult(f *testing.F) {
	f.Add(uint64(1), []byte{1, 2, 200, 77})
	f.Fuzz(func(t *testing.T, seed uint64, changes []byte) {
		sameAnswer(t, rand.New(rand.NewPCG(seed, 5)), changes[:min(len(changes), 64)])
	})
}

// BenchmarkResults: per answer to one of 1,000 forwarded submits.
func BenchmarkResults(b *testing.B) {
	const n = 1000
	rs := make([]task.Result, n)
	for i := range rs {
		rs[i] = task.Result{Task: ordinary(), Outcome: task.SubmitCreated, Index: 1_000_000}
	}
	enc, err := EncodeResults(rs)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; i < b.N; i += n {
			if _, err := EncodeResults(rs); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; i < b.N; i += n {
			if _, err := DecodeResults(enc); err != nil {
				b.Fatal(err)
			}
		}
	})
}
