package table

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

type pair struct{ key, value int }

func byKey() Order[int, pair] {
	return Order[int, pair]{Key: func(p *pair) int { return p.key }, Compare: cmp.Compare[int]}
}

func collect(rows func(func(*pair) bool)) (all []pair) {
	for p := range rows {
		all = append(all, *p)
	}
	return all
}

// TestSorted compares a table with a list, and every frozen version with what it was when frozen.
func TestSorted(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := NewSorted[int, pair, [128]pair](byKey())
	var want []pair
	at := func(key int) (int, bool) {
		return slices.BinarySearchFunc(want, key, func(p pair, key int) int { return cmp.Compare(p.key, key) })
	}
	type version struct {
		frozen Frozen[pair, [128]pair]
		want   []pair
	}
	var versions []version
	for n := range 60_000 {
		grow := 60
		if n/10_000%2 == 1 { // shrink in turn, so that pages merge
			grow = 25
		}
		switch p := random.IntN(100); {
		case p < grow/4:
			x := pair{1, n}
			if len(want) > 0 {
				x.key += want[len(want)-1].key
			}
			s.Append(x.key, x)
			want = append(want, x)
		case p < grow:
			x := pair{random.IntN(1 << 20), n}
			if i, ok := at(x.key); !ok {
				s.Insert(x.key, x)
				want = slices.Insert(want, i, x)
			}
		case p < grow+10 && len(want) > 0:
			i := random.IntN(len(want))
			want[i].value = -n
			s.Edit(want[i].key).value = -n
		case len(want) > 0:
			i := random.IntN(len(want))
			if got, ok := s.Remove(want[i].key); !ok || got != want[i] {
				t.Fatalf("step %d: removed %v, want %v", n, got, want[i])
			}
			want = slices.Delete(want, i, i+1)
		}
		if n%3000 == 0 {
			versions = append(versions, version{s.Freeze(), slices.Clone(want)})
			compareSorted(t, &s, want)
		}
	}
	compareSorted(t, &s, want)
	for i, v := range versions {
		if got := collect(v.frozen.All); !slices.Equal(got, v.want) || v.frozen.Len() != len(got) {
			t.Errorf("frozen version %d has changed", i)
		}
	}
	if full := s.Pages() * 128; full > 5*s.Len()+2*128 {
		t.Errorf("%d pages for %d rows", s.Pages(), s.Len())
	}
	for _, x := range want {
		s.Remove(x.key)
	}
	compareSorted(t, &s, nil)
}

func compareSorted(t *testing.T, s *Sorted[int, pair, [128]pair], want []pair) {
	t.Helper()
	if err := s.Check(func(p *pair) bool { return *p == pair{} }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(collect(s.All), want) || s.Len() != len(want) {
		t.Fatal("other rows")
	}
	if first := s.First(); (first == nil) != (len(want) == 0) || first != nil && *first != want[0] {
		t.Fatalf("%v is the first", first)
	}
	finder := s.Finder()
	for i, x := range want {
		if got := s.Get(x.key); got == nil || *got != x {
			t.Fatalf("get %d: %v", x.key, got)
		}
		if i%3 == 0 && *finder.Get(x.key) != x {
			t.Fatalf("find %d", x.key)
		}
		if i%97 == 0 && (!slices.Equal(collect(s.After(x.key)), want[i+1:]) || !slices.Equal(collect(s.After(x.key-1)), want[i:])) {
			t.Fatalf("after %d", x.key)
		}
	}
	if _, ok := s.Remove(-1); ok || s.Get(-1) != nil || s.Edit(-1) != nil || !slices.Equal(collect(s.After(-1)), want) {
		t.Fatal("a row that is not there")
	}
	if got := collect(s.After(1 << 40)); len(got) > 0 {
		t.Fatalf("after all: %v", got)
	}
}

func TestSortedCheckFinds(t *testing.T) {
	type sorted = Sorted[int, pair, [128]pair]
	for name, damage := range map[string]func(*sorted){
		"count":     func(s *sorted) { s.n++ },
		"order":     func(s *sorted) { s.Edit(3).key = 1 },
		"same":      func(s *sorted) { s.Edit(3).key = 2 },
		"first":     func(s *sorted) { s.firsts[0]++ },
		"no page":   func(s *sorted) { s.firsts = s.firsts[1:] },
		"leftover":  func(s *sorted) { s.pages.Edit(1).rows[127].value = 1 },
		"empty":     func(s *sorted) { s.pages.insert(2); s.firsts = append(s.firsts, 1000) },
		"too short": func(s *sorted) { s.pages.Edit(1).n-- },
	} {
		s := NewSorted[int, pair, [128]pair](byKey())
		for i := range 200 {
			s.Append(i, pair{i, 0})
		}
		empty := func(p *pair) bool { return *p == pair{} }
		if err := s.Check(empty); err != nil {
			t.Fatal(err)
		}
		if damage(&s); s.Check(empty) == nil {
			t.Errorf("%s: nothing found", name)
		}
	}
}

// TestPages compares pages with a map, and every frozen version with its former state, even after writes to the frozen
// one.
func TestPages(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var p Pages[[4]int]
	want := map[int][4]int{}
	type version struct {
		frozen Pages[[4]int]
		want   string
	}
	show := func(p *Pages[[4]int]) (s string) {
		for i := range p.Len() {
			if p.Has(i) {
				s += fmt.Sprint(i, *p.At(i), " ")
			}
		}
		return s
	}
	var versions []version
	for n := range 3000 {
		i := random.IntN(30)
		switch page, ok := want[i]; {
		case !ok:
			p.Put(i)
			want[i] = [4]int{}
		case random.IntN(4) == 0:
			p.Drop(i)
			delete(want, i)
		default:
			page[n%4] = n
			p.Edit(i)[n%4] = n
			want[i] = page
		}
		for i := range 31 {
			if page, ok := want[i]; p.Has(i) != ok || ok && *p.At(i) != page {
				t.Fatalf("step %d: page %d", n, i)
			}
		}
		if n%100 == 0 {
			frozen := p.Freeze()
			versions = append(versions, version{frozen, show(&frozen)})
		}
	}
	for i, v := range versions {
		if got := show(&v.frozen); got != v.want {
			t.Errorf("frozen version %d: %s, was %s", i, got, v.want)
		}
	}
}
