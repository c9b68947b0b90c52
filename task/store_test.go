package task

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/taskrt/taskrt/task/store"
	"github.com/taskrt/taskrt/task/table"
)

// someTask returns a task of b that is packed or not, long or short, with any of the fields.
func someTask(random *rand.Rand, b *behaviorRow, id string, rev uint64) *Task {
	t := &Task{Namespace: b.namespace, ID: id, Behavior: b.name, Status: Created, Rev: rev, CreatedRev: rev, CreatedAt: Time(random.IntN(1000))}
	some := func() bool { return random.IntN(3) == 0 }
	payload := func() (p Payload) {
		if some() {
			return p
		}
		p = Payload{Encoding: Encoding(1 + random.IntN(2)), Data: make([]byte, 1+random.IntN(100))}
		if some() {
			p.Blobs = &Blobs{Named: []string{"a", "b"}}
		}
		if random.IntN(1000) == 0 {
			p.Data = make([]byte, table.LongRecord)
		}
		return p
	}
	t.Params, t.Result, t.Checkpoint, t.Progress = payload(), payload(), payload(), payload()
	if some() {
		t.Error = &Error{Code: fmt.Sprint("E", random.IntN(5)), Message: "m", Retryable: some(), Details: payload()}
	}
	if some() {
		t.Status, t.Lease = Running, &Lease{Token: rev}
	}
	for range random.IntN(3) {
		t.History = append(t.History, Attempt{
			Number: 1, Token: rev, Worker: fmt.Sprint("w", random.IntN(9)), Node: "n", StartedAt: 5, FinishedAt: -3, Outcome: "X", Fuel: MaxFuel, Pages: int64(random.IntN(2)) * (MaxFuel / PageBytes),
		})
	}
	if some() {
		t.Labels, t.Parent, t.Partition, t.ConcurrencyKey = []Label{{"a", ""}, {"b", "c"}}, "p", "q", "k"
		t.Role, t.Bound, t.Priority, t.Version = RoleCleanup, 1<<63, 9, fmt.Sprint("v", random.IntN(5))
	}
	if some() {
		t.NotBefore, t.Deadline, t.StartedAt, t.FinishedAt = 1<<62, 1, 2, -3
		t.Attempt, t.Failures, t.LostCount, t.Ended = 3, -1, 5, &Ended{1, 1<<64 - 1, 2}
	}
	return t
}

// TestStore compares the store with a list, and every frozen version with what it was when frozen.
func TestStore(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	s := store.New[Task](form{})
	behaviors := []*behaviorRow{{behaviorName: behaviorName{"x", "one"}}, {behaviorName: behaviorName{"y", "two"}}}
	for _, b := range behaviors {
		b.Number = s.AddOwner(store.Owner{Namespace: b.namespace, Name: b.name})
	}
	type entry struct {
		row  *row
		task *Task
	}
	var all []entry // by creation
	type version struct {
		frozen store.Frozen[Task]
		tasks  []*Task
	}
	var versions []version
	current := func() []*Task {
		tasks := make([]*Task, len(all))
		for i, e := range all {
			tasks[i] = e.task
		}
		return tasks
	}
	id := func(n int) string {
		if n%3 == 0 {
			return fmt.Sprint("task", n)
		}
		return fmt.Sprintf("0190a0b0-0000-7000-8000-%012x", n)
	}
	for n := range 36_000 {
		grow := 60
		if n/5000%2 == 1 { // shrink in turn, so that pages merge
			grow = 20
		}
		switch p := random.IntN(100); {
		case p < grow || len(all) == 0:
			b := behaviors[n/7%2]
			x := someTask(random, b, id(n/2*2+n/7%2), uint64(n+1)) // some have the ID of one in the other namespace
			if s.Get(x.Namespace, x.ID) != nil {
				continue
			}
			all = append(all, entry{s.Add(b.Number, x), x})
		case p < grow+20:
			e := &all[random.IntN(len(all))]
			x := someTask(random, behaviors[e.row.Behavior], e.task.ID, e.task.CreatedRev)
			x.Rev += uint64(n)
			s.Replace(e.row, x)
			e.task = x
		default:
			i := random.IntN(len(all))
			s.Remove(all[i].row, all[i].task)
			all = slices.Delete(all, i, i+1)
		}
		if n%2000 == 0 {
			versions = append(versions, version{s.Freeze(), current()})
		}
	}
	want := current()
	got := func(rev uint64) (tasks []*Task) {
		for r := range s.From(rev) {
			tasks = append(tasks, s.Record(r))
		}
		return tasks
	}
	if !reflect.DeepEqual(got(0), want) || s.Len() != len(want) {
		t.Fatalf("not the %d tasks", len(want))
	}
	for i, e := range all {
		if s.Get(e.task.Namespace, e.task.ID) != e.row {
			t.Fatalf("%s is not found", e.task.ID)
		}
		if i%397 == 0 {
			if !reflect.DeepEqual(got(e.task.CreatedRev), want[i+1:]) && len(want) > i+1 {
				t.Fatalf("from %d", e.task.CreatedRev)
			}
			if !reflect.DeepEqual(got(e.task.CreatedRev-1), want[i:]) {
				t.Fatalf("from before %d", e.task.CreatedRev)
			}
		}
	}
	for i, v := range versions {
		var tasks []*Task
		for x := range v.frozen.All {
			tasks = append(tasks, x)
		}
		if !reflect.DeepEqual(tasks, v.tasks) && len(tasks)+len(v.tasks) > 0 {
			t.Errorf("frozen version %d has changed", i)
		}
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

// TestFreezeBesideApply reads frozen versions in other goroutines while the machine goes on (the race detector looks
// on), and restores each.
func TestFreezeBesideApply(t *testing.T) {
	m := fixture()
	random := rand.New(rand.NewPCG(5, 6))
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := range 3000 {
		h := Header{Index: m.index + 1, Term: 1, Now: m.now + 1, LeaseNow: m.leaseNow}
		k := Key{DefaultNamespace, fmt.Sprintf("task-%d", random.IntN(700))}
		var c Command = Submit{Namespace: k.Namespace, ID: k.ID, Behavior: "echo", Priority: 4, IfExists: Rerun}
		switch x := m.Task(k); {
		case x != nil && x.Status == Running && random.IntN(2) == 0:
			c = Finish{Key: k, Token: x.Lease.Token}
		case x != nil && m.eligible(x, m.now):
			c = Assign{Key: k, Rev: x.Rev, Session: 1}
		case x != nil && random.IntN(3) == 0:
			c = Remove{Key: k}
		}
		lowest := uint64(max(1, i-40))
		m.Apply(h, []Proposal{{Command: c, Origin: Origin{Process: 77, Seq: uint64(i + 1), Lowest: lowest}}})
		if i%200 != 0 {
			continue
		}
		f, digest := m.Freeze(), m.Digest()
		wg.Go(func() {
			restored, err := Restore(func(yield func(Record, error) bool) {
				f.Records(func(r Record) bool {
					if x, ok := r.(*Task); ok { // Restore takes the records over: they must not be shared with m
						clone := *x
						clone.History = slices.Clone(x.History)
						if x.Lease != nil {
							lease := *x.Lease
							clone.Lease = &lease
						}
						r = &clone
					}
					return yield(r, nil)
				})
			})
			if err != nil {
				t.Error(err)
				return
			}
			if restored.Digest() != digest || f.Digest() != digest {
				t.Errorf("digest %v, frozen at %v", restored.Digest(), digest)
			}
			if err := restored.Check(); err != nil {
				t.Error(err)
			}
		})
	}
	if err := m.Check(); err != nil {
		t.Error(err)
	}
}

func TestRestoreRefuses(t *testing.T) {
	for name, fixture := range map[string]func() *Machine{"fixture": fixture, "busy": busy} {
		t.Run(name, func(t *testing.T) { restoreRefuses(t, fixture) })
	}
}

func restoreRefuses(t *testing.T, fixture func() *Machine) {
	records := func() []Record {
		var rs []Record
		for r := range fixture().Freeze().Records {
			rs = append(rs, r)
		}
		return rs
	}
	failed := errors.New("disk")
	restore := func(rs []Record, err error) error {
		_, got := Restore(func(yield func(Record, error) bool) {
			for _, r := range rs {
				if !yield(r, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
			}
		})
		return got
	}
	if err := restore(records(), nil); err != nil {
		t.Fatal(err)
	}
	if err := restore(records(), failed); !errors.Is(err, failed) {
		t.Errorf("an error of the input: %v", err)
	}
	if err := restore(nil, nil); !errors.Is(err, ErrBadSnapshot) {
		t.Errorf("empty: %v", err)
	}
	n := len(records())
	for i := range n {
		if err := restore(slices.Delete(records(), i, i+1), nil); !errors.Is(err, ErrBadSnapshot) {
			t.Errorf("without record %d: %v", i, err)
		}
		rs := records()
		if err := restore(slices.Insert(rs, i, rs[i]), nil); !errors.Is(err, ErrBadSnapshot) {
			t.Errorf("record %d twice: %v", i, err)
		}
		if rs := records(); i > 0 {
			rs[i], rs[i-1] = rs[i-1], rs[i]
			if err := restore(rs, nil); err != nil && !errors.Is(err, ErrBadSnapshot) {
				t.Errorf("records %d and %d swapped: %v", i-1, i, err)
			}
		}
	}
	for _, f := range []func(*Head){
		func(h *Head) { h.Index++ }, func(h *Head) { h.Now++ }, func(h *Head) { h.Token++ }, func(h *Head) { h.Sum++ },
		func(h *Head) { h.Before++ }, func(h *Head) { h.Digest++ }, func(h *Head) { h.Limit.Finals++ }, func(h *Head) { h.Tasks++ },
	} {
		rs := records()
		f(rs[0].(*Head))
		if err := restore(rs, nil); !errors.Is(err, ErrBadSnapshot) {
			t.Errorf("%+v: %v", rs[0], err)
		}
	}
}

// TestPlan compares Plan with the plainest planner: sort all due tasks, give each to the best session that may run it.
func TestPlan(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for round := range 60 {
		m := NewMachine()
		index := uint64(0)
		apply := func(c Command) Result {
			index++
			rs, _ := m.Apply(Header{Index: index, Term: 1, Now: 1000 + Time(index), LeaseNow: 1}, []Proposal{{Command: c}})
			return rs[0]
		}
		for i := range 4 {
			apply(Activate{
				Namespace: DefaultNamespace, Module: Module{Digest: fmt.Sprint("m", i), Version: "v"},
				Behaviors: []Activated{{fmt.Sprint("behavior", i), DefaultPolicy()}},
			})
		}
		var free []Free
		for i := range 1 + random.IntN(4) {
			id := apply(OpenSession{Worker: fmt.Sprint("w", i), Slots: int64(random.IntN(20)), TTL: 1e6}).Session.ID
			f := Free{Session: id, Slots: random.IntN(14) - 2}
			if random.IntN(2) == 0 {
				f.Ahead, f.Each = random.IntN(12), random.IntN(4)
				mask := random.IntN(16)
				f.Short = func(module string, _ int32) bool { return mask>>(module[1]-'0')&1 == 1 }
			}
			if mask := random.IntN(16); mask != 0 {
				f.Ready = func(module, _ string) bool { return mask>>(module[1]-'0')&1 == 1 }
			}
			free = append(free, f)
		}
		for i := range 200 {
			apply(Submit{
				Namespace: DefaultNamespace, ID: fmt.Sprint("task", i), Behavior: fmt.Sprint("behavior", random.IntN(4)),
				Priority: int8(random.IntN(10)), Delay: Millis(random.IntN(2) * 100),
			})
		}
		random.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
		n := random.IntN(60)
		digest := m.Digest()
		got, want := m.Plan(free, n), naivePlan(m, free, n)
		if !slices.Equal(got, want) {
			t.Fatalf("round %d:\ngot  %v\nwant %v", round, got, want)
		}
		if m.Digest() != digest || m.Check() != nil {
			t.Fatal("Plan changed something")
		}
		for _, a := range got {
			if r := apply(a); r.Code != OK {
				t.Fatalf("round %d: %+v: %s", round, a, r.Code)
			}
		}
	}
}

func naivePlan(m *Machine, free []Free, n int) (plan []Assign) {
	due, _ := m.Tasks(Filter{Limit: 1 << 30})
	due = slices.DeleteFunc(due, func(t *Task) bool { return t.NotBefore == 0 || t.NotBefore > m.Now() })
	slices.SortStableFunc(due, func(a, b *Task) int {
		return cmp.Compare(a.NotBefore-60_000*Time(a.Priority), b.NotBefore-60_000*Time(b.Priority))
	})
	slots, room := map[uint64]int64{}, map[uint64]int64{} // left: at once; in all
	for _, f := range free {
		most := m.Session(f.Session).Slots
		slots[f.Session], room[f.Session] = min(int64(f.Slots), most), min(int64(f.Slots+f.Ahead), most)
	}
	for _, x := range due {
		if len(plan) == n {
			break
		}
		v := m.Version(x.Namespace, x.Behavior, x.Version)
		best, each := uint64(0), int64(0)
		var ready []uint64
		for _, f := range free {
			if f.Ready != nil && !f.Ready(v.Module, v.Version) {
				continue
			}
			ready = append(ready, f.Session)
			short := f.Short != nil && f.Short(v.Module, 0)
			if slots[f.Session] <= 0 && (!short || room[f.Session] <= 0) {
				continue
			}
			if best == 0 || slots[f.Session] > slots[best] || slots[f.Session] == slots[best] && f.Session < best {
				best, each = f.Session, int64(f.Each)
				if short {
					each = 0
				}
			}
		}
		if best == 0 {
			for _, id := range ready { // it waits there for a slot: nothing goes ahead of it
				room[id] = 0
			}
		} else {
			slots[best]--
			room[best] = max(room[best]-1-each, slots[best])
			plan = append(plan, Assign{Key: x.Key(), Rev: x.Rev, Session: best})
		}
	}
	return plan
}
