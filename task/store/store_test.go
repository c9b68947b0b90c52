package store

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/taskrt/taskrt/task/queue"
	"github.com/taskrt/taskrt/task/table"
)

// record is what the tests keep.
type record struct {
	namespace, name, id string
	created, n          uint64
	names               []string
	runs                bool
}

type form struct{}

func (form) Key(t *record) (namespace, id string) { return t.namespace, t.id }

func (form) Created(t *record) uint64 { return t.created }

func (form) Packs(t *record) bool { return !t.runs }

func (form) Stays(t *record) bool { return t.n%2 == 0 }

func (form) AppendNames(b []byte, names *table.Names, t *record) []byte {
	b = binary.AppendUvarint(b, uint64(len(t.names)))
	for _, name := range t.names {
		b = binary.AppendUvarint(b, uint64(names.Use(name)))
	}
	return b
}

func (form) AppendBody(b []byte, t *record) []byte {
	return binary.AppendUvarint(append(b, byte(len(t.names))), t.n)
}

func (form) Read(of *Owner, id string, created uint64, names Names, body []byte) *record {
	t := &record{namespace: of.Namespace, name: of.Name, id: id, created: created}
	for range body[0] {
		t.names = append(t.names, names.Next())
	}
	t.n, _ = binary.Uvarint(body[1:])
	return t
}

// some returns a record of an owner.
func some(random *rand.Rand, o Owner, id string, created uint64) *record {
	t := &record{namespace: o.Namespace, name: o.Name, id: id, created: created, n: random.Uint64() >> random.UintN(64), runs: random.IntN(4) == 0}
	for range random.IntN(3) {
		t.names = append(t.names, fmt.Sprint("name", random.IntN(300)))
	}
	return t
}

// TestStore compares a store with a list, and every frozen version with what it was when frozen.
func TestStore(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	s := New[record](form{})
	owners := []Owner{{"x", "one"}, {"y", "two"}}
	for _, o := range owners {
		s.AddOwner(o)
	}
	type entry struct {
		row *queue.Row
		rec *record
	}
	var all []entry // by creation
	type version struct {
		frozen Frozen[record]
		recs   []*record
	}
	var versions []version
	current := func() []*record {
		recs := make([]*record, len(all))
		for i, e := range all {
			recs[i] = e.rec
		}
		return recs
	}
	for n := range 60_000 {
		if n%50 == 0 {
			s.End()
			s.Begin()
		}
		grow := 60
		if n/9000%2 == 1 { // shrink in turn, so that pages merge
			grow = 20
		}
		switch p := random.IntN(100); {
		case p < grow || len(all) == 0:
			owner := uint32(n / 7 % 2)
			id := fmt.Sprint("task", n/2*2) // some have the ID of one in the other namespace
			if n%3 == 0 {
				id = fmt.Sprintf("0190a0b0-0000-7000-8000-%012x", n)
			}
			x := some(random, owners[owner], id, uint64(n+1))
			if s.Get(x.namespace, x.id) != nil {
				continue
			}
			all = append(all, entry{s.Add(owner, x), x})
		case p < grow+20:
			e := &all[random.IntN(len(all))]
			x := some(random, owners[e.row.Behavior], e.rec.id, e.rec.created)
			s.Replace(e.row, x)
			e.rec = x
		default:
			i := random.IntN(len(all))
			s.Remove(all[i].row, all[i].rec)
			all = slices.Delete(all, i, i+1)
		}
		if n%4000 == 0 {
			versions = append(versions, version{s.Freeze(), current()})
		}
	}
	var got []*record
	for r := range s.From(0) {
		got = append(got, s.Record(r))
	}
	if want := current(); !reflect.DeepEqual(got, want) || s.Len() != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for _, e := range all {
		if s.Get(e.rec.namespace, e.rec.id) != e.row || s.Created(e.row) != e.rec.created {
			t.Fatalf("%s is not found", e.rec.id)
		}
	}
	for i, v := range versions {
		var recs []*record
		for x := range v.frozen.All {
			recs = append(recs, x)
		}
		for _, wanted := range owners { // of the others only those that run are seen
			var got, want []*record
			v.frozen.Of(func(o *Owner) bool { return *o == wanted }, func(x *record) bool { got = append(got, x); return true })
			for _, x := range v.recs {
				if x.runs || x.name == wanted.Name {
					want = append(want, x)
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("frozen version %d, of %+v: %d records, want %d", i, wanted, len(got), len(want))
			}
		}
		if !reflect.DeepEqual(recs, v.recs) && len(recs)+len(v.recs) > 0 || v.frozen.Len() != len(v.recs) {
			t.Errorf("frozen version %d has changed", i)
		}
	}
	if full := s.order.Pages() * len(orderPage{}); full > 5*s.order.Len()+2*len(orderPage{}) {
		t.Errorf("%d pages for %d records", s.order.Pages(), s.order.Len())
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	if alive, dead := s.arena.Bytes(); dead > alive/4+2*table.DeadBytes {
		t.Errorf("%d bytes are dead, %d alive", dead, alive)
	}
}

// TestOwners: a number that was given back is given again, and what has it is the new owner's.
func TestOwners(t *testing.T) {
	s := New[record](form{})
	a, b := s.AddOwner(Owner{"x", "one"}), s.AddOwner(Owner{"x", "two"})
	s.DropOwner(a)
	c := s.AddOwner(Owner{"y", "three"})
	r := s.Add(c, &record{namespace: "y", name: "three", id: "abc", created: 1})
	if a == b || c != a || s.Record(r).name != "three" || s.Get("x", "abc") != nil || s.Get("y", "abc") != r {
		t.Errorf("numbers %d, %d, %d; %+v", a, b, c, s.Record(r))
	}
}

// TestCheckSees damages what is kept, one thing at a time.
func TestCheckSees(t *testing.T) {
	fixture := func() (s *Store[record], packed, other, runs *queue.Row) {
		s = New[record](form{})
		s.AddOwner(Owner{"x", "one"})
		s.AddOwner(Owner{"x", "two"})
		packed = s.Add(0, &record{namespace: "x", name: "one", id: "packed", created: 1, n: 5, names: []string{"a"}})
		other = s.Add(0, &record{namespace: "x", name: "one", id: "other", created: 2, n: 6})
		runs = s.Add(0, &record{namespace: "x", name: "one", id: "runs", created: 3, runs: true})
		return s, packed, other, runs
	}
	s, packed, _, runs := fixture()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	if s.Packed(packed) == nil || s.Packed(runs) != nil {
		t.Error("what is packed?")
	}
	type store = Store[record]
	for name, damage := range map[string]func(s *store, packed, other, runs *queue.Row){
		"index":         func(s *store, packed, _, _ *queue.Row) { s.index.Delete(hashKey("x", "packed"), packed.ID) },
		"index twice":   func(s *store, packed, _, _ *queue.Row) { s.index.Insert(hashKey("x", "y"), packed.ID, s.hashOf) },
		"row of nobody": func(s *store, _, _, _ *queue.Row) { s.Rows.Add() },
		"order": func(s *store, packed, other, _ *queue.Row) {
			a, b := s.cell(packed.ID), s.cell(other.ID)
			*a, *b = *b, *a
		},
		"order by rev":   func(s *store, packed, _, _ *queue.Row) { s.cell(packed.ID).created = 1 << 40 },
		"bytes alive":    func(s *store, _, _, _ *queue.Row) { s.arena.Write(make([]byte, 9), false) },
		"bytes dead":     func(s *store, packed, _, _ *queue.Row) { s.arena.Free(s.cell(packed.ID).record) },
		"other record":   func(s *store, packed, other, _ *queue.Row) { s.cell(packed.ID).record = s.cell(other.ID).record },
		"body":           func(s *store, packed, _, _ *queue.Row) { b := s.Packed(packed); b[len(b)-1] = 0x80 | b[len(b)-1] },
		"ID":             func(s *store, packed, _, _ *queue.Row) { s.Packed(packed)[1]++ },
		"name":           func(s *store, _, _, _ *queue.Row) { s.names.Use("x") },
		"name lost":      func(s *store, _, _, _ *queue.Row) { s.names.Drop(0) },
		"place of a run": func(s *store, _, _, _ *queue.Row) { s.spare = s.spare[1:] },
		"owner":          func(_ *store, packed, _, _ *queue.Row) { packed.Behavior = 1 },
	} {
		s, packed, other, runs := fixture()
		damage(s, packed, other, runs)
		if s.Check() == nil {
			t.Errorf("%s: not seen", name)
		}
	}
}

// TestPagesFillWhatTheyGet: pages are as long as the memory that Go's allocator gives for them, or a tenth would be wasted.
func TestPagesFillWhatTheyGet(t *testing.T) {
	for page, want := range map[any]struct{ class, head uintptr }{
		[pageRows]queue.Row{}: {2304, 24}, cells{}: {1152, 8}, live[record]{}: {576, 8}, orderPage{}: {1152, 16}, // what package table puts before them
	} {
		if got := reflect.TypeOf(page).Size() + want.head; got > want.class || got < want.class-8 {
			t.Errorf("%T: %d bytes of %d", page, got, want.class)
		}
	}
}
