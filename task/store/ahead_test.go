package store

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestAhead: Ahead meets the records that there are, packed or not, and no others, and changes nothing.
func TestAhead(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := New[record](form{})
	owner := Owner{"ns", "b"}
	number := s.AddOwner(owner)
	id := func(i int) string { return fmt.Sprint("id-", i) }
	const n = aheadFew + 2000
	for i := range n {
		s.Add(number, some(random, owner, id(i), uint64(i+1)))
		if i == aheadFew-1 {
			if found := s.Ahead(n, func(i int) (string, string) { return "ns", id(i) }); found != 0 {
				t.Errorf("of %d records %d were looked at", i+1, found)
			}
		}
	}
	for i := 0; i < n; i += 10 {
		r := s.Get("ns", id(i))
		s.Remove(r, s.Record(r))
	}
	for _, keys := range []int{0, 1, aheadLeast - 1, aheadLeast, aheadMost - 1, aheadMost, aheadMost + 1, 3*aheadMost + 7} {
		want := 0
		found := s.Ahead(keys, func(i int) (namespace, key string) {
			exists, namespace, key := i%10 != 0, "ns", id(i)
			switch i % 7 {
			case 1:
				exists, key = false, ""
			case 2:
				exists, namespace = false, "other"
			case 3:
				exists, key = false, key+"-"
			}
			if exists {
				want++
			}
			return namespace, key
		})
		if keys < aheadLeast {
			want = 0
		}
		if found != want {
			t.Errorf("%d keys: %d were found, want %d", keys, found, want)
		}
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}
