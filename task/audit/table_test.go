package audit

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestTable compares a table with two lists, and every frozen version with what it was when frozen. A table that is made from a frozen one
// has the same sum and the same records (SPEC A8).
func TestTable(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	bounds := Bounds{Changes: 300, Refusals: 40, Age: 5_000}
	type version struct {
		frozen Frozen
		all    []Record
	}
	table := NewTable(7, bounds)
	var changes, refusals []Record
	var versions []version
	now, index := int64(0), uint64(1)
	for n := range 6_000 {
		index += random.Uint64N(2)
		if now += random.Int64N(40); n%1500 == 0 {
			now += 6_000 // all are too old
		}
		x := Record{
			Index: index, At: now, Token: random.Uint64N(3), Name: strings.Repeat("n", random.IntN(9)), From: "::1", Route: "PUT /v1/x",
			Target: strings.Repeat("t", random.IntN(MaxTarget)), Code: []string{"", "forbidden"}[random.IntN(2)],
		}
		switch random.IntN(4) {
		case 0:
			x.Count, x.Target = 1, ""
			before := table.Lost
			if own := table.Refuse(&x); own {
				refusals = append(refusals, x)
			} else if table.Lost == before {
				same := func(y Record) bool { return y.Token == x.Token && y.Target == x.Target && y.At > now-refusalEvery }
				at := len(refusals) - 1
				for !same(refusals[at]) {
					at--
				}
				refusals[at].Count++
			}
		default:
			table.Put(&x)
			changes = append(changes, x)
		}
		changes, refusals = changes[max(0, len(changes)-bounds.Changes):], refusals[max(0, len(refusals)-bounds.Refusals):]
		old := func(x Record) bool { return x.At+bounds.Age <= now }
		if n%100 == 0 {
			want := slices.ContainsFunc(changes, old) || slices.ContainsFunc(refusals, old)
			if table.Expire(now, 1<<30) != want {
				t.Fatalf("step %d: something was too old: %t", n, !want)
			}
			changes, refusals = slices.DeleteFunc(changes, old), slices.DeleteFunc(refusals, old)
		}
		if n%300 == 0 {
			versions = append(versions, version{table.Freeze(), slices.Concat(changes, refusals)})
			if err := table.Check(index); err != nil {
				t.Fatalf("step %d: %v", n, err)
			}
		}
	}
	if changes[0].Number < 4_000 || table.Last != changes[len(changes)-1].Number && table.Last != refusals[len(refusals)-1].Number {
		t.Errorf("%d records, the oldest is %d", table.Last, changes[0].Number)
	}
	for i, v := range append(versions, version{table.Freeze(), slices.Concat(changes, refusals)}) {
		var got []Record
		v.frozen.All(func(x *Record) bool { got = append(got, *x); return true })
		if !slices.Equal(got, v.all) {
			t.Fatalf("version %d: %d records, want %d", i, len(got), len(v.all))
		}
	}
	again := NewTable(7, bounds)
	again.Begin(table.Head())
	for _, x := range slices.Concat(changes, refusals) {
		if !again.Add(&x) || again.Add(&x) {
			t.Fatalf("record %d was not taken, or twice", x.Number)
		}
	}
	if again.Sum() != table.Sum() || again.Len() != table.Head().Len() || again.Check(index) != nil {
		t.Error("the table that was made again is another one")
	}
	if got := slices.Collect(again.View().After(changes[10].Number)); len(got) == 0 || got[0].Number <= changes[10].Number || !slices.IsSortedFunc(got, func(a, b Record) int { return int(a.Number) - int(b.Number) }) {
		t.Errorf("after %d come %d records", changes[10].Number, len(got))
	}
}

// TestBounded: whatever comes, the newest records are kept, and memory is bounded (SPEC A8).
func TestBounded(t *testing.T) {
	table := NewTable(7, Default())
	long := Record{Index: 1, From: strings.Repeat("f", MaxFrom), Route: strings.Repeat("r", MaxRoute), Target: strings.Repeat("t", MaxTarget), Name: strings.Repeat("n", MaxName)}
	for range 250_000 {
		x := long
		table.Put(&x)
	}
	changes := table.Len()
	alive, dead := table.changes.arena.Bytes()
	if first := table.changes.record(0); changes != 100_000 || first.Number != 150_001 || alive+dead > 45<<20 {
		t.Errorf("%d records from %d on, %d bytes alive and %d dead", changes, first.Number, alive, dead)
	}
	for now := int64(0); now < 20_000; now++ {
		x := Record{Index: 1, At: now, Token: uint64(now), Route: "r", Count: 1}
		table.Refuse(&x)
	}
	if refusals := table.Len() - changes; refusals != 200 || table.Lost != 19_800 {
		t.Errorf("%d refusals in 20 s, %d lost", refusals, table.Lost)
	}
	if table.changes.n != 100_000 {
		t.Error("refusals have pushed changes out")
	}
}

// TestCheckFinds: Check sees what is damaged, and Add takes no record that could not have been made.
func TestCheckFinds(t *testing.T) {
	full := func() Table {
		table := NewTable(7, Bounds{Changes: 3, Refusals: 3, Age: 9})
		for n := range 5 {
			table.Put(&Record{Index: uint64(n + 1), At: int64(n), Route: "r"})
		}
		table.Put(&Record{Index: 6, At: 6, Route: "r", Token: 2, Count: 1})
		return table
	}
	for name, damage := range map[string]func(x *Table){
		"a number":     func(x *Table) { x.changes.rows.Edit(0)[1].number++ },
		"a time":       func(x *Table) { x.changes.rows.Edit(0)[1].at = 1 << 40 },
		"a byte":       func(x *Table) { x.changes.arena.Record(x.changes.row(1).ref)[1]++ },
		"one is gone":  func(x *Table) { x.changes.n-- },
		"the sum":      func(x *Table) { x.sum++ },
		"the newest":   func(x *Table) { x.Last-- },
		"another hash": func(x *Table) { x.refusals.rows.Edit(0)[0].about++ },
		"another ring": func(x *Table) { x.changes, x.refusals = x.refusals, x.changes },
	} {
		table := full()
		if err := table.Check(6); err != nil {
			t.Fatal(err)
		}
		if damage(&table); table.Check(6) == nil {
			t.Errorf("%s: nothing found", name)
		}
	}
	table := full()
	if table.Check(5) == nil {
		t.Error("a record of an entry that is still to come: nothing found")
	}
	for name, x := range map[string]Record{
		"no number": {Index: 1, Route: "r"}, "no index": {Number: 1, Route: "r"}, "no route": {Number: 1, Index: 1}, "too young": {Number: 7, Index: 1, Route: "r"},
		"too long": {Number: 1, Index: 1, Route: "r", Target: strings.Repeat("t", MaxTarget+1)}, "no text": {Number: 1, Index: 1, Route: "r", From: "\xff"},
		"a count": {Number: 1, Index: 1, Route: "r", Count: -1}, "a name": {Number: 1, Index: 1, Route: "r", Name: strings.Repeat("n", MaxName+1)},
	} {
		empty := NewTable(7, Default())
		if empty.Last = 6; empty.Add(&x) {
			t.Errorf("%s: taken", name)
		}
	}
}

// TestCut: what does not fit is cut between characters, and what is no text becomes one.
func TestCut(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"aéb", 2, "a"}, {"a\xffb", 9, "a?b"}, {"", 3, ""}} {
		if got := Cut(c.text, c.most); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.text, c.most, got, c.want)
		}
	}
}
