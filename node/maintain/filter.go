package maintain

import (
	"crypto/rand"
	"math"

	"github.com/bits-and-blooms/bloom/v3"

	"github.com/taskrt/taskrt/task"
)

// The false-positive rates of SPEC M3. A filter is made for wantRate. A run whose filter exceeds maxRate deletes
// nothing.
const (
	wantRate = 1e-5
	maxRate  = 5e-5
)

// filter remembers which objects are needed. It may call an object needed that is not. Such an object stays until the
// next run, whose filter has another salt.
type filter struct {
	bloom *bloom.BloomFilter
	salt  [16]byte
	items int64 // marks made; an object that is marked twice counts twice
	key   []byte
}

func newFilter(items int64) *filter {
	f := &filter{bloom: bloom.NewWithEstimates(uint(items), wantRate)}
	_, _ = rand.Read(f.salt[:]) // it never fails
	return f
}

// sizeFor returns how many marks a filter should be made for: 1.1 times the marks of the last run that counted its
// marks.
func sizeFor(runs []*task.MaintenanceRun, minimum int64) int64 {
	for _, run := range runs { // newest first
		if n := run.Filter.Items; n > 0 {
			return max(n+n/10+1, minimum)
		}
	}
	return minimum
}

// keyOf names an object under the run's salt. No part of a name holds a zero byte.
func (f *filter) keyOf(o *Object) []byte {
	k := append(f.key[:0], f.salt[:]...)
	for _, part := range [...]string{o.Kind, o.Namespace, o.Name} {
		k = append(append(k, part...), 0)
	}
	f.key = k
	return k
}

func (f *filter) add(o *Object) {
	f.items++
	f.bloom.Add(f.keyOf(o))
}

func (f *filter) has(o *Object) bool { return f.bloom.Test(f.keyOf(o)) }

// rate estimates, by the bits that are set, how often has is wrong.
func (f *filter) rate() float64 {
	full := float64(f.bloom.BitSet().Count()) / float64(f.bloom.Cap())
	return math.Pow(full, float64(f.bloom.K()))
}

func (f *filter) stats() task.FilterStats {
	return task.FilterStats{
		Items: f.items, Bits: int64(f.bloom.Cap()), Hashes: int64(f.bloom.K()), PPB: int64(math.Round(f.rate() * 1e9)),
	}
}
