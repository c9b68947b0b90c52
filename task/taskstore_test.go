package task_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// recordModel is SPEC X2 in the plainest way: a map and full scans.
type recordModel struct {
	now  task.Time
	rev  uint64
	rows map[uint64]task.StoreRecord
}

func (m *recordModel) sorted(group string, owned bool) []task.StoreRecord {
	var found []task.StoreRecord
	for _, r := range m.rows {
		if r.Group == group && (owned || r.Available <= m.now) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b task.StoreRecord) int { return cmp.Compare(a.ID, b.ID) })
	return found
}

func (m *recordModel) add(group string, owner int64, at task.Time, data string) *task.StoreRecord {
	if at <= 0 {
		at = m.now - at
	}
	m.rev++
	r := task.StoreRecord{ID: m.rev, Namespace: task.DefaultNamespace, Group: group, Owner: owner, Available: at, Data: data}
	m.rows[r.ID] = r
	return &r
}

func (m *recordModel) missing(ids []uint64) (missing []uint64) {
	for _, id := range ids {
		if _, ok := m.rows[id]; !ok {
			missing = append(missing, id)
		}
	}
	return missing
}

func (m *recordModel) update(c task.StoreUpdate) (made []*task.StoreRecord, no *task.StoreRefusal) {
	no = &task.StoreRefusal{Depends: m.missing(c.Depends)}
	judge := func(id uint64, missing *[]uint64) {
		if r, ok := m.rows[id]; !ok {
			*missing = append(*missing, id)
		} else if r.Available > m.now && r.Owner != c.Client {
			no.Owned = append(no.Owned, id)
		}
	}
	for _, x := range c.Changes {
		judge(x.ID, &no.Changes)
	}
	for _, id := range c.Deletes {
		judge(id, &no.Deletes)
	}
	if !reflect.DeepEqual(*no, task.StoreRefusal{}) {
		return nil, no
	}
	for _, x := range c.Adds {
		made = append(made, m.add(x.Group, c.Client, x.Available, x.Data))
	}
	for _, x := range c.Changes {
		group := m.rows[x.ID].Group
		delete(m.rows, x.ID)
		made = append(made, m.add(group, c.Client, x.Available, x.Data))
	}
	for _, id := range c.Deletes {
		delete(m.rows, id)
	}
	return made, nil
}

func (m *recordModel) claim(c task.StoreClaim) (made []*task.StoreRecord, no *task.StoreRefusal) {
	if missing := m.missing(c.Depends); missing != nil {
		return nil, &task.StoreRefusal{Depends: missing}
	}
	there := m.sorted(c.Group, false)
	if len(there) == 0 {
		return nil, nil
	}
	r := there[c.Seed%uint64(len(there))]
	delete(m.rows, r.ID)
	return []*task.StoreRecord{m.add(r.Group, c.Client, m.now+task.Time(max(c.Duration, 0)), r.Data)}, nil
}

// storeCommands draws commands: mostly of records that are there, sometimes of others.
type storeCommands struct {
	*rand.Rand
	m *recordModel
}

func (r storeCommands) group() string { return fmt.Sprint("g", r.IntN(3)) }

func (r storeCommands) ids(n int) (ids []uint64) {
	there := slices.Sorted(maps.Keys(r.m.rows))
	for range r.IntN(n + 1) {
		if id := r.Uint64N(r.m.rev + 2); r.IntN(12) == 0 || len(there) == 0 {
			ids = append(ids, id)
		} else {
			ids = append(ids, there[r.IntN(len(there))])
		}
	}
	return ids
}

func (r storeCommands) time() task.Time {
	return task.Time(r.IntN(3)-1)*r.m.now - task.Time(r.IntN(60)) + 20
}

func (r storeCommands) draw() task.Command {
	client := int64(r.IntN(3))
	if r.IntN(3) == 0 {
		return task.StoreClaim{
			Namespace: task.DefaultNamespace, Client: client, Group: r.group(), Duration: task.Millis(r.IntN(60) - 10),
			Depends: r.ids(1), Seed: r.Uint64(),
		}
	}
	c := task.StoreUpdate{Namespace: task.DefaultNamespace, Client: client, Depends: r.ids(1)}
	for range r.IntN(3) {
		c.Adds = append(c.Adds, task.StoreAdd{Group: r.group(), Data: fmt.Sprint(r.IntN(99)), Available: r.time()})
	}
	seen := map[uint64]bool{}
	for _, id := range r.ids(4) {
		switch {
		case seen[id]:
		case r.IntN(2) == 0:
			c.Changes = append(c.Changes, task.StoreChange{ID: id, Data: "changed", Available: r.time()})
		default:
			c.Deletes = append(c.Deletes, id)
		}
		seen[id] = true
	}
	if len(c.Adds)+len(c.Changes)+len(c.Deletes) == 0 {
		c.Adds = []task.StoreAdd{{Group: "g0"}}
	}
	return c
}

// TestStoreAgainstModel runs thousands of commands. Beside the machine runs another that is restored from its own
// snapshot again and again: it takes the same records, and has the same digest.
func TestStoreAgainstModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			model := &recordModel{now: 1000, rows: map[uint64]task.StoreRecord{}}
			random := storeCommands{rand.New(rand.NewPCG(seed, 7)), model}
			m, other := task.NewMachine(), task.NewMachine()
			for step := range 3000 {
				model.now += task.Time(random.IntN(6))
				command := random.draw()
				var want task.Result
				switch c := command.(type) {
				case task.StoreUpdate:
					want.Records, want.Refusal = model.update(c)
				case task.StoreClaim:
					want.Records, want.Refusal = model.claim(c)
				}
				if want.Refusal != nil {
					want.Code = task.StoreConflict
				}
				h := task.Header{Index: uint64(step + 1), Term: 1, Now: model.now}
				want.Index = h.Index
				got, events := m.Apply(h, []task.Proposal{{Command: command}})
				got[0].Message = ""
				if len(got[0].Records) == 0 && len(want.Records) == 0 {
					got[0].Records, want.Records = nil, nil
				}
				if !reflect.DeepEqual(got[0], want) || len(events) > 0 {
					t.Fatalf("step %d: %+v\n%s\nwant %s", step, command, formatResult(got[0]), formatResult(want))
				}
				if other.Apply(h, []task.Proposal{{Command: command}}); other.Digest() != m.Digest() {
					t.Fatalf("step %d: the restored machine has another digest", step)
				}
				if random.IntN(20) == 0 {
					restored, err := restore(other)
					if err != nil {
						t.Fatal(err)
					}
					other = restored
				}
				if step%100 == 0 {
					compareRecords(t, m, model)
				}
			}
			compareRecords(t, m, model)
			compareRecords(t, other, model)
		})
	}
}

func compareRecords(t *testing.T, m *task.Machine, model *recordModel) {
	t.Helper()
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	if n := m.Counts().Records; n != int64(len(model.rows)) {
		t.Fatalf("%d records, want %d", n, len(model.rows))
	}
	var groups []string
	for _, g := range []string{"g0", "g1", "g2"} {
		for _, owned := range []bool{false, true} {
			want := model.sorted(g, owned)
			if owned && want != nil {
				groups = append(groups, g)
			}
			for limit := range 3 {
				var got []task.StoreRecord
				for _, r := range m.StoreGroup(task.DefaultNamespace, g, limit, owned, model.now) {
					got = append(got, *r)
				}
				some := want
				if limit > 0 {
					some = want[:min(limit, len(want))]
				}
				if len(got)+len(some) > 0 && !reflect.DeepEqual(got, some) {
					t.Fatalf("group %s: %v, want %v", g, got, some)
				}
			}
		}
	}
	if got := m.StoreGroups(task.DefaultNamespace); !slices.Equal(got, groups) {
		t.Fatalf("groups %v, want %v", got, groups)
	}
	for id := range model.rev + 2 {
		want, ok := model.rows[id]
		if got := m.StoreRecord(task.DefaultNamespace, id); (got != nil) != ok || ok && !reflect.DeepEqual(*got, want) {
			t.Fatalf("record %d: %v, want %v", id, got, want)
		}
	}
}

// TestStoreExtremes: no time overflows, nobody reads another namespace, and a bound is a bound.
func TestStoreExtremes(t *testing.T) {
	t.Parallel()
	m, index := task.NewMachine(), uint64(0)
	apply := func(c task.Command) task.Result {
		index++
		rs, _ := m.Apply(task.Header{Index: index, Term: 1, Now: 1_700_000_000_000}, []task.Proposal{{Command: c}})
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
		return rs[0]
	}
	update := func(c task.StoreUpdate) task.Result {
		c.Namespace = task.DefaultNamespace
		return apply(c)
	}
	for at, want := range map[task.Time]task.Time{
		math.MaxInt64: math.MaxInt64, math.MinInt64: math.MaxInt64, math.MinInt64 + 1: math.MaxInt64, 1: 1,
		-1: 1_700_000_000_001, 0: 1_700_000_000_000,
	} {
		if r := update(task.StoreUpdate{Adds: []task.StoreAdd{{Group: "g", Available: at}}}); r.Records[0].Available != want {
			t.Errorf("available %d becomes %d, want %d", at, r.Records[0].Available, want)
		}
	}
	claim := task.StoreClaim{Namespace: task.DefaultNamespace, Group: "g", Duration: math.MaxInt64, Seed: math.MaxUint64}
	if r := apply(claim); r.Code != task.OK || r.Records[0].Available != math.MaxInt64 {
		t.Errorf("claim: %+v", r)
	}
	claim.Duration = math.MinInt64
	if r := apply(claim); r.Code != task.OK || r.Records[0].Available != 1_700_000_000_000 {
		t.Errorf("claim: %+v", r)
	}
	if r := m.StoreRecord(task.SystemNamespace, 1); r != nil {
		t.Errorf("read through another namespace: %+v", r)
	}
	if r := apply(task.StoreUpdate{Namespace: task.SystemNamespace, Deletes: []uint64{1}}); r.Code != task.StoreConflict {
		t.Errorf("deleted through another namespace: %+v", r)
	}
	most := make([]uint64, task.MaxStoreParts)
	for i := range most {
		most[i] = 1 << 40
	}
	claim.Depends = most
	if r := apply(claim); r.Code != task.StoreConflict || len(r.Refusal.Depends) != len(most) {
		t.Errorf("%d depends: %+v", len(most), r.Code)
	}
	claim.Depends = append(slices.Clone(most), 1)
	if r := apply(claim); r.Code != task.InvalidCommand {
		t.Errorf("%d depends: %+v", len(claim.Depends), r.Code)
	}
	adds := []task.StoreAdd{{Group: "g"}}
	if r := update(task.StoreUpdate{Adds: adds, Depends: most[1:]}); r.Code != task.StoreConflict {
		t.Errorf("%d parts: %v", len(most), r.Code)
	}
	if r := update(task.StoreUpdate{Adds: adds, Depends: most}); r.Code != task.InvalidCommand {
		t.Errorf("%d parts: %v", len(most)+1, r.Code)
	}
}

// TestStoreSnapshotRefused: what is wrong with a record of a snapshot is seen.
func TestStoreSnapshotRefused(t *testing.T) {
	t.Parallel()
	m := task.NewMachine()
	m.Apply(task.Header{Index: 1, Term: 1, Now: 9}, []task.Proposal{{Command: task.StoreUpdate{
		Namespace: task.DefaultNamespace, Client: 3, Adds: []task.StoreAdd{{Group: "g", Data: "a"}, {Group: "h", Data: "b"}},
	}}})
	for name, damage := range map[string]func(rs []task.Record) []task.Record{
		"none":      func(rs []task.Record) []task.Record { return rs },
		"missing":   func(rs []task.Record) []task.Record { return rs[:len(rs)-1] },
		"order":     func(rs []task.Record) []task.Record { return append(rs[:3], rs[4], rs[3]) },
		"twice":     func(rs []task.Record) []task.Record { return append(rs, rs[4]) },
		"group":     func(rs []task.Record) []task.Record { rs[3].(*task.StoreRecord).Group = ""; return rs },
		"ID":        func(rs []task.Record) []task.Record { rs[4].(*task.StoreRecord).ID = 99; return rs },
		"namespace": func(rs []task.Record) []task.Record { rs[4].(*task.StoreRecord).Namespace = "other"; return rs },
		"owner":     func(rs []task.Record) []task.Record { rs[4].(*task.StoreRecord).Owner++; return rs },
		"time":      func(rs []task.Record) []task.Record { rs[4].(*task.StoreRecord).Available++; return rs },
		"blob":      func(rs []task.Record) []task.Record { rs[4].(*task.StoreRecord).Blob = blobOf("aa", 10); return rs },
		"data":      func(rs []task.Record) []task.Record { rs[4].(*task.StoreRecord).Data = "c"; return rs },
	} {
		var rs []task.Record
		m.Freeze().Records(func(r task.Record) bool { rs = append(rs, copyRecord(r)); return true })
		_, err := task.Restore(func(yield func(task.Record, error) bool) {
			for _, r := range damage(rs) {
				if !yield(r, nil) {
					return
				}
			}
		})
		if (err == nil) != (name == "none") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func blobOf(name string, size int64) task.Payload {
	return task.Payload{Encoding: task.Bytes, Blobs: &task.Blobs{Content: digest(name), Size: size}}
}

// TestStoreBlobSnapshot: a record whose data is a blob comes back from a snapshot, and needs the blob there; what is neither
// data nor a blob does not.
func TestStoreBlobSnapshot(t *testing.T) {
	t.Parallel()
	m, index := task.NewMachine(), uint64(0)
	apply := func(c task.Command) task.Result {
		index++
		rs, _ := m.Apply(task.Header{Index: index, Term: 1, Now: 9}, []task.Proposal{{Command: c}})
		return rs[0]
	}
	for _, name := range []string{"aa", "cc"} {
		apply(task.NoteBlob{Digest: digest(name), Size: 10})
		apply(task.NoteBlob{Digest: digest(name), Size: 10, Ready: true})
	}
	if r := apply(task.StoreUpdate{Namespace: task.DefaultNamespace, Adds: []task.StoreAdd{{Group: "g", Blob: blobOf("aa", 10)}}}); r.Code != task.OK || r.Records[0].Len() != 10 {
		t.Fatalf("%+v", r)
	}
	for name, damage := range map[string]func(x *task.StoreRecord){
		"none":          func(*task.StoreRecord) {},
		"data, too":     func(x *task.StoreRecord) { x.Data = "x" },
		"another blob":  func(x *task.StoreRecord) { x.Blob = blobOf("cc", 10) },
		"another size":  func(x *task.StoreRecord) { x.Blob = blobOf("aa", 11) },
		"not stored":    func(x *task.StoreRecord) { x.Blob = blobOf("bb", 10) },
		"names blobs":   func(x *task.StoreRecord) { x.Blob.Blobs = &task.Blobs{Named: []string{digest("aa")}} },
		"another kind":  func(x *task.StoreRecord) { x.Blob.Encoding = task.JSON },
		"bytes in line": func(x *task.StoreRecord) { x.Blob = task.Payload{Encoding: task.Bytes, Data: []byte("x")} },
	} {
		restored, err := task.Restore(func(yield func(task.Record, error) bool) {
			m.Freeze().Records(func(r task.Record) bool {
				r = copyRecord(r)
				if x, is := r.(*task.StoreRecord); is {
					damage(x)
				}
				return yield(r, nil)
			})
		})
		if (err == nil) != (name == "none") {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && (restored.Check() != nil || restored.Blob(digest("aa")).Refs != 1 || restored.Digest() != m.Digest()) {
			t.Errorf("restored: %v, %+v", restored.Check(), restored.Blob(digest("aa")))
		}
	}
}
