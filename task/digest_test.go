package task

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/task/access"
	"github.com/taskrt/taskrt/task/audit"
	"github.com/taskrt/taskrt/task/hash"
	"github.com/taskrt/taskrt/task/upkeep"
)

// leaves calls visit for every value in v that a snapshot encodes, with a function that changes it and one that
// changes it back.
func leaves(v reflect.Value, path string, visit func(path string, change, undo func())) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			old := reflect.New(v.Type()).Elem()
			old.Set(v)
			visit(path+" (gone)", func() { v.SetZero() }, func() { v.Set(old) })
			leaves(v.Elem(), path, visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Tag.Get("cbor") != "-" {
				leaves(v.Field(i), path+"."+f.Name, visit)
			}
		}
	case reflect.Slice:
		old := reflect.New(v.Type()).Elem()
		old.Set(v)
		visit(path+" (length)", func() {
			if old.Len() == 0 {
				v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			} else {
				v.Set(old.Slice(0, old.Len()-1))
			}
		}, func() { v.Set(old) })
		for i := range v.Len() {
			leaves(v.Index(i), fmt.Sprintf("%s[%d]", path, i), visit)
		}
	case reflect.String:
		old := v.String()
		visit(path, func() {
			if old == "" {
				v.SetString("x")
			} else {
				v.SetString(old[:len(old)-1] + string(rune(old[len(old)-1]^1)))
			}
		}, func() { v.SetString(old) })
	case reflect.Bool:
		visit(path, func() { v.SetBool(!v.Bool()) }, func() { v.SetBool(!v.Bool()) })
	case reflect.Int8, reflect.Int32, reflect.Int64:
		visit(path, func() { v.SetInt(v.Int() ^ 1) }, func() { v.SetInt(v.Int() ^ 1) })
	case reflect.Array:
		for i := range v.Len() {
			leaves(v.Index(i), fmt.Sprintf("%s[%d]", path, i), visit)
		}
	case reflect.Uint8, reflect.Uint16, reflect.Uint64:
		visit(path, func() { v.SetUint(v.Uint() ^ 1) }, func() { v.SetUint(v.Uint() ^ 1) })
	default:
		panic("leaves: " + path + " is a " + v.Kind().String())
	}
}

// fillAll sets every field.
func fillAll(v reflect.Value, n *int64) {
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillAll(v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			fillAll(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 11, 11))
		for i := range v.Len() {
			fillAll(v.Index(i), n)
		}
	case reflect.String:
		v.SetString(strings.Repeat("x", int(*n%19)) + fmt.Sprint(*n))
	case reflect.Bool:
		v.SetBool(*n%2 == 0)
	case reflect.Int8, reflect.Int32, reflect.Int64:
		v.SetInt(*n % 100)
	case reflect.Uint8, reflect.Uint16, reflect.Uint64:
		v.SetUint(uint64(*n % 100))
	case reflect.Array:
		for i := range v.Len() {
			fillAll(v.Index(i), n)
		}
	}
}

// TestEveryFieldIsHashed changes every field of every kind of record: its hash must change.
func TestEveryFieldIsHashed(t *testing.T) {
	var n int64
	tsk, behavior, module, session := new(Task), new(Behavior), new(Module), new(Session)
	proc, ans, key := new(Process), new(Answer), new(ClientKey)
	space, operation, instance, blob, run := new(Namespace), new(Operation), new(Instance), new(Blob), new(MaintenanceRun)
	token, known := new(access.Token), new(access.Scalars)
	change, counted := new(audit.Record), new(audit.Scalars)
	for _, c := range []struct {
		record any
		hash   func() uint64
	}{
		{tsk, func() uint64 { return hashTask(tsk) }},
		{behavior, func() uint64 { return hashBehavior(behavior) }},
		{module, func() uint64 { return hashModule(module) }},
		{session, func() uint64 { return hashSession(session) }},
		{proc, func() uint64 { return keptForm{}.HashProcess(proc.Process, proc.Lowest, int64(proc.Used)) }},
		{ans, func() uint64 {
			var taskHash uint64
			if ans.Result.Task != nil {
				taskHash = hashTask(ans.Result.Task)
			}
			owner := ans.Process
			if ans.Keyed {
				owner = keptForm{}.HashKey(ans.Process, 1, 1)
			}
			return hashAnswer(owner, ans.Seq, &ans.Result, taskHash)
		}},
		{key, func() uint64 { return keptForm{}.HashKey(key.Key, key.Body, int64(key.First)) }},
		{space, func() uint64 { return hashNamespace(space) }},
		{operation, func() uint64 { return hashOperation(operation) }},
		{instance, func() uint64 { return hashInstance(instance) }},
		{blob, func() uint64 { return blob.Hash(1) }},
		{run, func() uint64 { return new(upkeep.Table).Hash(run) }},
		{token, func() uint64 {
			x := access.NewTable(hash.OfAccessToken)
			x.Put(token)
			x.Scalars = access.Scalars{} // the token alone
			return x.Sum()
		}},
		{change, func() uint64 {
			x := audit.NewTable(hash.OfAudit, audit.Bounds{Changes: 1, Refusals: 1})
			own := *change
			x.Last = own.Number - 1
			x.Put(&own)
			x.Scalars = audit.Scalars{}
			return x.Sum()
		}},
		{counted, func() uint64 {
			x := audit.NewTable(hash.OfAudit, audit.Bounds{})
			x.Scalars = *counted
			return x.Sum()
		}},
		{known, func() uint64 {
			x := access.NewTable(hash.OfAccessToken)
			x.Restore(known.Last, known.Rev, known.RootOff, &access.SignIn{Settings: known.SignIn, Rev: known.SignInRev})
			return x.Sum()
		}},
	} {
		fillAll(reflect.ValueOf(c.record).Elem(), &n)
		before, seen := c.hash(), 0
		leaves(reflect.ValueOf(c.record).Elem(), reflect.TypeOf(c.record).String(), func(path string, change, undo func()) {
			change()
			if c.hash() == before {
				t.Errorf("%s may change without changing the hash", path)
			}
			undo()
			seen++
		})
		if c.hash() != before {
			t.Fatalf("%T was not put back", c.record)
		}
		t.Logf("%T: %d values", c.record, seen)
	}
}

// TestEveryScalarIsInTheDigest changes what is in no record.
func TestEveryScalarIsInTheDigest(t *testing.T) {
	m := NewMachine()
	before := m.digestSum()
	for _, field := range []*uint64{&m.index, &m.term, &m.rev, &m.token, &m.sessionID, &m.sum, &m.before} {
		*field ^= 1
		if m.digestSum() == before {
			t.Error("a counter is not in the digest")
		}
		*field ^= 1
	}
	m.now++
	if m.digestSum() == before {
		t.Error("now is not in the digest")
	}
	m.now--
	m.leaseNow++
	if m.digestSum() == before {
		t.Error("lease_now is not in the digest")
	}
	m.leaseNow--
	m.floor++
	if m.digestSum() == before {
		t.Error("the floor of leases is not in the digest")
	}
	m.floor--
	for i, l := range m.limits.Fields() {
		*l ^= 1
		if m.digestSum() == before {
			t.Errorf("limit %d is not in the digest", i)
		}
		*l ^= 1
	}
	if n := reflect.TypeFor[Limit]().NumField(); n != len(m.limits.Fields()) {
		t.Errorf("Limit has %d fields, Fields() knows %d", n, len(m.limits.Fields()))
	}
}

// fixture is a machine with a record of every kind, and the log that leads there.
func fixture() *Machine {
	m := NewMachine()
	policy := DefaultPolicy()
	index := uint64(0)
	apply := func(origin uint64, cs ...Command) {
		index++
		var ps []Proposal
		for _, c := range cs {
			p := Proposal{Command: c}
			if origin != 0 {
				p.Origin = Origin{Process: 5, Seq: origin, Lowest: 1}
			}
			ps = append(ps, p)
		}
		m.Apply(Header{Index: index, Term: 1, Now: 1000 + Time(index), LeaseNow: LeaseTime(index)}, ps)
	}
	submit := func(id string) Submit {
		return Submit{
			Namespace: DefaultNamespace, ID: id, Behavior: "echo", Priority: 4,
			Params: Payload{Encoding: JSON, Data: []byte(`{"a":1}`)}, Labels: []Label{{"a", "b"}},
		}
	}
	apply(1, Activate{Namespace: DefaultNamespace, Module: Module{Digest: "m", Version: "v", Manifest: []byte("{}")}, Behaviors: []Activated{{"echo", policy}}})
	apply(2, OpenSession{Worker: "w1", Slots: 9, TTL: 10_000, Proof: []byte("p")})
	for i, id := range []string{"waiting", "running", "success", "failure"} {
		apply(uint64(3+i), submit(id))
	}
	assign := func(id string) {
		k := Key{DefaultNamespace, id}
		apply(0, Assign{Key: k, Rev: m.Task(k).Rev, Session: 1})
	}
	assign("running")
	assign("success")
	assign("failure")
	apply(0, Beat{Key: Key{DefaultNamespace, "running"}, Token: 1, Seq: 3, Progress: &Payload{Encoding: JSON, Data: []byte("1")}, Checkpoint: &Payload{Encoding: Bytes, Data: []byte("c")}})
	index++
	m.Apply(Header{Index: index, Term: 1, LeaseNow: LeaseTime(index)}, []Proposal{{
		Origin: Origin{Process: 6, Seq: 1, Lowest: 1, Body: 9}, Command: Cancel{Key: Key{DefaultNamespace, "nobody"}},
	}})
	apply(7, Finish{Key: Key{DefaultNamespace, "success"}, Token: 2, Result: Payload{Encoding: JSON, Data: []byte("2")}})
	apply(8, Finish{Key: Key{DefaultNamespace, "failure"}, Token: 3, Error: &Error{Code: "X", Message: "m", Details: Payload{Encoding: JSON, Data: []byte("{}")}}})
	return m
}

func restoreCopy(m *Machine) (*Machine, error) {
	f := m.Freeze()
	return Restore(func(yield func(Record, error) bool) {
		f.Records(func(r Record) bool { return yield(r, nil) })
	})
}

func TestFixture(t *testing.T) {
	a, b := fixture(), fixture()
	if a.Digest() != b.Digest() {
		t.Fatal("the same log gives different digests")
	}
	if err := a.Check(); err != nil {
		t.Fatal(err)
	}
	c, err := restoreCopy(a)
	if err != nil || c.Digest() != a.Digest() {
		t.Fatalf("%v %v %v", err, c.Digest(), a.Digest())
	}
}

// damageAll damages one value after the other of what pick finds in a new machine, and asks check each time.
func damageAll(t *testing.T, fixture func() *Machine, pick func(*Machine) reflect.Value, check func(t *testing.T, m *Machine, path string)) {
	t.Helper()
	collect := func(m *Machine) (paths []string, changes []func()) {
		leaves(pick(m), "", func(path string, change, _ func()) {
			paths, changes = append(paths, path), append(changes, change)
		})
		return paths, changes
	}
	paths, _ := collect(fixture())
	for i, path := range paths {
		m := fixture()
		_, changes := collect(m)
		changes[i]()
		check(t, m, path)
	}
	if len(paths) < 3 {
		t.Errorf("only %d values damaged", len(paths))
	}
}

// restoreRefused is the check that a snapshot of m is refused.
func restoreRefused(t *testing.T, m *Machine, path string) {
	t.Helper()
	if _, err := restoreCopy(m); !errors.Is(err, ErrBadSnapshot) {
		t.Errorf("%s: restored although damaged: %v", path, err)
	}
}

// TestCorruptionShows damages every value of every record in memory, by reflection: a snapshot of such a machine is
// refused, and for a task the digest differs from the other replicas' once the record is written again (SPEC C4).
func TestCorruptionShows(t *testing.T) {
	refused := func(pick func(*Machine) reflect.Value) { damageAll(t, fixture, pick, restoreRefused) }
	task := func(id string) func(m *Machine) reflect.Value {
		return func(m *Machine) reflect.Value { return reflect.ValueOf(m.Task(Key{DefaultNamespace, id})).Elem() }
	}
	refused(task("running"))
	for _, id := range []string{"waiting", "success", "failure"} {
		rot(t, fixture, func(*Machine) Key { return Key{DefaultNamespace, id} })
	}
	refused(func(m *Machine) reflect.Value {
		return reflect.ValueOf(m.behaviors[behaviorName{DefaultNamespace, "echo"}].behavior).Elem()
	})
	refused(func(m *Machine) reflect.Value { return reflect.ValueOf(m.modules["m"]).Elem() })
	refused(func(m *Machine) reflect.Value { return reflect.ValueOf(m.sessions[1].session).Elem() })
	refused(func(m *Machine) reflect.Value { return reflect.ValueOf(keptAnswer(m, 5, 4)).Elem() })
	refused(func(m *Machine) reflect.Value { return reflect.ValueOf(keptAnswer(m, 6, 0)).Elem() })

	// Payload and outcome of the running task: damaged, then finished. Both replicas write the same outcome.
	finish := []Proposal{{Command: Finish{Key: Key{DefaultNamespace, "running"}, Token: 1, Seq: 9}}}
	h := Header{Index: 100, Term: 1, Now: 5000}
	good := fixture()
	good.Apply(h, finish)
	seen := 0
	for _, field := range []string{"Params", "Progress", "Checkpoint", "Attempt", "Failures", "LostCount", "CreatedAt", "StartedAt", "Labels", "Priority", "Parent"} {
		m := fixture()
		var changes []func()
		leaves(task("running")(m).FieldByName(field), field, func(_ string, change, _ func()) { changes = append(changes, change) })
		changes[len(changes)-1]()
		m.Apply(h, finish)
		if m.Digest() == good.Digest() {
			t.Errorf("%s: damaged and written again, and the digest is the same", field)
		}
		seen++
	}
	if seen < 10 {
		t.Errorf("only %d fields", seen)
	}
}

// rot changes one bit after the other of a packed record: a snapshot of such a machine is refused, or the node stops
// because what it reads is no record, or the bit says nothing.
func rot(t *testing.T, fixture func() *Machine, pick func(m *Machine) Key) {
	t.Helper()
	bits, refused := 0, 0
	for i := 0; ; i++ {
		m := fixture()
		good := m.Task(pick(m))
		r := m.find(good.Key())
		record := m.store.Packed(r)
		if i == len(record)*8 {
			break
		}
		record[i/8] ^= 1 << (i % 8)
		bits++
		switch err := restoredOrStopped(m); {
		case errors.Is(err, ErrBadSnapshot):
			refused++
		case err == nil && !reflect.DeepEqual(m.Task(good.Key()), good):
			t.Errorf("%s: restored although bit %d was damaged", good.ID, i)
		}
	}
	if refused < bits/2 {
		t.Errorf("%d bits of %d were refused", refused, bits)
	}
}

// restoredOrStopped restores a copy of m; a panic is an error too.
func restoredOrStopped(m *Machine) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the node stops: %v", r)
		}
	}()
	_, err = restoreCopy(m)
	return err
}

func TestCorruptForTest(t *testing.T) {
	m, good := fixture(), fixture()
	k := Key{DefaultNamespace, "waiting"}
	if !m.CorruptForTest(k) || m.CorruptForTest(Key{DefaultNamespace, "nobody"}) {
		t.Fatal("what was damaged?")
	}
	if m.Check() == nil {
		t.Error("Check does not see the damage")
	}
	if m.Digest() != good.Digest() {
		t.Error("the digest was told")
	}
	for _, x := range []*Machine{m, good} {
		x.Apply(Header{Index: 100, Term: 1}, []Proposal{{Command: Cancel{Key: k}}})
	}
	if m.Digest() == good.Digest() {
		t.Error("written again, and the digest is the same")
	}
}
