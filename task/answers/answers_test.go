package answers

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// form hashes an answer by its length alone: enough to tell what a test damages.
type form struct{}

func (form) HashProcess(id, lowest uint64, used int64) uint64 { return id*31 + lowest*7 + uint64(used) }
func (form) HashKey(id, body uint64, first int64) uint64      { return id*37 + body*11 + uint64(first) }
func (form) HashAnswer(owner, seq uint64, r *string) uint64 {
	return owner*41 + seq*13 + uint64(len(*r))
}
func (form) Bytes(r *string) int64 { return int64(len(*r)) }

func newTable() *Table[string] {
	t := New[string](form{})
	t.Limit = Limit{Processes: 3, Answers: 5, Bytes: 100, Keys: 4, KeyBytes: 3 * Overhead, Idle: 50}
	return &t
}

// contents returns all that a Frozen says.
func contents(f *Frozen[string]) (all []string) {
	f.Processes(func(id, lowest uint64, used int64) bool {
		all = append(all, fmt.Sprint("process ", id, lowest, used))
		return true
	})
	f.Keys(func(id, body uint64, first int64) bool {
		all = append(all, fmt.Sprint("key ", id, body, first))
		return true
	})
	f.Answers(func(id, seq uint64, r *string, keyed bool) bool {
		all = append(all, fmt.Sprint("answer ", id, seq, *r, keyed))
		return true
	})
	return all
}

// restored returns a table of what a Frozen says.
func restored(t *testing.T, f *Frozen[string]) *Table[string] {
	next := newTable()
	ok := f.Processes(next.AddProcess) && f.Keys(next.AddKey) && f.Answers(func(id, seq uint64, r *string, keyed bool) bool {
		if keyed {
			return next.AddUnder(id, seq, r)
		}
		return next.AddAnswer(id, seq, r)
	})
	if !ok {
		t.Fatal("what was frozen is not taken up")
	}
	return next
}

// TestAgainstAMap compares what a table answers with a map that forgets nothing: it answers alike, or says that it does not know.
func TestAgainstAMap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	table, at := newTable(), int64(1)
	type asked struct{ id, seq, body uint64 }
	said, next, lowest := map[asked]string{}, map[uint64]uint64{}, map[uint64]uint64{}
	var frozen []Frozen[string]
	var were [][]string
	unknown, repeated := 0, 0
	for range 20_000 {
		at += random.Int64N(3)
		q := asked{id: 1 + random.Uint64N(5)}
		if random.IntN(3) > 0 { // a process
			next[q.id]++
			q.seq = max(next[q.id]-min(random.Uint64N(8), next[q.id]-1), 1)
			if random.IntN(4) == 0 {
				lowest[q.id] = max(q.seq-min(random.Uint64N(3), q.seq-1), lowest[q.id])
			}
			p, kept := table.Ask(q.id, q.seq, max(lowest[q.id], 1), at)
			switch {
			case p == nil:
				unknown++
			case kept != nil:
				repeated++
				if *kept != said[q] {
					t.Fatalf("%+v: %q, was %q", q, *kept, said[q])
				}
			default:
				r := fmt.Sprint("answer ", len(said))
				said[q] = r
				table.Remember(p, q.seq, &r)
			}
		} else {
			q.seq, q.body = 1+random.Uint64N(3), 1+random.Uint64N(20)/19
			kept, other := table.Kept(q.id, q.body, q.seq)
			if !other && kept == nil {
				if k, verdict := table.Open(q.id, q.body, q.seq == 1, at); verdict == Go {
					r := fmt.Sprint("answer ", len(said))
					said[q] = r
					table.RememberUnder(k, q.seq, &r)
				} else {
					unknown++
				}
			} else if !other {
				repeated++
				if *kept != said[q] {
					t.Fatalf("%+v: %q, was %q", q, *kept, said[q])
				}
			}
		}
		if random.IntN(20) == 0 {
			due, ok := table.NextExpiry()
			if did := table.Expire(at); ok && due <= at && !did {
				t.Fatal("a key was to be forgotten, and was not")
			}
		}
		if random.IntN(200) == 0 {
			f := table.Freeze()
			frozen, were = append(frozen, f), append(were, contents(&f))
			if again := restored(t, &f); again.Sum() != table.Sum() || again.Check(form{}, at) != nil {
				t.Fatalf("restored: %v", again.Check(form{}, at))
			}
		}
		if err := table.Check(form{}, at); err != nil {
			t.Fatal(err)
		}
	}
	for i := range frozen {
		if now := contents(&frozen[i]); !slices.Equal(now, were[i]) {
			t.Fatalf("what was frozen has become %v, was %v", now, were[i])
		}
	}
	if unknown == 0 || repeated == 0 {
		t.Errorf("%d unknown, %d repeated", unknown, repeated)
	}
	table.Expire(1 << 40)
	if processes, keys := table.Len(); processes != 0 || keys != 0 || table.Sum() != 0 || table.keyBytes != 0 {
		t.Errorf("%d processes, %d keys, %d bytes and the sum %x are left", processes, keys, table.keyBytes, table.Sum())
	}
}

// TestCheckSees damages what is derived, one thing at a time.
func TestCheckSees(t *testing.T) {
	fixture := func() *Table[string] {
		table := newTable()
		for seq := uint64(1); seq <= 3; seq++ {
			p, _ := table.Ask(5, seq, 1, 10)
			r := "kept"
			table.Remember(p, seq, &r)
		}
		k, _ := table.Open(6, 1, true, 10)
		r := "under"
		table.RememberUnder(k, 1, &r)
		return table
	}
	if err := fixture().Check(form{}, 10); err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(*Table[string]){
		"hash":        func(t *Table[string]) { t.processes[5].answers[0].hash++ },
		"bytes":       func(t *Table[string]) { t.processes[5].answers[0].bytes++ },
		"all bytes":   func(t *Table[string]) { t.processes[5].bytes++ },
		"order":       func(t *Table[string]) { a := t.processes[5].answers; a[0], a[1] = a[1], a[0] },
		"lowest":      func(t *Table[string]) { t.processes[5].lowest = 2 },
		"process":     func(t *Table[string]) { t.processes[7] = t.processes[5]; delete(t.processes, 5) },
		"key":         func(t *Table[string]) { t.keys[7] = t.keys[6]; delete(t.keys, 6) },
		"key's body":  func(t *Table[string]) { t.keys[6].body = 0 },
		"key's bytes": func(t *Table[string]) { t.keyBytes-- },
		"key's end":   func(t *Table[string]) { t.expiries.Head().Key++ },
		"not queued":  func(t *Table[string]) { t.expiries.Remove(&t.keys[6].expiry) },
		"under a key": func(t *Table[string]) { t.keys[6].answers[0].hash++ },
		"sum":         func(t *Table[string]) { t.sum++ },
		"too many":    func(t *Table[string]) { t.Limit.Answers = 2 },
		"processes":   func(t *Table[string]) { t.Limit.Processes = 0 },
		"keys":        func(t *Table[string]) { t.Limit.Keys = 0 },
		"key bytes":   func(t *Table[string]) { t.Limit.KeyBytes = 0 },
		"the future":  func(t *Table[string]) { t.keys[6].first = 11 },
	} {
		table := fixture()
		damage(table)
		if table.Check(form{}, 10) == nil {
			t.Errorf("%s: not seen", name)
		}
	}
}

// TestSnapshotsAreRefused: what cannot be is not taken up.
func TestSnapshotsAreRefused(t *testing.T) {
	table, r := newTable(), "x"
	table.AddProcess(5, 3, 1)
	table.AddKey(6, 1, 1)
	table.AddAnswer(5, 4, &r)
	table.AddUnder(6, 4, &r)
	for name, taken := range map[string]bool{
		"process twice": table.AddProcess(5, 1, 1), "key twice": table.AddKey(6, 1, 1),
		"no process": table.AddAnswer(6, 9, &r), "no key": table.AddUnder(5, 9, &r),
		"forgotten": table.AddAnswer(5, 2, &r), "out of order": table.AddAnswer(5, 4, &r), "keyed, out of order": table.AddUnder(6, 4, &r),
	} {
		if taken {
			t.Errorf("%s: taken up", name)
		}
	}
	if got := slices.Sorted(maps.Keys(table.processes)); !slices.Equal(got, []uint64{5}) {
		t.Errorf("processes %v", got)
	}
}
