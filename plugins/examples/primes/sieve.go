package main

// segmentOdds is how many odd numbers one segment of the sieve holds, a byte each: it fits the L2 cache, bounds the
// memory whatever the limit is, and takes milliseconds.
const segmentOdds = 1 << 18

// segmentSpan is how many numbers that are.
const segmentSpan = 2 * segmentOdds

// sieve counts primes by the segmented sieve of Eratosthenes: composites of a segment are crossed out by the primes up to
// the square root of its end, so a segment needs nothing of the ones before it.
type sieve struct {
	base    []uint32 // the odd primes up to the square root of the limit
	crossed []byte   // of the segment at work: entry i is the odd number start + 2i + 1
}

func newSieve(limit uint64) *sieve {
	return &sieve{base: oddPrimes(root(limit)), crossed: make([]byte, segmentOdds)}
}

// root is the integer square root.
func root(n uint64) uint64 {
	lo, hi := uint64(0), uint64(1)<<32
	for lo+1 < hi {
		if mid := (lo + hi) / 2; mid*mid <= n {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// oddPrimes is the plain sieve.
func oddPrimes(limit uint64) []uint32 {
	composite := make([]bool, limit+1)
	var primes []uint32
	for i := uint64(3); i <= limit; i += 2 {
		if composite[i] {
			continue
		}
		primes = append(primes, uint32(i))
		for j := i * i; j <= limit; j += 2 * i {
			composite[j] = true
		}
	}
	return primes
}

// count returns the number of primes p with start < p ≤ end, without 2. start is even and end - start ≤ segmentSpan.
func (s *sieve) count(start, end uint64) int64 {
	n := (end - start + 1) / 2 // odd numbers in the segment
	crossed := s.crossed[:n]
	clear(crossed)
	if start == 0 {
		crossed[0] = 1 // 1 is no prime
	}
	for _, p := range s.base {
		if uint64(p)*uint64(p) > end {
			break
		}
		cross(crossed, firstMultiple(start, uint64(p)), int(p))
	}
	return int64(n) - sum(crossed)
}

// sum adds up entries that are 0 or 1.
func sum(c []byte) (total int64) {
	for ; len(c) >= 8; c = c[8:] {
		total += int64(c[0] + c[1] + c[2] + c[3] + c[4] + c[5] + c[6] + c[7])
	}
	for _, b := range c {
		total += int64(b)
	}
	return total
}

// firstMultiple returns the index in the segment of the first odd multiple of p that is p² or more.
func firstMultiple(start, p uint64) int {
	m := p * p
	if m <= start {
		m = (start/p + 1) * p
		if m%2 == 0 {
			m += p
		}
	}
	return int((m - start) / 2)
}

// cross marks every p-th entry from i on. It is where the time goes, hence unrolled: what a guest pays for being killable
// at any time, it pays per turn of a loop.
func cross(crossed []byte, i, p int) {
	for ; i+7*p < len(crossed); i += 8 * p {
		crossed[i] = 1
		crossed[i+p] = 1
		crossed[i+2*p] = 1
		crossed[i+3*p] = 1
		crossed[i+4*p] = 1
		crossed[i+5*p] = 1
		crossed[i+6*p] = 1
		crossed[i+7*p] = 1
	}
	for ; i < len(crossed); i += p {
		crossed[i] = 1
	}
}
