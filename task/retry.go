package task

import "math/bits"

// Interval returns how long to wait before the next attempt after the given number of failures (1, 2, …) of which the
// last was this attempt of the task with this ID (SPEC R2).
//
// The interval is initial × multiplier^(failures−1), in integers, each step rounded down, at most max. The jitter only
// shortens it, by 0 … jitter_percent: the answer never exceeds max_interval. It is the FNV-1a hash of the ID's bytes
// and the attempt's eight (big-endian), modulo the number of possible values: every node computes the same, and tasks
// that failed together do not come back together.
func (r Retry) Interval(id string, attempt, failures int64) Millis {
	interval := min(max(r.InitialInterval, 0), max(r.MaxInterval, 0))
	for n := int64(1); n < failures; n++ {
		next := multiply(interval, r.MultiplierThousandth, r.MaxInterval)
		if next == interval {
			break
		}
		interval = next
	}
	hi, lo := bits.Mul64(uint64(interval), uint64(min(max(r.JitterPercent, 0), 100)))
	span, _ := bits.Div64(hi, lo, 100)
	return interval - Millis(jitter(id, attempt)%(span+1))
}

// multiply returns interval × thousandths / 1000, at most limit.
func multiply(interval Millis, thousandths int64, limit Millis) Millis {
	hi, lo := bits.Mul64(uint64(interval), uint64(max(thousandths, 0)))
	if hi >= 1000 {
		return limit
	}
	q, _ := bits.Div64(hi, lo, 1000)
	if q > uint64(limit) {
		return limit
	}
	return Millis(q)
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
