package records

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/taskrt/taskrt/task/table"
)

// model does what a Set must do, in the plainest way.
type model map[uint64]Record

func (m model) group(name string, all bool, at int64) []Record {
	var found []Record
	for _, r := range m {
		if r.Group == name && (all || r.Available <= at) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b Record) int { return cmp.Compare(a.ID, b.ID) })
	return found
}

func (m model) groups() []string {
	names := map[string]bool{}
	for _, r := range m {
		names[r.Group] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func (m model) all() []Record {
	return slices.SortedFunc(maps.Values(m), func(a, b Record) int { return cmp.Compare(a.ID, b.ID) })
}

// rebuilt returns the Set that a snapshot of s would give.
func rebuilt(s *Set, now int64) *Set {
	n := New()
	for r := range s.Freeze().All {
		n.Add(r, now)
	}
	return n
}

func compare(t *testing.T, s *Set, m model, now int64) {
	t.Helper()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	if got, want := s.Groups(), m.groups(); !slices.Equal(got, want) || s.Len() != len(m) {
		t.Fatalf("groups %q of %d records, want %q of %d", got, s.Len(), want, len(m))
	}
	for _, g := range append(m.groups(), "none") {
		for _, at := range []int64{now - 7, now, now + 7} {
			for _, all := range []bool{false, true} {
				if got, want := slices.Collect(s.Group(g, all, at)), m.group(g, all, at); !slices.Equal(got, want) {
					t.Fatalf("group %q (all %v) at %d:\n%v\nwant\n%v", g, all, at, got, want)
				}
			}
		}
		want := m.group(g, false, now)
		if n := s.Available(g, now); n != len(want) {
			t.Fatalf("%d of %q are available, want %d", n, g, len(want))
		}
		for k := range want {
			if got := s.Pick(g, k); got != want[k] {
				t.Fatalf("%d. of %q: %v, want %v", k, g, got, want[k])
			}
		}
	}
	for id, want := range m {
		if got, ok := s.Get(id); !ok || got != want {
			t.Fatalf("get %d: %v, want %v", id, got, want)
		}
	}
}

// TestAgainstModel adds and removes at random, with gaps between the IDs. Now and then it goes on with a Set that was
// built from a snapshot.
func TestAgainstModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			s, m := New(), model{}
			id, now := uint64(0), int64(1000)
			size, groups := 40<<seed, 1+int(seed)%3
			for step := range 6000 {
				switch grow := random.IntN(2*size) >= len(m); {
				case grow:
					id += 1 + random.Uint64N(3)
					r := Record{ID: id, Group: fmt.Sprint("g", random.IntN(groups)), Owner: int64(step), Available: now - 50 + random.Int64N(100), Data: fmt.Sprint(step)}
					s.Add(r, now)
					m[id] = r
				default:
					all := m.all()
					victim := all[random.IntN(len(all))].ID
					if got, ok := s.Remove(victim); !ok || got != m[victim] {
						t.Fatalf("removed %v, want %v", got, m[victim])
					}
					delete(m, victim)
				}
				if random.IntN(4) == 0 {
					now += random.Int64N(5)
				}
				if random.IntN(4) == 0 {
					s.Available("g0", now)
				}
				if step%400 == 0 {
					compare(t, s, m, now)
				}
				if step%1000 == 0 {
					s = rebuilt(s, now)
				}
			}
			compare(t, s, m, now)
			for _, r := range m.all() {
				s.Remove(r.ID)
			}
			compare(t, s, model{}, now)
			if _, ok := s.Remove(id); ok {
				t.Error("removed what is not there")
			}
		})
	}
}

// TestFrozenStays: a frozen Set reads the same, whatever happens to the Set afterwards.
func TestFrozenStays(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	s, m := New(), model{}
	type shot struct {
		frozen Frozen
		want   []Record
	}
	var shots []shot
	id := uint64(0)
	for step := range 3000 {
		if all := m.all(); len(all) > 0 && random.IntN(5) < 2 {
			victim := all[random.IntN(len(all))].ID
			s.Remove(victim)
			delete(m, victim)
		} else {
			id++
			m[id] = Record{ID: id, Group: fmt.Sprint(id % 3), Data: fmt.Sprint(step)}
			s.Add(m[id], 0)
		}
		if step%250 == 0 {
			shots = append(shots, shot{s.Freeze(), m.all()})
		}
	}
	for i, x := range shots {
		if got := slices.Collect(iter.Seq[Record](x.frozen.All)); !slices.Equal(got, x.want) || x.frozen.Len() != len(x.want) {
			t.Errorf("shot %d changed", i)
		}
	}
}

// TestRenewalsLeaveNothing: a record that is renewed for ever does not leave its former times behind.
func TestRenewalsLeaveNothing(t *testing.T) {
	t.Parallel()
	s := New()
	s.Add(Record{ID: 1, Group: "g", Available: 1 << 60}, 0)
	for id := uint64(2); id < 50_000; id++ {
		s.Add(Record{ID: id, Group: "g", Available: 1 << 60}, 0)
		s.Remove(id - 1)
		if n := s.groups["g"].future.Len(); n > 2*chunkEntries {
			t.Fatalf("%d times are kept of one record", n)
		}
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

func TestCheckFinds(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(*Set){
		"order":     func(s *Set) { s.row(3).id = 1 },
		"of none":   func(s *Set) { s.row(3).group = &group{name: "g"} },
		"group":     func(s *Set) { s.groups["h"] = &group{} },
		"open":      func(s *Set) { s.groups["g"].chunks[0].open-- },
		"tree":      func(s *Set) { s.groups["g"].available.tree[0]-- },
		"entry":     func(s *Set) { s.groups["g"].chunks[0].entries[2] ^= 2 },
		"no time":   func(s *Set) { s.groups["g"].chunks[0].entries[0] ^= 1; s.groups["g"].change(0, -1) },
		"heap":      func(s *Set) { f := &s.groups["g"].future; f.At(1).Key = f.At(table.Pos(f.Len())).Key + 1 },
		"members":   func(s *Set) { s.groups["g"].n++ },
		"available": func(s *Set) { s.groups["g"].available.total++ },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := New()
			for id := uint64(1); id <= 200; id++ {
				s.Add(Record{ID: id, Group: "g", Available: int64(id)}, 100)
			}
			if err := s.Check(); err != nil {
				t.Fatal(err)
			}
			damage(s)
			if s.Check() == nil {
				t.Error("nothing found")
			}
		})
	}
}
