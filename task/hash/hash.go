// Package hash mixes the values that replicas compare (SPEC C4) into 64 bits.
package hash

import (
	"encoding/binary"
	"math/bits"
)

// Hash mixes 64-bit words into one. It is not cryptographic: it finds replicas that differ by accident (SPEC C4). For a given word, every step is a
// bijection of the state. For a given state, it is a bijection of the word. So two contents that differ in one word never collide. Its definition is
// part of the replicated contract: a node that mixed differently would be taken for a broken one. hash/maphash is no use here because its seed
// differs per process.
type Hash uint64

// seed and the multipliers are odd, which makes the multiplications bijective: 2^64/φ, and MurmurHash3's finalizer.
const (
	seed   = 0x9e3779b97f4a7c15
	factor = 0xd6e8feb86659fd93
	final1 = 0xff51afd7ed558ccd
	final2 = 0xc4ceb9fe1a85ec53
)

// New starts a hash of a thing of the given kind, so that equal contents of different kinds differ.
func New(kind uint64) Hash { return Hash(bits.RotateLeft64(seed, int(kind)) ^ kind) }

// Word mixes a word.
func (h *Hash) Word(x uint64) {
	s := (uint64(*h) ^ x) * factor
	*h = Hash(bits.RotateLeft64(s, 29) + seed)
}

// Three hashes three words of a thing of the given kind.
func Three(kind, a, b, c uint64) uint64 {
	h := New(kind)
	h.Word(a)
	h.Word(b)
	h.Word(c)
	return h.Sum()
}

// Int mixes a number with a sign.
func (h *Hash) Int(x int64) { h.Word(uint64(x)) }

// Bool mixes a truth.
func (h *Hash) Bool(b bool) {
	if b {
		h.Word(1)
	} else {
		h.Word(0)
	}
}

// Str mixes the length and then the bytes, eight at a time, little-endian, the last ones padded with zeros; see also lanes.
func (h *Hash) Str(s string) {
	if len(s) >= laneBytes {
		h.Bytes([]byte(s))
		return
	}
	h.Word(uint64(len(s)))
	for len(s) >= 8 {
		h.Word(uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56)
		s = s[8:]
	}
	if len(s) > 0 {
		var x uint64
		for i := range len(s) {
			x |= uint64(s[i]) << (8 * i)
		}
		h.Word(x)
	}
}

// laneBytes is the length from which a text is mixed in four lanes beside each other. In one lane, each step would wait for the step before it. A
// difference in one word changes one lane, and so the whole.
const laneBytes = 64

// lanes mixes all of b but for the last few bytes, which it returns.
func (h *Hash) lanes(b []byte) []byte {
	h0, h1, h2, h3 := *h, *h^1, *h^2, *h^3
	for ; len(b) >= 32; b = b[32:] {
		h0.Word(binary.LittleEndian.Uint64(b))
		h1.Word(binary.LittleEndian.Uint64(b[8:]))
		h2.Word(binary.LittleEndian.Uint64(b[16:]))
		h3.Word(binary.LittleEndian.Uint64(b[24:]))
	}
	*h = h0
	h.Word(uint64(h1))
	h.Word(uint64(h2))
	h.Word(uint64(h3))
	return b
}

// Bytes mixes what Str mixes for the same bytes; nil and empty are the same.
func (h *Hash) Bytes(b []byte) {
	h.Word(uint64(len(b)))
	if len(b) >= laneBytes {
		b = h.lanes(b)
	}
	for len(b) >= 8 {
		h.Word(uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56)
		b = b[8:]
	}
	if len(b) > 0 {
		var x uint64
		for i := range len(b) {
			x |= uint64(b[i]) << (8 * i)
		}
		h.Word(x)
	}
}

// Sum finishes with full avalanche, so that sums of hashes (see digest.go) are well distributed.
func (h Hash) Sum() uint64 {
	x := uint64(h)
	x ^= x >> 33
	x *= final1
	x ^= x >> 33
	x *= final2
	x ^= x >> 33
	return x
}

// Strs mixes a list of texts.
func (h *Hash) Strs(ss []string) {
	h.Word(uint64(len(ss)))
	for _, s := range ss {
		h.Str(s)
	}
}

// Words mixes a list of words.
func (h *Hash) Words(xs []uint64) {
	h.Word(uint64(len(xs)))
	for _, x := range xs {
		h.Word(x)
	}
}
