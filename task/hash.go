package task

import (
	"encoding/binary"
	"math/bits"
)

// hasher mixes 64-bit words into one. It is not cryptographic: it finds replicas that differ by accident (SPEC C4).
// Every step is a bijection of the state for a given word and of the word for a given state, so that two contents
// which differ in one word never collide. Its definition is part of the replicated contract: a node that mixed
// differently would be taken for a broken one. hash/maphash is no use here because its seed differs per process.
type hasher uint64

// The multipliers are odd, which makes the multiplications bijective: 2^64/φ, and MurmurHash3's finalizer.
const (
	hashSeed   = 0x9e3779b97f4a7c15
	hashWord   = 0xd6e8feb86659fd93
	hashFinal1 = 0xff51afd7ed558ccd
	hashFinal2 = 0xc4ceb9fe1a85ec53
)

// newHasher starts a hash of a thing of the given kind, so that equal contents of different kinds differ.
func newHasher(kind uint64) hasher { return hasher(bits.RotateLeft64(hashSeed, int(kind)) ^ kind) }

func (h *hasher) word(x uint64) {
	s := (uint64(*h) ^ x) * hashWord
	*h = hasher(bits.RotateLeft64(s, 29) + hashSeed)
}

func (h *hasher) int(x int64) { h.word(uint64(x)) }

func (h *hasher) bool(b bool) {
	if b {
		h.word(1)
	} else {
		h.word(0)
	}
}

// str mixes the length and then the bytes, eight at a time, little-endian, the last ones padded with zeros; see also lanes.
func (h *hasher) str(s string) {
	if len(s) >= laneBytes {
		h.bytes([]byte(s))
		return
	}
	h.word(uint64(len(s)))
	for len(s) >= 8 {
		h.word(uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56)
		s = s[8:]
	}
	if len(s) > 0 {
		var x uint64
		for i := range len(s) {
			x |= uint64(s[i]) << (8 * i)
		}
		h.word(x)
	}
}

// laneBytes is the length from which a text is mixed in four lanes beside each other: one step would else wait for the
// one before it. A difference in one word changes one lane, and with it the whole.
const laneBytes = 64

// lanes mixes all of b but for the last few bytes, which it returns.
func (h *hasher) lanes(b []byte) []byte {
	h0, h1, h2, h3 := *h, *h^1, *h^2, *h^3
	for ; len(b) >= 32; b = b[32:] {
		h0.word(binary.LittleEndian.Uint64(b))
		h1.word(binary.LittleEndian.Uint64(b[8:]))
		h2.word(binary.LittleEndian.Uint64(b[16:]))
		h3.word(binary.LittleEndian.Uint64(b[24:]))
	}
	*h = h0
	h.word(uint64(h1))
	h.word(uint64(h2))
	h.word(uint64(h3))
	return b
}

// bytes mixes what str mixes for the same bytes; nil and empty are the same.
func (h *hasher) bytes(b []byte) {
	h.word(uint64(len(b)))
	if len(b) >= laneBytes {
		b = h.lanes(b)
	}
	for len(b) >= 8 {
		h.word(uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56)
		b = b[8:]
	}
	if len(b) > 0 {
		var x uint64
		for i := range len(b) {
			x |= uint64(b[i]) << (8 * i)
		}
		h.word(x)
	}
}

// sum finishes with full avalanche, so that sums of hashes (see digest.go) are well distributed.
func (h hasher) sum() uint64 {
	x := uint64(h)
	x ^= x >> 33
	x *= hashFinal1
	x ^= x >> 33
	x *= hashFinal2
	x ^= x >> 33
	return x
}
