package roster

import (
	"fmt"
	"reflect"
	"testing"
)

// TestSettle (SPEC C2): what is settled about a member, in words.
func TestSettle(t *testing.T) {
	table := NewTable(Kinds{1, 2})
	rev := uint64(0)
	settle := func(node string, v Vote, remove string, force, changes bool) {
		t.Helper()
		rev++
		changed, full := table.Settle(node, v, remove, force, rev)
		if changed != changes || full {
			t.Fatalf("%s: changed %v, full %v", node, changed, full)
		}
		if table.Sum() != table.Recount() {
			t.Fatal("the sum is not that of the records")
		}
	}
	if got := table.View().Member("n4"); got.Vote != Newcomer || got.Node != "n4" {
		t.Errorf("of whom nothing is settled: %+v", got)
	}
	settle("n4", Voter, "", false, true)
	settle("n4", Voter, "", false, false)
	before := table.View().Member("n4")
	settle("n4", Held, "", false, true)
	settle("n4", Held, "a", false, true)
	settle("n4", Held, "a", false, false)
	settle("n4", Held, "a", true, true) // force after a refusal
	settle("n4", Voter, "", false, true)
	if before.Vote != Voter || len(before.Removed) != 0 {
		t.Errorf("a value that was handed out has changed: %+v", before)
	}
	if got, want := table.View().Member("n4"), (Member{"n4", Voter, []string{"a"}, false, 7}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for i := range MaxRemoved {
		settle("n4", Held, fmt.Sprint("b", i), false, true)
	}
	if x := table.View().Member("n4"); x.Gone("a") || !x.Gone("b0") || len(x.Removed) != MaxRemoved {
		t.Errorf("%d instances are kept: %v", len(x.Removed), x.Removed)
	}
	again := NewTable(Kinds{1, 2})
	again.Restore(nil, table.View().Members())
	if again.Sum() != table.Sum() {
		t.Error("a copy has another sum")
	}
	for name, damage := range map[string]func(*Table){
		"drained": func(x *Table) { x.drained["n2"] = true },
		"vote":    func(x *Table) { m := x.members["n4"]; m.Vote++; x.members["n4"] = m },
		"removed": func(x *Table) { m := x.members["n4"]; m.Removed = m.Removed[1:]; x.members["n4"] = m },
		"force":   func(x *Table) { m := x.members["n4"]; m.Force = !m.Force; x.members["n4"] = m },
		"index":   func(x *Table) { m := x.members["n4"]; m.Index++; x.members["n4"] = m },
		"lost":    func(x *Table) { delete(x.members, "n4") },
	} {
		x := NewTable(Kinds{1, 2})
		x.take(table.View().Member("n4"))
		if damage(&x); x.Sum() == x.Recount() {
			t.Errorf("%s: damage is not seen", name)
		}
	}
}

// TestMany: the roster is bounded, and forgets only who was removed.
func TestMany(t *testing.T) {
	table := NewTable(Kinds{1, 2})
	for i := range MaxNodes {
		if changed, full := table.Settle(fmt.Sprint(i), Held, map[bool]string{true: "x"}[i%2 == 1], false, uint64(i)); !changed || full {
			t.Fatal(i, changed, full)
		}
		if changed, full := table.Drain(fmt.Sprint(i), true); !changed || full {
			t.Fatal(i, changed, full)
		}
	}
	if _, full := table.Drain("one more", true); !full {
		t.Error("too many are drained")
	}
	for i := range MaxNodes / 2 {
		if changed, full := table.Settle(fmt.Sprint("more", i), Voter, "", false, uint64(MaxNodes+i)); !changed || full {
			t.Fatal(i, changed, full)
		}
	}
	if _, full := table.Settle("one more", Voter, "", false, 9999); !full {
		t.Error("there is room for one more")
	}
	if table.View().Member("0").Vote != Held || table.View().Member("1").Vote != Newcomer || len(table.View().Members()) != MaxNodes || table.Sum() != table.Recount() {
		t.Error("others are forgotten than those who were removed")
	}
}

// TestWrong: what no proposer should ask for.
func TestWrong(t *testing.T) {
	long := string(make([]byte, 257))
	for _, c := range []struct {
		node   string
		v      Vote
		remove string
		field  string
	}{
		{"n1", Voter, "", ""}, {"n1", Held, "a", ""}, {"", Held, "", "node"}, {long, Held, "", "node"},
		{"n1", Newcomer, "", "vote"}, {"n1", 3, "", "vote"}, {"n1", Voter, "a", "remove"}, {"n1", Held, long, "remove"},
	} {
		if field, why := Wrong(c.node, c.v, c.remove); field != c.field || (why == "") != (field == "") {
			t.Errorf("%+v: %s, %s", c, field, why)
		}
	}
}
