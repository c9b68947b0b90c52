package queue

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/taskrt/taskrt/task/table"
)

// TestLine compares a line with a sorted list: rows that come in order, a little late, and at any time.
func TestLine(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	for _, t4 := range []bool{false, true} {
		created := map[table.Handle]uint64{}
		s := NewRows(func(h table.Handle) uint64 { return created[h] })
		l := Line{t4: t4}
		var all []*Row // in order
		for n := range 25_000 {
			grow := 55
			if n/5_000%2 == 1 {
				grow = 42
			}
			place := func(r *Row) {
				l.Push(&s, r, created[r.ID])
				i, _ := slices.BinarySearchFunc(all, r, func(x, y *Row) int {
					if l.Spot(&s, x).Less(l.Spot(&s, y)) {
						return -1
					}
					return 1
				})
				all = slices.Insert(all, i, r)
			}
			if len(all) > 0 && random.IntN(10) == 0 { // one that was there before comes again
				i := max(len(all)-1-random.IntN(9), 0)
				r := all[i]
				l.Remove(&s, r)
				all = slices.Delete(all, i, i+1)
				r.At = int64(n / 10)
				place(r)
			}
			if len(all) == 0 || random.IntN(100) < grow {
				r := s.Add()
				r.Priority, created[r.ID] = int8(random.IntN(200)/199), uint64(n+1)
				r.At = int64(n / 10)
				switch random.IntN(50) {
				case 0:
					r.At = int64(random.IntN(n/10 + 1))
				case 1, 2, 3:
					r.At--
				}
				place(r)
			} else {
				i := random.IntN(len(all))
				if random.IntN(2) == 0 {
					i = min(i, 3) // most leave at the front
				}
				l.Remove(&s, all[i])
				s.Remove(all[i])
				all = slices.Delete(all, i, i+1)
			}
			if l.Len() != len(all) || len(all) > 0 && l.Head(&s) != all[0] {
				t.Fatalf("step %d: length or head", n)
			}
			if n%1000 != 0 {
				continue
			}
			c := l.Cursor(&s)
			for i, want := range all {
				if c.Row != want {
					t.Fatalf("step %d: row %d", n, i)
				}
				c.Next()
			}
			if c.Row != nil {
				t.Fatalf("step %d: more than there is", n)
			}
		}
		if l.rest.Len() > len(all)/5 {
			t.Errorf("%d of %d rows are in the heap", l.rest.Len(), len(all))
		}
	}
}
