package wire

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire/head"
	"github.com/taskrt/taskrt/task/wire/wiretest"
)

// byLibrary encodes an entry without anything that is written by hand.
func byLibrary(t testing.TB, h task.Header, ps []task.Proposal) []byte {
	b := bytes.NewBuffer([]byte{version})
	write := func(v any) {
		if err := cborModes.enc.MarshalToBuffer(v, b); err != nil {
			t.Fatal(err)
		}
	}
	write(preamble{Now: h.Now, LeaseNow: h.LeaseNow, Count: uint64(len(ps))})
	for _, p := range ps {
		kind, err := kindOf(p.Command)
		if err != nil {
			t.Fatal(err)
		}
		o := p.Origin
		if o.Body != 0 {
			write(keyedEnvelope{Kind: kind, Process: o.Process, Seq: o.Seq, Lowest: o.Lowest, Body: o.Body})
		} else {
			write(envelope{Kind: kind, Process: o.Process, Seq: o.Seq, Lowest: o.Lowest})
		}
		write(p.Command)
	}
	return b.Bytes()
}

// byHand are the commands that are read without the library, as their structs say: //fields:wire.
var byHand = func() (types []reflect.Type) {
	for kind, t := range everyCommand {
		r := reader{b: []byte{head.Map}}
		if r.command(kind) != nil {
			types = append(types, t)
		}
	}
	return types
}()

// random is wiretest.Random with strings of any bytes.
func random(r *rand.Rand, v reflect.Value) {
	wiretest.Random(r, v, func(length int) string {
		s := make([]byte, length)
		for i := range s {
			s[i] = byte(r.IntN(256))
		}
		return string(s)
	})
}

func randomProposals(r *rand.Rand) []task.Proposal {
	var ps []task.Proposal
	for range r.IntN(4) {
		var p task.Proposal
		random(r, reflect.ValueOf(&p.Origin).Elem())
		v := reflect.New(byHand[r.IntN(len(byHand))]).Elem()
		random(r, v)
		p.Command = v.Interface().(task.Command)
		if r.IntN(8) == 0 {
			p.Command = filled[task.OpenSession]() // of the library, in between
		}
		ps = append(ps, p)
	}
	return ps
}

// decodeByLibrary decodes an entry without anything that is read by hand.
func decodeByLibrary(b []byte) (h task.Header, ps []task.Proposal, err error) {
	var p preamble
	rest, err := cborModes.strict.UnmarshalFirst(b[1:], &p)
	if err != nil {
		return h, nil, malformed(err)
	}
	for range p.Count {
		if len(rest) == 0 {
			return h, nil, ErrMalformed
		}
		var one task.Proposal
		kind, body, err := decodeEnvelope(rest, &one)
		if err != nil {
			return h, nil, malformed(err)
		}
		c, after, err := decodeCommand(kind, body)
		if err != nil {
			return h, nil, err
		}
		rest = after
		one.Command = c
		ps = append(ps, one)
	}
	if len(rest) > 0 {
		return h, nil, ErrMalformed
	}
	return task.Header{Now: p.Now, LeaseNow: p.LeaseNow}, ps, nil
}

// sameDecoded fails if DecodeEntry and the library disagree about b: C4 demands that all versions of the program, whichever
// way they read, come to the same state.
func sameDecoded(t testing.TB, b []byte) (read bool) {
	h, ps, err := DecodeEntry(b)
	libH, libPs, libErr := decodeByLibrary(b)
	if (err == nil) != (libErr == nil) {
		t.Fatalf("%x\nby hand: %v\nlibrary: %v", b, err, libErr)
	}
	if err == nil && (h != libH || !reflect.DeepEqual(ps, libPs)) {
		t.Fatalf("%x\nby hand: %+v %+v\nlibrary: %+v %+v", b, h, ps, libH, libPs)
	}
	return err == nil
}

// sameBothWays holds the two codecs against each other with one entry, and with what becomes of it when changes are made to
// its bytes.
func sameBothWays(t testing.TB, r *rand.Rand, changes []byte) (read int) {
	var h task.Header
	random(r, reflect.ValueOf(&h.Now).Elem())
	random(r, reflect.ValueOf(&h.LeaseNow).Elem())
	ps := randomProposals(r)
	want := byLibrary(t, h, ps)
	b, err := EncodeEntry(h, ps)
	if err != nil || !bytes.Equal(b, want) {
		t.Fatalf("%+v\nby hand: %x %v\nlibrary: %x", ps, b, err, want)
	}
	if !sameDecoded(t, b) {
		t.Fatalf("what was encoded cannot be read: %+v", ps)
	}
	for _, c := range changes {
		if b = change(r, b, c); sameDecoded(t, b) {
			read++
		}
	}
	return read
}

// change returns a copy of b with a change behind its first byte.
func change(r *rand.Rand, b []byte, c byte) []byte {
	b = bytes.Clone(b)
	if len(b) < 3 {
		return b
	}
	at := 1 + r.IntN(len(b)-1)
	switch c % 4 {
	case 0:
		b[at] ^= 1 << (c >> 5)
	case 1:
		b[at] = c
	case 2:
		b = append(b[:at], append([]byte{c}, b[at:]...)...)
	case 3:
		b = append(b[:at], b[at+1:]...)
	}
	return b
}

func TestByHandIsTheLibrary(t *testing.T) {
	read := 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		changes := make([]byte, 8)
		for i := range changes {
			changes[i] = byte(r.Uint32())
		}
		read += sameBothWays(t, r, changes)
	}
	if read < 1000 {
		t.Errorf("only %d of the changed entries could be read: the test has lost its point", read)
	}
}

// TestReadsAllByHand: what this build writes is never left to the library, which would be slow.
func TestReadsAllByHand(t *testing.T) {
	if len(byHand) < 8 {
		t.Errorf("only %v are read by hand", byHand)
	}
	for _, typ := range byHand {
		kind, err := kindOf(reflect.Zero(typ).Interface().(task.Command))
		if err != nil {
			t.Fatal(err)
		}
		full, empty := reflect.New(typ).Elem(), reflect.New(typ).Elem()
		next := int64(1)
		fill(full, &next)
		for _, v := range []reflect.Value{full, empty} {
			b, ok := appendCommand(nil, v.Interface().(task.Command))
			if !ok {
				t.Errorf("%v is written by the library", typ)
			}
			r := reader{b: b, names: new(names)}
			c := r.command(kind)
			if c == nil || r.bad || len(r.b) > 0 || !reflect.DeepEqual(c, v.Interface()) {
				t.Errorf("%v read by hand: %+v, bad %v, %d bytes left", typ, c, r.bad, len(r.b))
			}
		}
	}
}

// TestOddIsLeftToTheLibrary: what is valid CBOR, or nearly, but not what this build writes. The commands stand alone in
// an entry, and before another: what follows must be found again.
func TestOddIsLeftToTheLibrary(t *testing.T) {
	tick := []byte{0x84, byte(kindTick), 0, 0, 0, 0xa0}
	for name, c := range map[string]struct {
		command []byte
		refused bool
	}{
		"as written":         {command: []byte{0x84, byte(kindRenewSession), 0, 0, 0, 0xa2, 1, 5, 2, 6}},
		"other order":        {command: []byte{0x84, byte(kindRenewSession), 0, 0, 0, 0xa2, 2, 6, 1, 5}},
		"long number":        {command: []byte{0x84, byte(kindRenewSession), 0, 0, 0, 0xa1, 1, 0x19, 0, 5}},
		"long key":           {command: []byte{0x84, byte(kindRenewSession), 0, 0, 0, 0xa1, 0x18, 1, 5}},
		"long map":           {command: []byte{0x84, byte(kindRenewSession), 0, 0, 0, 0xb8, 1, 1, 5}},
		"long envelope":      {command: append([]byte{0x98, 4}, tick[1:]...)},
		"null":               {command: []byte{0x84, byte(kindRenewSession), 0, 0, 0, 0xa1, 1, 0xf6}},
		"no fields":          {command: []byte{0x84, byte(kindRenewSession), 0, 0, 0, 0xa0}},
		"no labels":          {command: []byte{0x84, byte(kindSubmit), 0, 0, 0, 0xa1, 9, 0x80}},
		"no data":            {command: []byte{0x84, byte(kindSubmit), 0, 0, 0, 0xa1, 4, 0xa1, 2, 0x40}},
		"null for a pointer": {command: []byte{0x84, byte(kindBeat), 0, 0, 0, 0xa1, 4, 0xf6}},
		"empty payload":      {command: []byte{0x84, byte(kindBeat), 0, 0, 0, 0xa1, 4, 0xa0}},
		"key of nothing":     {command: []byte{0x84, byte(kindAssign), 0, 0, 0, 0xa1, 1, 0xa0}},
		"false":              {command: []byte{0x84, byte(kindGiveBack), 0, 0, 0, 0xa1, 3, 0xf4}},
		"key twice":          {command: []byte{0x84, byte(kindRenewSession), 0, 0, 0, 0xa2, 1, 5, 1, 6}, refused: true},
		"indefinite map":     {command: []byte{0x84, byte(kindRenewSession), 0, 0, 0, 0xbf, 1, 5, 0xff}, refused: true},
		"tag":                {command: []byte{0x84, byte(kindRenewSession), 0, 0, 0, 0xa1, 1, 0xc1, 5}, refused: true},
		"too large":          {command: []byte{0x84, byte(kindSubmit), 0, 0, 0, 0xa1, 10, 0x18, 200}, refused: true},
		"negative":           {command: []byte{0x84, byte(kindRenewSession), 0, 0, 0, 0xa1, 1, 0x20}, refused: true},
		"beyond int64":       {command: []byte{0x84, byte(kindSubmit), 0, 0, 0, 0xa1, 6, 0x1b, 0x80, 0, 0, 0, 0, 0, 0, 0}, refused: true},
		"below int64":        {command: []byte{0x84, byte(kindSubmit), 0, 0, 0, 0xa1, 6, 0x3b, 0x80, 0, 0, 0, 0, 0, 0, 0}, refused: true},
		"other type":         {command: []byte{0x84, byte(kindSubmit), 0, 0, 0, 0xa1, 1, 5}, refused: true},
		"field of later":     {command: []byte{0x84, byte(kindSubmit), 0, 0, 0, 0xa1, 16, 5}, refused: true},
		"field of a tick":    {command: []byte{0x84, byte(kindTick), 0, 0, 0, 0xa1, 1, 5}, refused: true},
		"short envelope":     {command: []byte{0x83, byte(kindTick), 0, 0, 0xa0}, refused: true},
		"look":               {command: []byte{0x87, byte(kindTick), 0, 0, 0, 0, 0x84, 2, 0x60, 0x60, 0x60, 1, 0xa0}},
		"look of no kind":    {command: []byte{0x87, byte(kindTick), 0, 0, 0, 0, 0x84, 2, 0x60, 0x60, 0x60, 2, 0xa0}, refused: true},
		"look that is none":  {command: []byte{0x87, byte(kindTick), 0, 0, 0, 0, 0x84, 2, 0x60, 0x60, 0x60, 0, 0xa0}, refused: true},
		"longest envelope":   {command: []byte{0x88, byte(kindTick), 0, 0, 0, 0, 0x84, 2, 0x60, 0x60, 0x60, 1, 1, 0xa0}, refused: true},
	} {
		for _, after := range [][]byte{nil, tick} {
			entry := append([]byte{version, 0x83, 0, 0, byte(1 + len(after)/len(tick))}, append(c.command, after...)...)
			if read := sameDecoded(t, entry); read == c.refused {
				t.Errorf("%s: read: %t", name, read)
			}
		}
	}
}

// TestDecodedKeepsNoEntry: changing the bytes of an entry afterwards changes nothing that was read from it.
func TestDecodedKeepsNoEntry(t *testing.T) {
	ps := proposals()
	for _, size := range []int{10, 2 * payloadsChunk} { // short ones share memory with each other, long ones have their own
		params := task.Payload{Encoding: task.JSON, Data: bytes.Repeat([]byte("7"), size)}
		ps = append(ps, task.Proposal{Command: task.Submit{Namespace: "default", ID: fmt.Sprint("size-", size), Behavior: "echo", Params: params, Priority: 4, HasParams: true}})
	}
	b, err := EncodeEntry(task.Header{}, ps)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := DecodeProposals(b)
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		b[i] = 0xff
	}
	if !reflect.DeepEqual(got, ps) {
		t.Error("what was decoded refers to the entry's bytes")
	}
}

func FuzzByHand(f *testing.F) {
	f.Add(uint64(1), []byte{0, 1, 2, 3})
	f.Fuzz(func(t *testing.T, seed uint64, changes []byte) {
		if len(changes) > 64 {
			changes = changes[:64]
		}
		sameBothWays(t, rand.New(rand.NewPCG(seed, 2)), changes)
	})
}

func benchmarked() map[string]func(int) task.Command {
	key := func(i int) task.Key {
		return task.Key{Namespace: "default", ID: fmt.Sprintf("0190a0b0-0000-7000-8000-%012d", i)}
	}
	params := task.Payload{Encoding: task.JSON, Data: make([]byte, 256)}
	return map[string]func(int) task.Command{
		"Submit": func(i int) task.Command {
			return task.Submit{Namespace: "default", ID: key(i).ID, Behavior: "echo", Params: params, Priority: 4, HasParams: true, BehaviorRev: 7}
		},
		"Assign": func(i int) task.Command { return task.Assign{Key: key(i), Rev: uint64(1000 + i), Session: 12345} },
		"Finish": func(i int) task.Command {
			return task.Finish{Key: key(i), Token: uint64(100000 + i), Seq: 1, Result: params, Fuel: 1234}
		},
		"Beat": func(i int) task.Command {
			return task.Beat{Key: key(i), Token: uint64(100000 + i), Seq: 1, Progress: &task.Payload{Encoding: task.JSON, Data: []byte("17")}}
		},
		"RenewSession": func(int) task.Command { return task.RenewSession{Session: 12345, Acked: 1234} },
		"Tick":         func(int) task.Command { return task.Tick{} },
	}
}

// TestPayloadsOfAnEntryAreApart: they share memory, but whoever appends to one does not write into the next.
func TestPayloadsOfAnEntryAreApart(t *testing.T) {
	var ps []task.Proposal
	for i := range 100 {
		ps = append(ps, task.Proposal{Command: task.Submit{Namespace: "default", ID: fmt.Sprintf("t%d", i), Behavior: "b",
			Params: task.Payload{Encoding: task.Bytes, Data: bytes.Repeat([]byte{byte(i)}, 1+i*7)}}})
	}
	entry, err := EncodeEntry(task.Header{}, ps)
	if err != nil {
		t.Fatal(err)
	}
	_, got, err := DecodeEntry(entry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range got {
		_ = append(p.Command.(task.Submit).Params.Data, "more"...)
	}
	if !reflect.DeepEqual(got, ps) {
		t.Error("a payload was written over")
	}
}

// BenchmarkEntry: per command of an entry of 256.
func BenchmarkEntry(b *testing.B) {
	const n = 256
	for _, name := range []string{"Submit", "Assign", "Finish", "Beat", "RenewSession", "Tick"} {
		ps := make([]task.Proposal, n)
		for i := range ps {
			ps[i] = task.Proposal{Command: benchmarked()[name](i), Origin: task.Origin{Process: 1 << 60, Seq: uint64(1000 + i), Lowest: 1000}}
		}
		entry, err := EncodeEntry(task.Header{Now: 1_700_000_000_000, LeaseNow: 1_000_000}, ps)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("encode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; i < b.N; i += n {
				if _, err := EncodeEntry(task.Header{Now: 1_700_000_000_000, LeaseNow: 1_000_000}, ps); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("decode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; i < b.N; i += n {
				if _, _, err := DecodeEntry(entry); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
