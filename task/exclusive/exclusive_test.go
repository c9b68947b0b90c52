package exclusive

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// excludes says by plain means whether two operations exclude each other.
func excludes(a, b *Terms) bool {
	if a.Namespace != b.Namespace || a.Target != b.Target {
		return false
	}
	one := func(a, b *Terms) bool {
		same := a.Behavior == b.Behavior
		return same && a.PerTarget || same && a.Object == b.Object && a.PerObject || slices.Contains(a.Incompatible, b.Behavior)
	}
	return one(a, b) || one(b, a)
}

// TestTable compares a table with a list of all that runs.
func TestTable(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	var table Table[uint64]
	type operation struct {
		Terms
		created uint64
	}
	var all []operation // by creation
	met, free := 0, 0
	for n := range uint64(20_000) {
		o := operation{Terms{Namespace: pick("x", "y"), Target: pick("s", "t"), Object: pick("", "o"), Behavior: pick("a", "b", "c")}, n + 1}
		o.PerTarget = random.IntN(4) == 0
		o.PerObject = !o.PerTarget && random.IntN(3) == 0
		if random.IntN(3) == 0 {
			o.Incompatible = []string{pick("a", "b"), "c"}
		}
		var want uint64
		for i := range all {
			if excludes(&all[i].Terms, &o.Terms) {
				want = all[i].created
				break
			}
		}
		got, ok := table.Excluding(o.Terms)
		if got != want || ok != (want != 0) {
			t.Fatalf("%+v: excluded by %d, want %d", o, got, want)
		}
		if ok {
			met++
		} else {
			free++
		}
		if len(all) < 12 { // whether it may or not
			table.Enter(o.Terms, o.created, o.created)
			all = append(all, o)
		}
		if len(all) > 0 && random.IntN(3) > 0 {
			i := random.IntN(len(all))
			table.Leave(all[i].Terms, all[i].created)
			all = slices.Delete(all, i, i+1)
		}
		var again Table[uint64]
		for i := range all {
			again.Enter(all[i].Terms, all[i].created, all[i].created)
		}
		if err := table.Check(&again); err != nil {
			t.Fatal(err)
		}
	}
	if met == 0 || free == 0 {
		t.Errorf("%d excluded, %d free", met, free)
	}
}

// TestCheckSees: one too many, one too few, another one.
func TestCheckSees(t *testing.T) {
	a, b := Terms{Behavior: "a", Object: "o"}, Terms{Behavior: "b"}
	var want, none, other, wrong Table[int]
	want.Enter(a, 1, 1)
	other.Enter(a, 2, 2)
	wrong.Enter(a, 1, 2)
	more := Table[int]{}
	more.Enter(a, 1, 1)
	more.Enter(b, 2, 2)
	for name, x := range map[string]*Table[int]{"none": &none, "another": &other, "another of the same rev": &wrong, "one too many": &more} {
		if x.Check(&want) == nil {
			t.Errorf("%s: not seen", name)
		}
	}
}
