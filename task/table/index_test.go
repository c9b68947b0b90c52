package table

import (
	"math/rand/v2"
	"testing"
)

// TestIndex compares an index with a map. Hashes differ little where the index looks, so many rows are displaced.
func TestIndex(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	x := NewIndex()
	hashes := map[Handle]uint64{}
	var rows []Handle
	for n := range 60_000 {
		grow := 70
		if n > 30_000 {
			grow = 25
		}
		if random.IntN(100) < grow || len(rows) == 0 {
			h := Handle(n + 1)
			hashes[h] = random.Uint64()&^(1<<50-1) | random.Uint64N(8)
			x.Insert(hashes[h], h, func(h Handle) uint64 { return hashes[h] })
			rows = append(rows, h)
		} else {
			i := random.IntN(len(rows))
			h := rows[i]
			x.Delete(hashes[h], h)
			delete(hashes, h)
			rows[i] = rows[len(rows)-1]
			rows = rows[:len(rows)-1]
			if x.Find(random.Uint64(), func(Handle) bool { return false }) != 0 {
				t.Fatal("a row that is not there")
			}
		}
		if n%2000 != 0 {
			continue
		}
		if err := x.Check(func(h Handle) bool { _, ok := hashes[h]; return ok }, len(rows)); err != nil {
			t.Fatalf("step %d: %v", n, err)
		}
		for _, h := range rows {
			if x.Find(hashes[h], func(found Handle) bool { return found == h }) != h {
				t.Fatalf("step %d: row %d is not found", n, h)
			}
		}
	}
}

func TestIndexCheckFinds(t *testing.T) {
	hash := func(h Handle) uint64 { return uint64(h) << 40 }
	for name, damage := range map[string]func(x *Index){
		"count":    func(x *Index) { x.n++ },
		"in shard": func(x *Index) { x.shards[0].n++ },
		"twice":    func(x *Index) { x.Insert(hash(3), 3, hash) },
		"unknown":  func(x *Index) { x.Insert(hash(9), 9, hash) },
		"lost":     func(x *Index) { x.Delete(hash(3), 3) },
	} {
		x := NewIndex()
		for h := range Handle(5) {
			x.Insert(hash(h), h, hash)
		}
		is := func(h Handle) bool { return h < 5 }
		if err := x.Check(is, 5); err != nil {
			t.Fatal(err)
		}
		if damage(&x); x.Check(is, 5) == nil {
			t.Errorf("%s: nothing found", name)
		}
	}
}
