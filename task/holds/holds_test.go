package holds

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestTable: holds are kept by ID, end by themselves, and the sum is that of a recount after every step (SPEC C8).
func TestTable(t *testing.T) {
	t.Parallel()
	table := NewTable(7)
	check := func(want ...Hold) {
		t.Helper()
		if got := table.All(); len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v, want %+v", got, want)
		}
		if table.Sum() != table.Recount() || table.Len() != len(want) || (table.Sum() == 0) != (len(want) == 0) {
			t.Fatalf("sum %x, recounted %x, of %d", table.Sum(), table.Recount(), table.Len())
		}
	}
	check()
	if table.Next() != 0 {
		t.Errorf("next %d of none", table.Next())
	}
	a, b := Hold{"a", "x", 10, 15}, Hold{"b", "y", 20, 20}
	table.Put(b)
	table.Put(a)
	check(a, b)
	before := table.All()
	frozen := table.all
	if table.Next() != 15 || !table.Has("a") || table.Has("c") {
		t.Errorf("next %d", table.Next())
	}
	if table.Expire(14) {
		t.Error("over before its time")
	}
	table.Renew("a", 30, 5)
	a.TTL, a.Until = 30, 35
	check(a, b)
	table.Renew("nobody", 1, 1)
	table.End("nobody")
	check(a, b)
	table.Extend(100)
	a.Until, b.Until = 130, 120
	check(a, b)
	if !table.Expire(120) {
		t.Error("not over at its time")
	}
	check(a)
	table.End("a")
	check()
	if !reflect.DeepEqual(frozen, before) {
		t.Errorf("a view has changed: %+v", frozen)
	}
	for i := range Max {
		if !table.Put(Hold{ID: fmt.Sprint(i)}) {
			t.Fatalf("no room for %d", i)
		}
	}
	if table.Put(Hold{ID: "one more"}) || !table.Put(Hold{ID: "3", TTL: 1}) {
		t.Error("one too many was taken, or a repeat was not")
	}
}

// TestCarry: the sixteenth hold is taken, the next one is refused by name.
func TestCarry(t *testing.T) {
	t.Parallel()
	table := NewTable(7)
	for i := range Max {
		if field, _, over := table.Carry(Hold{ID: fmt.Sprint(i), TTL: 5}, false, 10); field != "" || over {
			t.Fatalf("%d: %q %v", i, field, over)
		}
	}
	if field, _, over := table.Carry(Hold{ID: "more", TTL: 5}, false, 10); field != "id" || over || table.Len() != Max {
		t.Errorf("%q %v", field, over)
	}
	if _, _, over := table.Carry(Hold{ID: "3", TTL: 7}, true, 20); over || table.All()[9] != (Hold{ID: "3", TTL: 7, Until: 27}) {
		t.Errorf("%+v", table.All()[9])
	}
	table.Restore([]Hold{{ID: "b", TTL: 1, Until: 1}})
	if table.Len() != 1 || table.Sum() != table.Recount() {
		t.Errorf("%+v", table.All())
	}
}

func TestWrong(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 257)
	for _, c := range []struct {
		id, holder string
		ttl        int64
		field      string
	}{
		{"", "", 1, "id"}, {long, "", 1, "id"}, {"a", long, 1, "holder"}, {"a", "", -1, "ttl"}, {"a", "", MaxTTL + 1, "ttl"},
		{long[1:], long[1:], MaxTTL, ""}, {"a", "", 0, ""},
	} {
		if field, why := wrong(Hold{ID: c.id, Holder: c.holder, TTL: c.ttl}); field != c.field || (why == "") != (field == "") {
			t.Errorf("%.5q %.5q %d: %q %q", c.id, c.holder, c.ttl, field, why)
		}
	}
}
