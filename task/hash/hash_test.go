package hash

import (
	"strings"
	"testing"
)

func TestHashOfBytesAndStrings(t *testing.T) {
	seen := map[uint64]string{}
	for n := range 40 {
		for _, s := range []string{strings.Repeat("\x00", n), strings.Repeat("a", n), strings.Repeat("a", n) + "b"} {
			a, b := New(1), New(1)
			a.Str(s)
			b.Bytes([]byte(s))
			if a.Sum() != b.Sum() {
				t.Errorf("%q: string and bytes differ", s)
			}
			if other, ok := seen[a.Sum()]; ok && other != s {
				t.Errorf("%q and %q collide", s, other)
			}
			seen[a.Sum()] = s
		}
	}
	a, b := New(1), New(1)
	a.Bytes(nil)
	b.Bytes([]byte{})
	if a.Sum() != b.Sum() {
		t.Error("nil and empty differ")
	}
	// The definition is part of the replicated contract (SPEC C4): this value must never change.
	h := New(1)
	h.Str("taskrt, eight at a time")
	h.Int(-1)
	if got, want := h.Sum(), uint64(0x2ad47acb990330d9); got != want {
		t.Errorf("the hash is %#x, was %#x: replicas of both versions would stop", got, want)
	}
}
