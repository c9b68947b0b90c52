package digests

import (
	"math"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// TestRing (SPEC C4): what is remembered is found by its index, and what is forgotten is not.
func TestRing(t *testing.T) {
	r := New()
	if _, ok := r.At(1); ok || r.Latest() != (task.Digest{}) {
		t.Fatal("an empty ring remembers")
	}
	for i := range uint64(Size + 100) {
		r.Add(task.Digest{Index: 2 * (i + 1), Sum: i}) // indexes have gaps
	}
	last := uint64(2 * (Size + 100))
	for _, tc := range []struct {
		index uint64
		ok    bool
	}{{last, true}, {last - 1, false}, {last - 2*(Size-1), true}, {last - 2*Size, false}, {last + 2, false}, {math.MaxUint64, false}} {
		d, ok := r.At(tc.index)
		if ok != tc.ok || (ok && (d.Index != tc.index || d.Sum != tc.index/2-1)) {
			t.Errorf("at(%d) = %v, %v", tc.index, d, ok)
		}
	}
	r.Reset(task.Digest{Index: 7, Sum: 1})
	if _, ok := r.At(last); ok || r.Latest().Index != 7 {
		t.Fatal("reset does not forget")
	}
}
