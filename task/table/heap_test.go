package table

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// TestHeap compares the heap and its cursor with a sorted list.
func TestHeap(t *testing.T) {
	type item struct {
		key int64
		tie uint64
		pos Pos
	}
	random := rand.New(rand.NewPCG(1, 2))
	var h Heap[*Pos, uint64, *item]
	var all []*item
	for n := range 5000 {
		if len(all) == 0 || random.IntN(100) < 55 {
			x := &item{key: random.Int64N(50), tie: uint64(n)}
			h.Push(x.key, x.tie, &x.pos, x)
			all = append(all, x)
		} else {
			i := random.IntN(len(all))
			h.Remove(&all[i].pos)
			if all[i].pos != 0 {
				t.Fatal("removed, but has a position")
			}
			all = slices.Delete(all, i, i+1)
		}
		if n%50 != 0 {
			continue
		}
		if n%500 == 0 {
			turn := random.Int64N(50)
			h.Rekey(func(x *item) int64 { x.key = (x.key + turn) % 50; return x.key })
		}
		if err := h.Check(); err != nil {
			t.Fatalf("step %d: %v", n, err)
		}
		sorted := slices.SortedFunc(slices.Values(all), func(a, b *item) int {
			return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.tie, b.tie))
		})
		c := h.Cursor()
		for i, want := range sorted {
			if c.Node() == nil || c.Node().Item != want {
				t.Fatalf("step %d: item %d", n, i)
			}
			c.Next()
		}
		if c.Node() != nil || h.Len() != len(all) {
			t.Fatalf("step %d: more than there is", n)
		}
	}
}

// TestHeapOfTheUntold compares a heap without places with a sorted list: heads that come later, pops, and kept times.
func TestHeapOfTheUntold(t *testing.T) {
	type node = Node[Untold, string, struct{}]
	random := rand.New(rand.NewPCG(3, 4))
	var h Heap[Untold, string, struct{}]
	var all []node
	compare := func(a, b node) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Tie, b.Tie)) }
	for n := range 20_000 {
		switch p := random.IntN(100); {
		case p < 50 || len(all) == 0:
			x := node{Key: random.Int64N(50), Tie: string(rune(n))}
			h.Push(x.Key, x.Tie, Untold{}, x.Item)
			all = append(all, x)
		case p < 70:
			i := slices.Index(all, *h.Head())
			h.Head().Key += 3
			h.Sink()
			all[i].Key += 3
		case p < 99 || n%5 != 0:
			least := slices.MinFunc(all, compare)
			if got := h.Pop(); got != least {
				t.Fatalf("step %d: %v is the head, want %v", n, got, least)
			}
			all = slices.DeleteFunc(all, func(x node) bool { return x == least })
		default:
			h.Keep(func(key int64, _ string) bool { return key%3 != 0 })
			all = slices.DeleteFunc(all, func(x node) bool { return x.Key%3 == 0 })
		}
		if err := h.Check(); err != nil || h.Len() != len(all) {
			t.Fatalf("step %d: %d items, want %d: %v", n, h.Len(), len(all), err)
		}
	}
}

// TestNodesAreSmall: there are millions of times of records, and they need neither a place nor an item.
func TestNodesAreSmall(t *testing.T) {
	if n := unsafe.Sizeof(Node[Untold, uint64, struct{}]{}); n != 16 {
		t.Errorf("a node of nothing takes %d bytes", n)
	}
	if n := unsafe.Sizeof(Node[*Pos, uint64, *int]{}); n != 32 {
		t.Errorf("a node takes %d bytes", n)
	}
}

func TestHeapCheckFinds(t *testing.T) {
	var places [3]Pos
	var h Heap[*Pos, uint64, int]
	for i := range places {
		h.Push(int64(i), 0, &places[i], i)
	}
	if err := h.Check(); err != nil {
		t.Fatal(err)
	}
	h.At(1).Key = 9
	if h.Check() == nil {
		t.Error("a node out of order is not found")
	}
	h.At(1).Key, places[2] = 0, 1
	if h.Check() == nil {
		t.Error("a wrong place is not found")
	}
	if h.At(0) != nil || h.At(-1) != nil || h.At(4) != nil {
		t.Error("a node is where none can be")
	}
}
