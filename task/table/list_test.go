package table

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestList compares a list with a map.
func TestList(t *testing.T) {
	type row struct{ key, value int }
	random := rand.New(rand.NewPCG(1, 2))
	l, plain := NewList(func(r row) int { return r.key }, cmp.Compare[int]), map[int]int{}
	for range 5_000 {
		if r := (row{random.IntN(300), random.IntN(1000)}); random.IntN(20) > 0 {
			l.Put(r)
			plain[r.key] = r.value
		} else {
			to := r.key + random.IntN(40)
			for _, cut := range l.Cut(r.key, to) {
				if value, ok := plain[cut.key]; !ok || value != cut.value || cut.key < r.key || cut.key >= to {
					t.Fatalf("%+v was cut from %d to %d", cut, r.key, to)
				}
				delete(plain, cut.key)
			}
			for key := range plain {
				if key >= r.key && key < to {
					t.Fatalf("%d was not cut from %d to %d", key, r.key, to)
				}
			}
		}
		if k := random.IntN(300); l.Get(k).value != plain[k] {
			t.Fatalf("%d is %+v, want %d", k, l.Get(k), plain[k])
		}
		if err := l.Check(); err != nil {
			t.Fatal(err)
		}
	}
	var keys []int
	for _, r := range l.Rows {
		keys = append(keys, r.key)
	}
	if want := slices.Sorted(maps.Keys(plain)); !slices.Equal(keys, want) {
		t.Errorf("%v, want %v", keys, want)
	}
	l.Rows[0], l.Rows[1] = l.Rows[1], l.Rows[0]
	if l.Check() == nil {
		t.Error("a wrong order is not seen")
	}
}
