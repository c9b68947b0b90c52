package task

import "math/bits"

// Interval returns how long to wait before the next attempt after the given number of failures (1, 2, …) of which the
// last was this attempt of the task with this ID (SPEC R2).
//
// The interval is initial × multiplier^(failures−1), at most max, computed in 64.64 fixed point and rounded once, to the
// nearest millisecond: so short intervals grow by what they should. The jitter only shortens it, by 0 … jitter_percent: the answer
// never exceeds max_interval. It is the FNV-1a hash of the ID's bytes and the attempt's eight (big-endian), modulo the number of
// possible values: every node computes the same, and tasks that failed together do not come back together.
func (r Retry) Interval(id string, attempt, failures int64) Millis {
	limit := max(r.MaxInterval, 0)
	interval := limit
	if growth, ok := thousandths(max(r.MultiplierThousandth, 0)).power(max(failures-1, 0)); ok {
		if x, ok := growth.times(uint64(max(r.InitialInterval, 0))); ok && x < uint64(limit) {
			interval = Millis(x)
		}
	} else if r.InitialInterval <= 0 {
		interval = 0
	}
	hi, lo := bits.Mul64(uint64(interval), uint64(min(max(r.JitterPercent, 0), 100)))
	span, _ := bits.Div64(hi, lo, 100)
	return interval - Millis(jitter(id, attempt)%(span+1))
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
