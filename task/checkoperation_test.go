package task

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

var aBlob = strings.Repeat("ab", 32)

// busy is a machine with operations in every state, cleanups, a namespace that is being purged, blobs and a run of
// maintenance. An entry does two steps of work.
func busy() *Machine {
	m := NewMachine(WithLimit(Limit{Steps: 2, Finals: 1}))
	index := uint64(0)
	apply := func(c Command) Result {
		index++
		r := first(m.Apply(Header{Index: index, Term: 1, Now: 1000}, []Proposal{{Command: c}}))[0]
		if r.Code != OK {
			panic(string(r.Code) + r.Message)
		}
		return r
	}
	assign := func(k Key, session uint64) uint64 {
		return apply(Assign{Key: k, Rev: m.Task(k).Rev, Session: session}).Task.Lease.Token
	}
	in := func(id string) Key { return Key{DefaultNamespace, id} }
	policy := DefaultPolicy()
	policy.Retry.MaxAttempts = 3
	policy.Operation = &OperationPolicy{Concurrency: OnePerTarget, Incompatible: []string{"other"}, Complete: "done", Cleanup: "clean", RunAll: true}
	module := Module{Digest: "m", Version: "v", Manifest: []byte("{}")}
	apply(Activate{Namespace: DefaultNamespace, Module: module, Behaviors: []Activated{{"work", policy}, {"done", policy}, {"clean", policy}}})
	apply(OpenSession{Worker: "w1", Slots: 99, TTL: 10_000, Proof: []byte("1")})
	apply(OpenSession{Worker: "w2", Slots: 99, TTL: 10_000, Proof: []byte("2")})
	apply(NoteBlob{Digest: aBlob, Size: 5})
	apply(NoteBlob{Digest: aBlob, Size: 5, Ready: true})
	apply(NoteBlob{Digest: strings.Repeat("cd", 32), Size: 5})
	start := func(id string, partitions int64) {
		apply(StartOperation{
			Namespace: DefaultNamespace, ID: id, Behavior: "work", Target: id, Partitions: partitions, Priority: 4,
			Arg: Payload{Encoding: JSON, Blobs: &Blobs{Content: aBlob, Size: 5}},
		})
	}
	start("going", 2)
	apply(Finish{Key: in("going:0"), Token: assign(in("going:0"), 1), Error: &Error{Code: "X"}}) // leaves a cleanup
	k := in("going:cleanup:1")
	apply(Finish{Key: k, Token: assign(k, 1), Error: &Error{Code: "X", Retryable: true}}) // waits for its retry
	assign(in("going:1"), 1)
	start("completing", 1)
	apply(Cancel{Key: in("completing:0")})
	start("ended", 1)
	apply(Finish{Key: in("ended:0"), Token: assign(in("ended:0"), 2)})
	apply(Finish{Key: in("ended:complete"), Token: assign(in("ended:complete"), 2), Result: Payload{Encoding: JSON, Data: []byte("1")}})
	start("failing", 1)
	apply(Finish{Key: in("failing:0"), Token: assign(in("failing:0"), 2), Error: &Error{Code: "X"}}) // leaves a due cleanup
	start("making", 9)
	start("going-away", 9)
	apply(RemoveOperation{Key: in("going-away")})

	apply(PutNamespace{Name: "shop", Create: true, Quota: &Quota{SubmitsPerSecond: 100}, Retention: &Retention{Count: 5}})
	apply(Activate{Namespace: "shop", Module: module, Behaviors: []Activated{{"work", policy}, {"done", policy}, {"clean", policy}}})
	apply(Submit{Namespace: "shop", ID: "doomed", Behavior: "work", Priority: 4})
	assign(Key{"shop", "doomed"}, 2)
	apply(StartOperation{Namespace: "shop", ID: "making", Behavior: "work", Partitions: 9, Priority: 4})
	apply(StoreUpdate{Namespace: "shop", Client: 1, Adds: []StoreAdd{{Group: "g", Data: "d"}}})
	apply(SetNamespaceStatus{Name: "shop", Status: NamespaceIsPurging})

	for _, id := range []string{"final-1", "final-2"} { // more than Limit.Finals
		apply(Submit{Namespace: DefaultNamespace, ID: id, Behavior: "work", Priority: 4})
		apply(Cancel{Key: in(id)})
	}
	apply(Activate{Namespace: SystemNamespace, Module: Module{Digest: NativeMaintenance, Version: "n"}, Behaviors: []Activated{{MaintenanceBehavior, DefaultPolicy()}}})
	k = MaintenanceKey()
	apply(Submit{Namespace: k.Namespace, ID: k.ID, Behavior: MaintenanceBehavior, Priority: 4})
	apply(GiveBack{Key: k, Token: assign(k, 2)})
	apply(RecordRun{Token: assign(k, 2), Run: MaintenanceRun{
		Message: "m", Before: 5, Objects: []ObjectCount{{Kind: "task", Scanned: 1}}, Filter: FilterStats{Bits: 1},
	}})
	return m
}

// TestCheckSeesOperations damages what is derived for operations, namespaces, blobs and runs, one thing at a time.
func TestCheckSeesOperations(t *testing.T) {
	if err := busy().Check(); err != nil {
		t.Fatal(err)
	}
	op := func(m *Machine, id string) *operationRow { return m.operations[Key{DefaultNamespace, id}] }
	get := func(m *Machine, id string) *row { return m.find(Key{DefaultNamespace, id}) }
	work := func(m *Machine) *behaviorRow { return m.behaviors[behaviorName{DefaultNamespace, "work"}] }
	space := func(m *Machine, name string) *namespaceRow { return m.namespaces[name] }
	edit := func(change func(o *Operation)) func(m *Machine) {
		return func(m *Machine) { // and the sum is told
			o := op(m, "going")
			next := *o.operation
			change(&next)
			m.sum += hashOperation(&next) - hashOperation(o.operation)
			o.operation = &next
		}
	}
	for name, damage := range map[string]func(m *Machine){
		"counts":       func(m *Machine) { op(m, "going").counts.Failure++ },
		"tasks":        func(m *Machine) { op(m, "going").tasks++ },
		"running":      func(m *Machine) { op(m, "going").running++ },
		"open lost":    func(m *Machine) { o := op(m, "making"); o.open.Remove(&m.store.Rows.Extra(get(m, "making:0")).Part) },
		"open order":   func(m *Machine) { op(m, "making").open.At(1).Key++ },
		"failed lost":  func(m *Machine) { op(m, "going").failed.Remove(&m.store.Rows.Extra(get(m, "going:0")).Part) },
		"failed order": func(m *Machine) { op(m, "going").failed.At(1).Key++ },
		"cleanups lost": func(m *Machine) {
			o := op(m, "failing")
			o.cleanups.Remove(&m.store.Rows.Extra(o.cleanups.At(1).Item).Part)
		},
		"finals lost": func(m *Machine) { op(m, "ended").finals.Remove(&m.store.Rows, get(m, "ended:0")) },
		"final elsewhere": func(m *Machine) {
			r := get(m, "ended:0")
			op(m, "ended").finals.Remove(&m.store.Rows, r)
			work(m).Success.Push(&m.store.Rows, r, m.task(r).CreatedRev)
		},
		"work forgotten":       func(m *Machine) { m.fanout.busy.Remove(&op(m, "making").busy) },
		"work invented":        func(m *Machine) { o := op(m, "going"); m.fanout.busy.Push(0, 1, &o.busy, o) },
		"purged goes on":       func(m *Machine) { o := m.operations[Key{"shop", "making"}]; m.fanout.busy.Push(0, 1, &o.busy, o) },
		"not ordered":          func(m *Machine) { x := m.fanout.ordered; x[0], x[1] = x[1], x[0] },
		"not listed":           func(m *Machine) { m.fanout.ordered = m.fanout.ordered[1:] },
		"not in the namespace": func(m *Machine) { m.fanout.spaces["shop"] = nil },
		"exclusion lost": func(m *Machine) {
			o := op(m, "going").operation
			m.fanout.running.Leave(o.terms(), o.CreatedRev)
		},
		"exclusion left": func(m *Machine) {
			r := op(m, "ended")
			m.fanout.running.Enter(r.operation.terms(), r.operation.CreatedRev, r)
		},
		"version let go":    func(m *Machine) { work(m).held["v"]-- },
		"version held":      func(m *Machine) { work(m).held["w"] = 1 },
		"due cleanup lost":  func(m *Machine) { s := m.sessions[2]; s.due.Remove(&s.due.At(1).Item.Place) },
		"due cleanup order": func(m *Machine) { m.sessions[2].due.At(1).Key++ },
		"cleanup not bound": func(m *Machine) {
			s := m.sessions[1]
			s.cleanups.Remove(&m.store.Rows.Extra(s.cleanups.At(1).Item).Bound)
		},
		"cleanup in a lane": func(m *Machine) {
			r := m.sessions[2].due.At(1).Item
			m.sessions[2].due.Remove(&r.Place)
			x, q := facts(m.task(r)), &m.of(r).Queues
			m.board.LeaveDue(q, r, x)
			x.Bound = false
			m.board.EnterDue(q, r, x, r.At)
		},
		"ending": func(m *Machine) { m.sessions[1].ending = true },
		"session of cleanup": func(m *Machine) {
			rewrite(m, m.task(m.sessions[1].cleanups.At(1).Item).ID, func(t *Task) { t.Bound = 99 })
		},
		"instance":            func(m *Machine) { m.instances.Rows = m.instances.Rows[1:] },
		"instance too low":    func(m *Machine) { m.instances.Get(instanceName{DefaultNamespace, "work", "going"}).Last = 0 },
		"names":               edit(func(o *Operation) { o.Names = []string{"a"} }),
		"made":                edit(func(o *Operation) { o.Made = 1 }),
		"stopped and retried": edit(func(o *Operation) { o.Stop, o.RetryRev = "X", 1 }),
		"completing":          edit(func(o *Operation) { o.Status = OperationCompleting }),
		"success":             edit(func(o *Operation) { o.Status = OperationSuccess }),
		"other version":       edit(func(o *Operation) { o.Version = "w" }),
		"policy":              edit(func(o *Operation) { o.Policy.Complete = "X" }),
		"role":                func(m *Machine) { rewrite(m, "going:1", func(t *Task) { t.Role = RoleCompletion }) },
		"partition":           func(m *Machine) { rewrite(m, "going:1", func(t *Task) { t.Partition = "2" }) },
		"parent":              func(m *Machine) { rewrite(m, "going:1", func(t *Task) { t.Parent = "nobody" }) },

		"usage tasks":      func(m *Machine) { space(m, "shop").usage.Tasks++ },
		"usage owed":       func(m *Machine) { space(m, "shop").usage.Owed++ },
		"usage running":    func(m *Machine) { space(m, "shop").usage.Running++ },
		"usage bytes":      func(m *Machine) { space(m, "shop").usage.Bytes++ },
		"usage operations": func(m *Machine) { space(m, "shop").usage.Operations++ },
		"usage records":    func(m *Machine) { space(m, "shop").usage.Records++ },
		"usage behaviors":  func(m *Machine) { space(m, "shop").usage.Behaviors++ },
		"crowded":          func(m *Machine) { m.crowded = nil },
		"crowded for none": func(m *Machine) { m.crowded = append(m.crowded, space(m, "shop")) },
		"doomed lost":      func(m *Machine) { m.doomed.Remove(&m.store.Rows.Extra(m.doomed.At(1).Item).Doomed) },
		"doomed":           func(m *Machine) { r := get(m, "going:1"); m.doomed.Push(1, 1, &m.store.Rows.Extra(r).Doomed, r) },
		"status":           func(m *Machine) { space(m, "shop").space.Status = 0 },
		"purged":           func(m *Machine) { space(m, "shop").space.Status = NamespaceIsPurged },
		"bucket":           func(m *Machine) { space(m, "shop").space.Bucket = 1 << 40 },
		"behavior's space": func(m *Machine) { work(m).space = space(m, "shop") },
		"no namespace":     func(m *Machine) { delete(m.namespaces, "shop") },

		"references":   func(m *Machine) { firstOf(m.blobs.After("")).Refs-- },
		"not ready":    func(m *Machine) { firstOf(m.blobs.After("")).Ready = false },
		"size":         func(m *Machine) { firstOf(m.blobs.After("")).Size++ },
		"blob twice":   func(m *Machine) { m.blobs.Add(*firstOf(m.blobs.After(""))) },
		"blob's order": func(m *Machine) { swap(m.blobs.After("")) },
		"blob's name":  func(m *Machine) { firstOf(m.blobs.After("")).Digest[31]++ },

		"run lost":      func(m *Machine) { *m.runs.Rows()[1] = *m.runs.Rows()[0] },
		"runs' order":   func(m *Machine) { m.runs.Rows()[0], m.runs.Rows()[1] = m.runs.Rows()[1], m.runs.Rows()[0] },
		"run goes on":   func(m *Machine) { m.runs.Rows()[0].Ended = "" },
		"ended twice":   func(m *Machine) { m.runs.Rows()[0].FinishedAt = 1 },
		"run's success": func(m *Machine) { m.runs.Rows()[1].Success = true },
	} {
		m := busy()
		damage(m)
		if m.Check() == nil {
			t.Errorf("%s: not seen", name)
		}
	}
}

// TestCorruptionOfOperationsShows damages every value of the records that busy has: a snapshot of such a machine is
// refused.
func TestCorruptionOfOperationsShows(t *testing.T) {
	rows := map[string]func(m *Machine) any{
		"operation": func(m *Machine) any { return m.operations[Key{DefaultNamespace, "going"}].operation },
		"namespace": func(m *Machine) any { return m.namespaces["shop"].space },
		"instance":  func(m *Machine) any { return m.instances.Get(instanceName{DefaultNamespace, "work", "going"}) },
		"run":       func(m *Machine) any { return m.runs.Rows()[1] },
	}
	for name, pick := range rows {
		t.Run(name, func(t *testing.T) {
			damageAll(t, busy, func(m *Machine) reflect.Value { return reflect.ValueOf(pick(m)).Elem() }, restoreRefused)
		})
	}
	task := func(m *Machine, id string) Key { return Key{DefaultNamespace, id} }
	rot(t, busy, func(m *Machine) Key { return task(m, "going:0") })
	rot(t, busy, func(m *Machine) Key { return m.task(m.sessions[1].cleanups.At(1).Item).Key() })
}

// TestRestoreRefusesOperations makes snapshots that have the digest of what they say, and say what cannot be.
func TestRestoreRefusesOperations(t *testing.T) {
	edit := func(change func(o *Operation)) func(r Record) Record {
		return func(r Record) Record {
			if o, ok := r.(*Operation); ok && o.ID == "going" {
				next := *o
				change(&next)
				return &next
			}
			return r
		}
	}
	for name, change := range map[string]func(r Record) Record{
		"operation without a namespace": edit(func(o *Operation) { o.Namespace = "nowhere" }),
		"operation twice":               edit(func(o *Operation) { o.ID = "making" }),
		"operation out of order":        edit(func(o *Operation) { o.CreatedRev = 1 << 40 }),
		"operation without a version":   edit(func(o *Operation) { o.Version = "w" }),
		"operation with a wrong status": edit(func(o *Operation) { o.Status = 9 }),
		"operation with a strange blob": edit(func(o *Operation) { o.Arg.Blobs = &Blobs{Content: strings.Repeat("ee", 32)} }),
		"task of no operation":          edit(func(o *Operation) { o.ID = "renamed" }),
		"cleanup of no session": func(r Record) Record {
			if x, ok := r.(*Task); ok && x.Bound == 2 && !x.Final() {
				next := *x
				next.Bound = 77
				return &next
			}
			return r
		},
		"instance twice": func(r Record) Record {
			if x, ok := r.(*Instance); ok {
				next := *x
				next.Namespace, next.Behavior, next.Target = "shop", "work", "one"
				return &next
			}
			return r
		},
		"instance without a namespace": func(r Record) Record {
			if x, ok := r.(*Instance); ok {
				next := *x
				next.Namespace = "nowhere"
				return &next
			}
			return r
		},
	} {
		m := busy()
		f, changed := m.Freeze(), 0
		var records []Record
		f.Records(func(r Record) bool {
			next := change(r)
			records = append(records, next)
			if next != r {
				m.sum += hashOf(next) - hashOf(r)
				changed++
			}
			return true
		})
		head := *records[0].(*Head)
		head.Sum, head.Digest = m.total(), m.digestSum()
		records[0] = &head
		_, err := Restore(func(yield func(Record, error) bool) {
			for _, r := range records {
				if !yield(r, nil) {
					return
				}
			}
		})
		if changed == 0 || !errors.Is(err, ErrBadSnapshot) || strings.Contains(err.Error(), "digest") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func hashOf(r Record) uint64 {
	switch r := r.(type) {
	case *Operation:
		return hashOperation(r)
	case *Instance:
		return hashInstance(r)
	case *Task:
		return hashTask(r)
	}
	panic("no such record")
}
