package stream

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire/wiretest"
)

// random is wiretest.Random with strings of one-byte and two-byte characters.
func random(r *rand.Rand, v reflect.Value) {
	wiretest.Random(r, v, func(length int) string { return strings.Repeat("é", length/2) + strings.Repeat("x", length%2) })
}

func randomFrame(r *rand.Rand) (f Frame) {
	kind := r.IntN(4)
	for range 1 + r.IntN(30) {
		switch kind {
		case 0:
			a := Assignment{Task: &task.Task{}, Policy: &task.Policy{}}
			random(r, reflect.ValueOf(a.Task).Elem())
			if n := len(f.Assign); n > 0 && r.IntN(4) > 0 {
				b := f.Assign[n-1]
				a.Policy, a.Module = b.Policy, b.Module
				a.Task.Namespace, a.Task.Behavior, a.Task.Version = b.Task.Namespace, b.Task.Behavior, b.Task.Version
			} else {
				random(r, reflect.ValueOf(a.Policy).Elem())
				random(r, reflect.ValueOf(&a.Module).Elem())
				a.Module.Digest += fmt.Sprint(n)
			}
			f.Assign = append(f.Assign, a)
		case 1:
			x := Report{Finish: &task.Finish{}}
			random(r, reflect.ValueOf(&x.ID).Elem())
			random(r, reflect.ValueOf(x.Finish).Elem())
			f.Reports = append(f.Reports, x)
		case 2:
			var a Ack
			random(r, reflect.ValueOf(&a).Elem())
			f.Acks = append(f.Acks, a)
		case 3:
			f.Credits = &Credits{}
			random(r, reflect.ValueOf(f.Credits).Elem())
		}
	}
	return f
}

// TestByHandIsTheLibrary: the frames that are written by hand have the same bytes as the library's. Reading by hand
// gives the same as the library.
func TestByHandIsTheLibrary(t *testing.T) {
	cd, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	read := 0
	for range 2000 {
		f := randomFrame(r)
		got, ok, err := cd.appendByHand([]byte("before"), &f)
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		want, err := cd.appendByLibrary([]byte("before"), &f)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("by hand %.2000x\nlibrary %.2000x, %v", got, want, err)
		}
		body := got[len("before"):]
		first, err := cd.decode(body) // the codec learns the versions
		if err != nil {
			t.Fatal(err)
		}
		hand, ok := cd.decodeByHand(body)
		library, err := cd.decodeByLibrary(body)
		if err != nil || !reflect.DeepEqual(first, library) || ok && !reflect.DeepEqual(hand, library) {
			t.Fatalf("first   %.3000q\nby hand %.3000q\nlibrary %.3000q, %v", fmt.Sprint(first), fmt.Sprint(hand), fmt.Sprint(library), err)
		}
		if ok {
			read++
		}
	}
	if read < 500 {
		t.Errorf("%d of 2000 frames were read by hand", read)
	}
}

// TestByHandReadsWhatIsUsual: a frame of usual work does not need the library, unless it is the first of a version.
func TestByHandReadsWhatIsUsual(t *testing.T) {
	cd, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	a := Assignment{
		Task:   &task.Task{Namespace: "default", ID: "x", Behavior: "b", Version: "v", Status: task.Running, Rev: 7, Lease: &task.Lease{Token: 300, Seq: 1}},
		Policy: new(task.DefaultPolicy()), Module: Module{Digest: "d", Size: 9},
	}
	b := a
	b.Policy, b.Module = &task.Policy{Index: 3}, Module{Digest: "e"}
	for i, f := range []Frame{
		{Assign: []Assignment{a}}, {Assign: []Assignment{b}}, {Assign: []Assignment{a, a, b, a}},
		{Reports: []Report{report(1, 3), report(300, 300)}},
		{Acks: []Ack{{ID: 1}, {ID: 1 << 40, Code: task.Halt, Message: "m", Retry: true, Repeated: true}}},
		{Credits: &Credits{Seq: 3000, Free: 2, Ahead: 100, Each: 16}}, {Credits: &Credits{}},
	} {
		enc, err := cd.append(nil, &f, MaxFrame)
		if err != nil {
			t.Fatal(err)
		}
		if i < 2 { // the version is new
			if _, ok := cd.decodeByHand(enc[HeaderSize:]); ok {
				t.Errorf("frame %d: an unknown version was read", i)
			}
			if _, err := cd.decode(enc[HeaderSize:]); err != nil {
				t.Fatal(err)
			}
		}
		if got, ok := cd.decodeByHand(enc[HeaderSize:]); !ok || !reflect.DeepEqual(got, f) {
			t.Errorf("frame %d: %v, %+v\nwant %+v", i, ok, got, f)
		}
	}
}

// TestVersionsAreBounded: a peer cannot fill the memory with versions, and the versions that were used last are known.
func TestVersionsAreBounded(t *testing.T) {
	cd, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 * maxVersions {
		for _, size := range []int{1, maxVersion} { // the second is not remembered
			f := Frame{Assign: []Assignment{{Task: &task.Task{}, Policy: &task.Policy{ParamsSchema: make([]byte, size)}, Module: Module{Digest: fmt.Sprint(i)}}}}
			enc, err := cd.append(nil, &f, MaxFrame)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := cd.decode(enc[HeaderSize:]); err != nil || !reflect.DeepEqual(got, f) {
				t.Fatalf("got %+v, %v", got, err)
			}
			if _, ok := cd.decodeByHand(enc[HeaderSize:]); ok != (size == 1) {
				t.Errorf("version %d of %d bytes: known %v", i, size, ok)
			}
		}
	}
	if n := len(cd.known.list); n != maxVersions {
		t.Errorf("%d versions are remembered", n)
	}
}

// TestKinds: every field of a frame is a kind.
func TestKinds(t *testing.T) {
	for _, f := range samples() {
		if n := f.kinds(); n != 1 {
			t.Errorf("%+v: %d kinds", f, n)
		}
	}
	if n := (&Frame{}).kinds(); n != 0 {
		t.Errorf("nothing: %d kinds", n)
	}
	var all Frame
	for _, f := range samples() {
		src, dst := reflect.ValueOf(f), reflect.ValueOf(&all).Elem()
		for i := range src.NumField() {
			if !src.Field(i).IsZero() {
				dst.Field(i).Set(src.Field(i))
			}
		}
	}
	if n := all.kinds(); n != reflect.TypeFor[Frame]().NumField() {
		t.Errorf("all: %d kinds", n)
	}
}

// differs says how reading by hand differs from the library. It returns "" if there is no difference or if reading is
// left to the library.
func differs(cd *codec, body []byte) string {
	hand, ok := cd.decodeByHand(body)
	if !ok {
		return ""
	}
	library, err := cd.decodeByLibrary(body)
	if err != nil || !reflect.DeepEqual(hand, library) {
		return fmt.Sprintf("by hand %+v, library %+v, %v", hand, library, err)
	}
	return ""
}

// TestByHandRefuses: bytes that this build does not write are left to the library.
func TestByHandRefuses(t *testing.T) {
	cd, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range samples() {
		enc, err := cd.append(nil, &f, MaxFrame)
		if err != nil {
			t.Fatal(err)
		}
		body := enc[HeaderSize:]
		if _, err := cd.decode(body); err != nil { // the codec learns the versions
			t.Fatal(err)
		}
		for i := range body {
			for _, b := range []byte{0, 1, 0x18, 0x1f, 0x40, 0x5f, 0x60, 0x7f, 0x80, 0x9f, 0xa0, 0xbf, 0xc0, 0xf4, 0xf5, 0xf6, 0xff, body[i] + 1, body[i] - 1, body[i] ^ 0x20} {
				x := bytes.Clone(body)
				x[i] = b
				if d := differs(&cd, x); d != "" {
					t.Errorf("%x: %s", x, d)
				}
			}
			if d := differs(&cd, body[:i]); d != "" {
				t.Errorf("%x: %s", body[:i], d)
			}
		}
	}
}
