package watch

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestSlab: a text of any length is there until it is forgotten, and blocks are used again.
func TestSlab(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := slab{size: 100}
	type kept struct {
		place
		text []byte
	}
	var all []kept
	longest := 0
	for i := range 10_000 {
		text := bytes.Repeat([]byte{byte(i)}, rng.IntN(40))
		if i%97 == 0 {
			text = bytes.Repeat([]byte{byte(i)}, 100+rng.IntN(100))
		}
		all = append(all, kept{s.add(text), text})
		if len(all) > 20 {
			all = all[1:]
			s.forget(all[0].block)
		}
		longest = max(longest, s.bytes)
		sum := 0
		for _, b := range s.blocks {
			sum += cap(b)
		}
		if s.bytes != sum {
			t.Fatalf("%d bytes counted, %d there", s.bytes, sum)
		}
		for _, k := range all {
			if got := s.get(k.place); !bytes.Equal(got, k.text) {
				t.Fatalf("%q, want %q", got, k.text)
			}
		}
	}
	if longest > 20*40+10*200 {
		t.Errorf("%d bytes for 20 strings", longest)
	}
	s.forget(all[len(all)-1].block + 1)
	if len(s.blocks) != 0 || s.bytes != 0 || cap(s.spare) != 100 {
		t.Errorf("%d blocks of %d bytes are left, spare %d", len(s.blocks), s.bytes, cap(s.spare))
	}
	p := s.add([]byte("again"))
	if string(s.get(p)) != "again" || s.spare != nil {
		t.Errorf("%q, spare %v", s.get(p), s.spare)
	}
}
