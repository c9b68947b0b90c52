package wire

import (
	"errors"
	"reflect"
	"testing"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire/head"
)

// fill sets every field of v that is encoded to something that is not its zero value, all different.
func fill(v reflect.Value, next *int64) {
	*next++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), next)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("cbor") != "-" {
				fill(v.Field(i), next)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), next)
		}
	case reflect.String:
		v.SetString("s" + string(rune('a'+*next%26)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(*next % 100)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		v.SetUint(uint64(*next%100) + 1)
	default:
		panic("fill: " + v.Kind().String())
	}
}

func filled[T any]() T {
	var v T
	next := int64(1)
	fill(reflect.ValueOf(&v).Elem(), &next)
	return v
}

// everyCommand yields the numbers of all commands with their types.
func everyCommand(yield func(kind uint64, t reflect.Type) bool) {
	for kind := uint64(1); kind < 256; kind++ { // see maxEnvelope
		c, _, err := decodeCommand(kind, []byte{head.Map})
		if err != nil || !yield(kind, reflect.TypeOf(c)) {
			return
		}
	}
}

// commands returns each command twice: all of them full, and then empty.
func commands() []task.Command {
	var full, empty []task.Command
	for _, t := range everyCommand {
		v := reflect.New(t).Elem()
		empty = append(empty, v.Interface().(task.Command))
		next := int64(1)
		fill(v, &next)
		full = append(full, v.Interface().(task.Command))
	}
	return append(full, empty...)
}

func proposals() []task.Proposal {
	var ps []task.Proposal
	for i, c := range commands() {
		p := task.Proposal{Command: c, Origin: task.Origin{Process: uint64(i), Seq: 1 << 60, Lowest: uint64(i % 2)}}
		switch i % 5 {
		case 4:
			p.Caller = task.Caller{Token: uint64(i), Look: true}
		case 1:
			p.Origin.Body = uint64(i)
		case 2:
			p.Caller.Token = uint64(i)
		case 3:
			p.Caller = task.Caller{Token: 1 << 40, From: "10.0.0.1", Route: "POST /v1/tasks", Target: "t", Look: i%2 == 0}
		}
		ps = append(ps, p)
	}
	return ps
}

func TestEntryRoundTrip(t *testing.T) {
	h := task.Header{Now: 1_700_000_000_000, LeaseNow: 12}
	ps := proposals()
	b, err := EncodeEntry(h, ps)
	if err != nil {
		t.Fatal(err)
	}
	gotH, got, err := DecodeEntry(b)
	if err != nil {
		t.Fatal(err)
	}
	if gotH != h || !reflect.DeepEqual(got, ps) {
		t.Errorf("decoded %+v\n%+v\nwant %+v\n%+v", gotH, got, h, ps)
	}
	again, err := EncodeEntry(gotH, got)
	if err != nil || string(again) != string(b) {
		t.Errorf("not deterministic: %v", err)
	}
	for n := range len(b) {
		if _, _, err := DecodeEntry(b[:n]); err == nil {
			t.Fatalf("truncated to %d of %d bytes: no error", n, len(b))
		}
	}
	if _, _, err := DecodeEntry(append(b, 0)); !errors.Is(err, ErrMalformed) {
		t.Errorf("trailing byte: %v", err)
	}
}

func TestEveryByteCounts(t *testing.T) {
	ps := proposals()
	b, err := EncodeEntry(task.Header{}, ps[:len(ps)/2]) // the full ones
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := DecodeProposals(b)
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		changed := append([]byte(nil), b...)
		changed[i] ^= 1
		if got, _, err := DecodeProposals(changed); err == nil && reflect.DeepEqual(got, want) && i > 3 {
			t.Errorf("byte %d of %d may be anything", i, len(b)) // 1..3 hold the clocks, which proposals lack
		}
	}
}

func TestStringsNeedNotBeUTF8(t *testing.T) {
	for _, c := range []task.Command{
		task.Finish{Error: &task.Error{Code: "X", Message: "\xff\xfe\x00"}},
		task.OpenSession{Worker: "\xff\xfe\x00"}, // by the library
	} {
		b, err := EncodeEntry(task.Header{}, []task.Proposal{{Command: c}})
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := DecodeProposals(b)
		if err != nil || !reflect.DeepEqual(got[0].Command, c) {
			t.Errorf("got %+v, %v", got, err)
		}
	}
}

func TestUnknownCommandStops(t *testing.T) {
	entry := func(after ...byte) []byte { return append([]byte{version, 0x83, 0, 0, 1}, after...) }
	for name, b := range map[string][]byte{
		"number":  entry(0x84, 0x18, 99, 0, 0, 0, 0xa0),
		"zero":    entry(0x84, 0, 0, 0, 0, 0xa0),
		"field":   entry(0x84, byte(kindGiveBack), 0, 0, 0, 0xa1, 0x18, 77, 0),
		"version": {version + 1, 0x83, 0, 0, 0},
	} {
		if _, _, err := DecodeEntry(b); !errors.Is(err, ErrUnknownCommand) {
			t.Errorf("%s: %v, want ErrUnknownCommand", name, err)
		}
	}
	if _, err := EncodeEntry(task.Header{}, []task.Proposal{{Command: &task.Tick{}}}); !errors.Is(err, ErrUnknownCommand) {
		t.Errorf("pointer: %v", err)
	}
	if _, err := EncodeEntry(task.Header{}, []task.Proposal{{}}); !errors.Is(err, ErrUnknownCommand) {
		t.Errorf("nil: %v", err)
	}
}

func TestClaimedSizesAreNotBelieved(t *testing.T) {
	for name, b := range map[string][]byte{
		"count":   {version, 0x83, 0, 0, 0x1b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"array":   {version, 0x9b, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"bytes":   {version, 0x5b, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"nesting": append([]byte{version}, bytesOf(0x81, 1000)...),
	} {
		if _, _, err := DecodeEntry(b); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v, want ErrMalformed", name, err)
		}
	}
	long := task.Submit{Labels: make([]task.Label, maxArray+1)}
	if _, err := EncodeEntry(task.Header{}, []task.Proposal{{Command: long}}); err == nil {
		t.Error("a list that cannot be decoded was encoded")
	}
}

func bytesOf(b byte, n int) []byte {
	s := make([]byte, n)
	for i := range s {
		s[i] = b
	}
	return s
}

func TestResultsRoundTrip(t *testing.T) {
	rs := []task.Result{filled[task.Result](), {}, {Code: task.Halt}}
	b, err := EncodeResults(rs)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeResults(b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, rs) {
		t.Errorf("got  %+v\nwant %+v", got, rs)
	}
	for n := range len(b) {
		if _, err := DecodeResults(b[:n]); err == nil {
			t.Fatalf("truncated to %d of %d bytes: no error", n, len(b))
		}
	}
	if _, err := DecodeResults(append(b, 0)); !errors.Is(err, ErrMalformed) {
		t.Errorf("trailing byte: %v", err)
	}
	if got, err := DecodeResults([]byte{version, 1, 0xa2, 1, 0x61, 'x', 0x18, 99, 0}); err != nil || got[0].Code != "x" {
		t.Errorf("a newer node's field: %+v, %v", got, err)
	}
}

func FuzzDecodeEntry(f *testing.F) {
	b, err := EncodeEntry(task.Header{Now: 5, LeaseNow: 6}, proposals())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{version, 0x83, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, ps, err := DecodeEntry(b)
		if err != nil {
			return
		}
		encoded, err := EncodeEntry(h, ps)
		if err != nil {
			t.Fatal(err)
		}
		h2, ps2, err := DecodeEntry(encoded)
		if err != nil || h2 != h || len(ps2) != len(ps) {
			t.Fatalf("%v\n%+v\n%+v", err, ps, ps2)
		}
		m := task.NewMachine()
		m.Apply(task.Header{Index: 1, Term: 1, Now: h.Now, LeaseNow: h.LeaseNow}, ps)
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzDecodeResults(f *testing.F) {
	b, err := EncodeResults([]task.Result{filled[task.Result](), {}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		rs, err := DecodeResults(b)
		if err != nil {
			return
		}
		if _, err := EncodeResults(rs); err != nil {
			t.Fatal(err)
		}
	})
}
