package table

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestArena compares an arena with a list, and every frozen version with what it was when frozen. A record begins with the
// number of its owner.
func TestArena(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	a := NewArena()
	type owner struct {
		at   Ref
		text []byte
	}
	var all []owner
	alive := func(yield func(Ref) bool) {
		for _, o := range all {
			if o.text != nil && !yield(o.at) {
				return
			}
		}
	}
	write := func() owner {
		length := 4 + random.IntN(300)
		if random.IntN(500) == 0 {
			length = LongRecord + random.IntN(100_000)
		}
		b := make([]byte, MaxLength+length)
		for i := range b {
			b[i] = byte(random.IntN(256))
		}
		n := len(all)
		b[MaxLength], b[MaxLength+1], b[MaxLength+2] = byte(n), byte(n>>8), byte(n>>16)
		text := slices.Clone(b[MaxLength:])
		return owner{a.Write(b, random.IntN(2) == 0), text}
	}
	type version struct {
		frozen Arena
		all    []owner
	}
	var versions []version
	for n := range 30_000 {
		if grow := n/5000%2 == 0; grow || random.IntN(3) == 0 {
			all = append(all, write())
		} else if i := random.IntN(len(all)); all[i].text != nil {
			a.Free(all[i].at)
			all[i].text = nil
		}
		a.Compact(func(at Ref, record []byte) *Ref {
			if n := int(record[0]) | int(record[1])<<8 | int(record[2])<<16; all[n].text != nil && all[n].at == at {
				return &all[n].at
			}
			return nil
		})
		if n%3000 == 0 {
			versions = append(versions, version{a.Freeze(), slices.Clone(all)})
		}
	}
	if err := a.Check(alive); err != nil {
		t.Error(err)
	}
	if alive, dead := a.Bytes(); dead > alive/4+2*DeadBytes || a.hand == 0 {
		t.Errorf("%d bytes are dead, %d alive; compaction came to chunk %d", dead, alive, a.hand)
	}
	for i, v := range append(versions, version{a, all}) {
		for n, o := range v.all {
			if o.text != nil && !bytes.Equal(v.frozen.Record(o.at), o.text) {
				t.Fatalf("version %d: record %d has changed", i, n)
			}
		}
	}
}

func TestArenaCheckFinds(t *testing.T) {
	for name, damage := range map[string]func(a *Arena){
		"alive":      func(a *Arena) { a.use[0].alive-- },
		"end":        func(a *Arena) { a.use[0].end++ },
		"beyond":     func(a *Arena) { a.use[0].end = 1 << 20; a.dead += 1 << 20 },
		"all alive":  func(a *Arena) { a.alive++ },
		"all dead":   func(a *Arena) { a.dead++ },
		"gone":       func(a *Arena) { a.gone = append(a.gone, 9) },
		"chunk left": func(a *Arena) { a.addChunk(8) },
	} {
		a := NewArena()
		at := a.Write(make([]byte, 100), false)
		records := func(yield func(Ref) bool) { yield(at) }
		if err := a.Check(records); err != nil {
			t.Fatal(err)
		}
		if damage(&a); a.Check(records) == nil {
			t.Errorf("%s: nothing found", name)
		}
	}
}

// TestArenaKeepsApart: of records that pass, whole chunks die, whatever was written among them to stay.
func TestArenaKeepsApart(t *testing.T) {
	a := NewArena()
	record := func() []byte { return make([]byte, MaxLength+600) }
	var passing []Ref
	for range 10_000 {
		passing = append(passing, a.Write(record(), false))
		if a.Write(record(), true); len(passing) > 100 {
			a.Free(passing[0])
			passing = passing[1:]
		}
	}
	if alive, dead := a.Bytes(); dead > 2*ChunkBytes {
		t.Errorf("%d bytes are dead beside %d", dead, alive)
	}
}
