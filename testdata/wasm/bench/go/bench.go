//go:build wasip1

// Command go is the workloads of runtime/meter's benchmark in Go, as a reactor module. Each export takes a number of
// rounds and returns a checksum that the same export of the C and of the Rust module gives, too: the algorithms are the
// same, strings and trees are those of the language.
package main

import (
	"encoding/binary"
	"math/bits"
)

const (
	seed      = 0x9e3779b97f4a7c15
	fnvOffset = 0xcbf29ce484222325
	fnvPrime  = 0x100000001b3
)

func main() {}

func xorshift(x uint64) uint64 {
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	return x
}

func fill(p []byte) {
	x := uint64(seed)
	for i := range p {
		x = xorshift(x)
		p[i] = byte(x)
	}
}

func fnv(sum, x uint64) uint64 { return (sum ^ x) * fnvPrime }

var shaK = [64]uint32{
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}

func shaBlock(h *[8]uint32, block []byte) {
	var w [64]uint32
	for i := range 16 {
		w[i] = binary.BigEndian.Uint32(block[4*i:])
	}
	for i := 16; i < 64; i++ {
		s0 := bits.RotateLeft32(w[i-15], -7) ^ bits.RotateLeft32(w[i-15], -18) ^ w[i-15]>>3
		s1 := bits.RotateLeft32(w[i-2], -17) ^ bits.RotateLeft32(w[i-2], -19) ^ w[i-2]>>10
		w[i] = w[i-16] + s0 + w[i-7] + s1
	}
	a, b, c, d, e, f, g, z := h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7]
	for i := range 64 {
		s1 := bits.RotateLeft32(e, -6) ^ bits.RotateLeft32(e, -11) ^ bits.RotateLeft32(e, -25)
		s0 := bits.RotateLeft32(a, -2) ^ bits.RotateLeft32(a, -13) ^ bits.RotateLeft32(a, -22)
		t1 := z + s1 + ((e & f) ^ (^e & g)) + shaK[i] + w[i]
		t2 := s0 + ((a & b) ^ (a & c) ^ (b & c))
		z, g, f, e, d, c, b, a = g, f, e, d+t1, c, b, a, t1+t2
	}
	for i, x := range [8]uint32{a, b, c, d, e, f, g, z} {
		h[i] += x
	}
}

//go:wasmexport sha256
func sha256(rounds int32) int64 {
	text := make([]byte, 1024+64) // the padding of 1 KiB is a block of its own
	fill(text[:1024])
	text[1024] = 0x80
	text[1024+62] = 0x20 // 8192 bits
	var sum uint64
	for range rounds {
		h := [8]uint32{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}
		for at := 0; at < len(text); at += 64 {
			shaBlock(&h, text[at:at+64])
		}
		for i, word := range h {
			binary.BigEndian.PutUint32(text[4*i:], word)
		}
		sum = uint64(h[0])<<32 | uint64(h[1])
	}
	return int64(sum)
}

// crc32 is the IEEE polynomial, by bytes.
//
//go:wasmexport crc32
func crc32(rounds int32) int64 {
	var table [256]uint32
	for i := range table {
		c := uint32(i)
		for range 8 {
			if c&1 != 0 {
				c = c>>1 ^ 0xedb88320
			} else {
				c >>= 1
			}
		}
		table[i] = c
	}
	text := make([]byte, 4096)
	fill(text)
	var crc uint32
	for range rounds {
		crc = ^uint32(0)
		for _, b := range text {
			crc = table[byte(crc)^b] ^ crc>>8
		}
		crc = ^crc
		binary.LittleEndian.PutUint32(text, crc)
	}
	return int64(crc)
}

// quicksort sorts short runs by insertion.
func quicksort(a []uint32) {
	for len(a) > 13 {
		pivot := a[(len(a)-1)/2]
		i, j := 0, len(a)-1
		for {
			for a[i] < pivot {
				i++
			}
			for a[j] > pivot {
				j--
			}
			if i >= j {
				break
			}
			a[i], a[j] = a[j], a[i]
			i++
			j--
		}
		quicksort(a[:j+1])
		a = a[j+1:]
	}
	for i := 1; i < len(a); i++ {
		x, j := a[i], i
		for ; j > 0 && a[j-1] > x; j-- {
			a[j] = a[j-1]
		}
		a[j] = x
	}
}

//go:wasmexport sort
func sort(rounds int32) int64 {
	x, sum := uint64(seed), uint64(fnvOffset)
	numbers := make([]uint32, 2048)
	for range rounds {
		for i := range numbers {
			x = xorshift(x)
			numbers[i] = uint32(x >> 32)
		}
		quicksort(numbers)
		for _, n := range numbers {
			sum = fnv(sum, uint64(n))
		}
	}
	return int64(sum)
}

const dim = 32

// matrix multiplies 32 x 32 floats.
//
//go:wasmexport matrix
func matrix(rounds int32) int64 {
	x, sum := uint64(seed), uint64(fnvOffset)
	a, b, c := make([]float64, dim*dim), make([]float64, dim*dim), make([]float64, dim*dim)
	for i := range a {
		x = xorshift(x)
		a[i] = float64(x >> 40)
		b[i] = float64(x & 0xffff)
	}
	for r := range int(rounds) {
		b[r%len(b)] = float64(r)
		for i := range dim {
			out := c[i*dim : (i+1)*dim]
			clear(out)
			for k, f := range a[i*dim : (i+1)*dim] {
				for j, g := range b[k*dim : (k+1)*dim] {
					out[j] += f * g
				}
			}
		}
		for _, v := range c {
			sum = fnv(sum, uint64(v))
		}
	}
	return int64(sum)
}

func fibonacci(n uint32) uint64 {
	if n < 2 {
		return uint64(n)
	}
	return fibonacci(n-1) + fibonacci(n-2)
}

//go:wasmexport fib
func fib(rounds int32) int64 {
	var sum uint64
	for r := range uint32(rounds) {
		sum = sum*31 + fibonacci(16+r%3)
	}
	return int64(sum)
}

// spin is a loop of a few instructions, each of which waits for the one before.
//
//go:wasmexport spin
func spin(rounds int32) int64 {
	x := uint64(seed)
	for range int64(rounds) * 1000 {
		x = xorshift(x)
	}
	return int64(x)
}
