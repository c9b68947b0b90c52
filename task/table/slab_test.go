package table

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSlab compares a slab with a map. Rows stay where they are. A page goes with its last row, and its owner is told.
func TestSlab(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var s Slab[int]
	rows := map[Handle]*int{}
	var all []Handle
	with := map[int]bool{}
	for n := range 60_000 {
		grow := 60
		if n/10_000%2 == 1 {
			grow = 30
		}
		if random.IntN(100) < grow || len(all) == 0 {
			h, row := s.Add()
			if h == 0 || rows[h] != nil || *row != 0 {
				t.Fatalf("step %d: row %d is another's", n, h)
			}
			*row = n + 1
			rows[h] = row
			all = append(all, h)
			with[int(h/PageRows)] = true
		} else {
			i := random.IntN(len(all))
			h := all[i]
			delete(rows, h)
			all = slices.Delete(all, i, i+1)
			if s.Remove(h) {
				delete(with, int(h/PageRows))
			}
		}
		if n%1000 != 0 {
			continue
		}
		if err := s.Check(func(page int) bool { return !with[page] }); err != nil {
			t.Fatalf("step %d: %v", n, err)
		}
		found := 0
		for h, row := range s.All {
			if found++; rows[h] != row || s.Row(h) != row {
				t.Fatalf("step %d: row %d has moved", n, h)
			}
		}
		if found != len(all) {
			t.Fatalf("step %d: %d rows, want %d", n, found, len(all))
		}
	}
}

func TestSlabCheckFinds(t *testing.T) {
	for name, damage := range map[string]func(s *Slab[int]){
		"room":    func(s *Slab[int]) { s.open = nil },
		"full":    func(s *Slab[int]) { s.pages[1].free[1] = 1 },
		"no room": func(s *Slab[int]) { s.pages[2].free = [2]uint64{} },
		"gone":    func(s *Slab[int]) { s.gone = append(s.gone, 7) },
		"empty":   func(s *Slab[int]) { s.addPage(); s.addPage() },
	} {
		var s Slab[int]
		for range PageRows + 1 {
			s.Add()
		}
		dropped := func(page int) bool { return page == 0 }
		if err := s.Check(dropped); err != nil {
			t.Fatal(err)
		}
		if s.Check(func(int) bool { return false }) == nil {
			t.Error("what is kept of no page is not found")
		}
		if damage(&s); s.Check(dropped) == nil {
			t.Errorf("%s: nothing found", name)
		}
	}
}
