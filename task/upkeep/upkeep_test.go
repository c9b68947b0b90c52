package upkeep

import "testing"

// TestTable: the last 50 runs are remembered, and the sum is that of a recount after every change (SPEC M4).
func TestTable(t *testing.T) {
	t.Parallel()
	table := NewTable(7)
	for token := range uint64(Max + 2) {
		table.Begin(&Run{Run: int64(token) + 1, Token: token + 1})
		table.Tally(token+1, "task", "default", 2)
		table.Tally(token+1, "task", "default", 3)
		table.Tally(token+1, "task", "other", 0)
		next := *table.Rows()[table.Len()-1]
		next.Ended = "lost"
		table.Put(table.Len()-1, &next)
	}
	former := table.All()
	table.Supersede()
	sum := uint64(0)
	for i, r := range table.Rows() {
		sum += table.Hash(r)
		if len(r.Objects) != 1 || r.Objects[0].Deleted != 5 || (r.By == 0) != (i == Max-1) {
			t.Errorf("%+v", r)
		}
	}
	if table.Len() != Max || sum != table.Sum() || table.Of(1) != Max || table.Of(Max+2) != Max-1 {
		t.Errorf("%d runs, sum %x, recounted %x", table.Len(), table.Sum(), sum)
	}
	if last := table.Rows()[Max-1]; last.Ended != Superseded || former[Max-1].Ended != "lost" {
		t.Errorf("%+v, before %+v", last, former[Max-1])
	}
}
