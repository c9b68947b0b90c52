package table

import (
	"slices"
	"testing"
)

// TestOrdered: rows stand in the order of their numbers, each once, whatever order they come and go in.
func TestOrdered(t *testing.T) {
	of := func(n uint64) uint64 { return n }
	var rows []uint64
	for _, n := range []uint64{5, 1, 9, 5, 3} {
		rows = Put(rows, n, of)
	}
	if !slices.Equal(rows, []uint64{1, 3, 5, 9}) {
		t.Fatal(rows)
	}
	for number, want := range map[uint64]int{0: 0, 1: 1, 2: 1, 5: 3, 8: 3, 9: 4, 10: 4} {
		if got := After(rows, number, of); got != want {
			t.Errorf("after %d: %d, want %d", number, got, want)
		}
	}
	for _, n := range []uint64{5, 4, 1, 9, 9} {
		rows = Drop(rows, n, of)
	}
	if !slices.Equal(rows, []uint64{3}) || !InOrder(rows, of) || InOrder([]uint64{2, 1}, of) {
		t.Error(rows)
	}
}
