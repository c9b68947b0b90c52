// Package backoff says how long to wait before something is tried again (SPEC R2). The wait grows with each failure, up to a limit. A jitter
// shortens it. The package uses integers and no randomness, so every node computes the same wait.
package backoff

import "math/bits"

// Policy says how waits grow. Times are in any unit; negative numbers count as 0.
type Policy struct {
	Initial    int64 // after the first failure
	Thousandth int64 // how many thousandths of a wait the next one is: 2000 doubles it
	Max        int64
	Jitter     int64 // by how many percent a wait may be shorter; more than 100 count as 100
}

// Wait returns how long to wait before the next attempt after the given number of failures (1, 2, …), of which the last was this
// attempt of what has this ID.
//
// The wait is Initial × multiplier^(failures−1), at most Max, computed in 64.64 fixed point and rounded once, to the nearest unit: so
// short waits grow by what they should. The jitter only shortens it, by 0 … Jitter percent: the answer never exceeds Max. The jitter is
// the FNV-1a hash of the ID's bytes and the attempt's eight (big-endian), modulo the number of possible values: what failed together
// does not come back together.
func (p Policy) Wait(id string, attempt, failures int64) int64 {
	limit := max(p.Max, 0)
	wait := limit
	if growth, ok := thousandths(max(p.Thousandth, 0)).power(max(failures-1, 0)); ok {
		if x, ok := growth.times(uint64(max(p.Initial, 0))); ok && x < uint64(limit) {
			wait = int64(x)
		}
	} else if p.Initial <= 0 {
		wait = 0
	}
	hi, lo := bits.Mul64(uint64(wait), uint64(min(max(p.Jitter, 0), 100)))
	span, _ := bits.Div64(hi, lo, 100)
	return wait - int64(jitter(id, attempt)%(span+1))
}

// fixed is a number in 64.64 fixed point: the part before the point, and the 64 binary digits after it.
type fixed struct{ whole, part uint64 }

// thousandths returns n / 1000, to the nearest.
func thousandths(n int64) fixed {
	part, rest := bits.Div64(uint64(n%1000), 0, 1000)
	if rest >= 500 {
		part++ // n%1000 is at most 999: this is less than one
	}
	return fixed{uint64(n / 1000), part}
}

// power returns x to the n by squaring; not ok: it is 2^64 or more.
func (x fixed) power(n int64) (fixed, bool) {
	result := fixed{whole: 1}
	for ; n > 0; n >>= 1 {
		var ok bool
		if n&1 == 1 {
			if result, ok = result.multiply(x); !ok {
				return fixed{}, false
			}
		}
		if n > 1 {
			if x, ok = x.multiply(x); !ok {
				return fixed{}, false // what is left of n is at least 1, and x above 1
			}
		}
	}
	return result, true
}

// multiply returns x × y, cut off after the last digit; not ok: it is 2^64 or more.
func (x fixed) multiply(y fixed) (fixed, bool) {
	over, whole := bits.Mul64(x.whole, y.whole)
	last, _ := bits.Mul64(x.part, y.part)
	for _, z := range [...][2]uint64{{x.whole, y.part}, {x.part, y.whole}} {
		hi, lo := bits.Mul64(z[0], z[1])
		var carry uint64
		last, carry = bits.Add64(last, lo, 0)
		whole, carry = bits.Add64(whole, hi, carry)
		over += carry
	}
	return fixed{whole, last}, over == 0
}

// times returns x × n to the nearest whole number; not ok: it is 2^64 or more.
func (x fixed) times(n uint64) (uint64, bool) {
	over, whole := bits.Mul64(x.whole, n)
	hi, lo := bits.Mul64(x.part, n)
	whole, carry := bits.Add64(whole, hi, lo>>63)
	return whole, over == 0 && carry == 0
}

func jitter(id string, attempt int64) uint64 {
	const offset, prime = 0xcbf29ce484222325, 0x100000001b3
	h := uint64(offset)
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * prime
	}
	for shift := 56; shift >= 0; shift -= 8 {
		h = (h ^ uint64(attempt)>>shift&0xff) * prime
	}
	return h
}
