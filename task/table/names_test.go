package table

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestNames compares a table of names with a list, and every frozen version with what it was when frozen.
func TestNames(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	type use struct {
		n    uint32
		text string
	}
	type version struct {
		frozen Names
		all    []use
	}
	var names Names
	var all []use
	var versions []version
	for n := range 20_000 {
		if grow := n/5000%2 == 0; grow && random.IntN(3) > 0 || len(all) == 0 {
			text := fmt.Sprint(random.IntN(1 + random.IntN(2000)))
			all = append(all, use{names.Use(text), text})
		} else {
			i := random.IntN(len(all))
			names.Drop(all[i].n)
			all = slices.Delete(all, i, i+1)
		}
		if n%1000 == 0 {
			versions = append(versions, version{names.Freeze(), slices.Clone(all)})
		}
	}
	err := names.Check(func(yield func(uint64) bool) {
		for _, u := range all {
			if !yield(uint64(u.n)) {
				return
			}
		}
	})
	if err != nil {
		t.Error(err)
	}
	for i, v := range append(versions, version{names, all}) {
		for _, u := range v.all {
			if got := v.frozen.Text(uint64(u.n)); got != u.text {
				t.Fatalf("version %d: %d is %q, was %q", i, u.n, got, u.text)
			}
		}
	}
}

func TestNamesCheckFinds(t *testing.T) {
	for name, damage := range map[string]func(n *Names){
		"refs":   func(n *Names) { n.refs[1]++ },
		"lost":   func(n *Names) { clear(n.numbers) },
		"gone":   func(n *Names) { n.gone = append(n.gone, 9) },
		"text":   func(n *Names) { *n.edit(0) = "x" },
		"unused": func(n *Names) { n.Use("c") },
	} {
		var n Names
		n.Use("a")
		n.Use("b")
		named := func(yield func(uint64) bool) { _ = yield(0) && yield(1) }
		if err := n.Check(named); err != nil {
			t.Fatal(err)
		}
		if damage(&n); n.Check(named) == nil {
			t.Errorf("%s: nothing found", name)
		}
	}
}
