package task_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/taskrt/taskrt/task"
)

// crowd is a machine with wasm and external behaviors under limits that change, and workers of both kinds.
type crowd struct {
	t       *testing.T
	rng     *rand.Rand
	m       *task.Machine
	h       task.Header
	tasks   int
	lowered map[string]bool // a limit was lowered while tasks ran
	planned int
}

var crowdBehaviors = []string{"wasm-a", "wasm-b", "mail", "post"}

func external(name string) bool { return name == "mail" || name == "post" }

func newCrowd(t *testing.T, seed uint64) *crowd {
	c := &crowd{t: t, rng: rand.New(rand.NewPCG(seed, 1)), m: task.NewMachine(), lowered: map[string]bool{}}
	c.h = task.Header{Term: 1, Now: 1000}
	for _, name := range crowdBehaviors {
		c.define(name)
	}
	for i := range 3 {
		c.must(task.OpenSession{Worker: fmt.Sprint("w", i), Node: fmt.Sprint("n", i), Slots: 4, TTL: 1 << 40, Proof: []byte("p")})
	}
	return c
}

func (c *crowd) apply(cmds ...task.Command) []task.Result {
	c.t.Helper()
	c.h.Index++
	ps := make([]task.Proposal, len(cmds))
	for i := range cmds {
		ps[i].Command = cmds[i]
	}
	results, _ := c.m.Apply(c.h, ps)
	if err := c.m.Check(); err != nil {
		c.t.Fatalf("after %T: %v", cmds, err)
	}
	return results
}

func (c *crowd) must(cmds ...task.Command) {
	c.t.Helper()
	for i, r := range c.apply(cmds...) {
		if r.Code != task.OK {
			c.t.Fatalf("%+v: %s %s", cmds[i], r.Code, r.Message)
		}
	}
}

// define gives a behavior another version with other limits.
func (c *crowd) define(name string) {
	p := task.DefaultPolicy()
	p.Retry = task.Retry{MaxAttempts: 3, InitialInterval: 50, MultiplierThousandth: 1000, MaxInterval: 50}
	p.MaxConcurrent, p.MaxPerKey, p.KeyStrict = c.rng.Int64N(4), c.rng.Int64N(3), c.rng.IntN(2) == 0
	p.RunTimeout, p.CancelGrace = 2000, 200
	version := fmt.Sprint("v", c.h.Index)
	c.lowered[name] = true
	if external(name) {
		c.must(task.PutBehavior{Namespace: task.DefaultNamespace, Name: name, Version: version, Policy: p})
		return
	}
	c.must(task.Activate{
		Namespace: task.DefaultNamespace, Module: task.Module{Digest: name + version, Version: version},
		Behaviors: []task.Activated{{Name: name, Policy: p}},
	})
}

func (c *crowd) free() []task.Free {
	var free []task.Free
	for id := range uint64(3) {
		if slots := c.rng.IntN(4); slots > 0 {
			free = append(free, task.Free{Session: id + 1, Slots: slots})
		}
	}
	for i := range c.rng.IntN(4) {
		free = append(free, task.Free{
			External:  &task.Acceptor{Worker: fmt.Sprint("x", i), MaxNotBefore: c.h.Now + task.Time(c.rng.IntN(3)*40)},
			Namespace: task.DefaultNamespace, Behavior: crowdBehaviors[2+c.rng.IntN(2)], Slots: 1 + c.rng.IntN(3), Order: uint64(9 - i),
		})
	}
	return free
}

func order(t *task.Task) int64 { return int64(t.NotBefore) - int64(t.Priority)*60_000 }

// plan plans, and expects: T4 order among what is due, all of it accepted in one entry, nobody given more than wanted,
// and nothing left to plan then for whoever has slots left.
func (c *crowd) plan() {
	free := c.free()
	plan := c.m.Plan(free, 100)
	c.planned += len(plan)
	var last *task.Task
	cmds := make([]task.Command, len(plan))
	given := map[string]int{}
	for i, a := range plan {
		t := c.m.Task(a.Key)
		if t.NotBefore <= c.m.Now() {
			if last != nil && (order(t) < order(last) || order(t) == order(last) && t.CreatedRev < last.CreatedRev || last.NotBefore > c.m.Now()) {
				c.t.Fatalf("T4: %s is planned after %s", t.ID, last.ID)
			}
		}
		last = t
		if cmds[i] = a; a.External != nil {
			given[a.External.Worker]++
		} else {
			given[fmt.Sprint(a.Session)]++
		}
	}
	if len(cmds) > 0 {
		c.must(cmds...)
	}
	var rest []task.Free
	for _, f := range free {
		who := fmt.Sprint(f.Session)
		if f.External != nil {
			who = f.External.Worker
		}
		if f.Slots -= given[who]; f.Slots < 0 {
			c.t.Fatalf("%s got %d too many", who, -f.Slots)
		}
		if f.Slots > 0 {
			rest = append(rest, f)
		}
	}
	if more := c.m.Plan(rest, 100); len(more) > 0 {
		c.t.Fatalf("%+v was left over", more)
	}
}

// limits counts who runs. A limit that nobody has touched since holds exactly.
func (c *crowd) limits() {
	running, keys := map[string]int64{}, map[[2]string]int64{}
	tasks, _ := c.m.Tasks(task.Filter{Limit: 1 << 20})
	for _, t := range tasks {
		if t.Status != task.Running {
			continue
		}
		running[t.Behavior]++
		if t.ConcurrencyKey != "" {
			keys[[2]string{t.Behavior, t.ConcurrencyKey}]++
		}
	}
	for _, name := range crowdBehaviors {
		v := c.m.Version(task.DefaultNamespace, name, "")
		if v == nil { // deleted: its limits are gone
			c.lowered[name] = true
			continue
		}
		over := false
		if p := v.Policy; p.MaxConcurrent > 0 && running[name] > p.MaxConcurrent {
			over = true
		}
		for k, n := range keys {
			if k[0] == name && v.Policy.MaxPerKey > 0 && n > v.Policy.MaxPerKey {
				over = true
			}
		}
		if over && !c.lowered[name] {
			c.t.Fatalf("L11: %s runs %d, keys %v", name, running[name], keys)
		}
		c.lowered[name] = over
	}
}

func (c *crowd) step() {
	tasks, _ := c.m.Tasks(task.Filter{Limit: 1 << 20})
	pick := func() *task.Task {
		if len(tasks) == 0 {
			return &task.Task{Namespace: task.DefaultNamespace, ID: "nobody"}
		}
		return tasks[c.rng.IntN(len(tasks))]
	}
	t := pick()
	token, over := uint64(0), false
	if t.Lease != nil {
		token, over = t.Lease.Token, t.Lease.External()
	}
	switch c.rng.IntN(17) {
	case 0, 1, 2, 3:
		if len(tasks) < 40 {
			c.tasks++
			c.apply(task.Submit{
				Namespace: task.DefaultNamespace, ID: fmt.Sprintf("task-%d", c.tasks), Behavior: crowdBehaviors[c.rng.IntN(4)],
				Priority: int8(c.rng.IntN(10)), Delay: task.Millis(c.rng.IntN(2) * c.rng.IntN(100)),
				ConcurrencyKey: []string{"", "a", "b"}[c.rng.IntN(3)],
			})
		}
	case 4:
		c.apply(task.Finish{Key: t.Key(), Token: token, Error: &task.Error{Code: "X", Retryable: true}, External: over})
	case 5, 6:
		c.apply(task.Finish{Key: t.Key(), Token: token, External: over})
	case 7:
		c.apply(task.Snooze{Key: t.Key(), Token: token, At: c.h.Now + 20, External: over})
	case 8:
		c.apply(task.GiveBack{Key: t.Key(), Token: token, External: over})
	case 9:
		c.apply(task.Cancel{Key: t.Key()})
	case 10:
		c.apply(task.Remove{Key: t.Key()})
	case 11:
		c.apply(task.RetryTask{Key: t.Key(), Version: []string{"", task.VersionActive}[c.rng.IntN(2)]})
	case 12:
		switch name := crowdBehaviors[c.rng.IntN(4)]; c.rng.IntN(8) {
		case 0:
			c.apply(task.DeleteBehavior{Namespace: task.DefaultNamespace, Name: name})
		case 1, 2, 3:
			c.define(name)
		default:
			c.apply(task.PauseBehavior{Namespace: task.DefaultNamespace, Name: name, Paused: c.rng.IntN(3) == 0})
		}
	case 13:
		c.must(task.DrainNode{Node: fmt.Sprint("n", c.rng.IntN(3)), Drain: c.rng.IntN(3) == 0})
	case 14:
		c.h.Term++
		c.restart()
	default:
		c.h.Now += task.Time(c.rng.IntN(50))
		c.h.LeaseNow += task.LeaseTime(c.rng.IntN(900))
		c.apply(task.Tick{})
	}
}

// restart goes on with a machine restored from a snapshot, which must plan the same.
func (c *crowd) restart() {
	restored, err := restore(c.m)
	if err != nil {
		c.t.Fatal(err)
	}
	free := c.free()
	if a, b := c.m.Plan(free, 100), restored.Plan(free, 100); !reflect.DeepEqual(a, b) {
		c.t.Fatalf("after a restart %+v is planned, not %+v", b, a)
	}
	c.m = restored
}

// TestLimitsHold drives random crowds: after every step the derived queues are recounted, no limit is exceeded, and
// what Plan plans is accepted, in order, and all there is.
func TestLimitsHold(t *testing.T) {
	planned := 0
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			c := newCrowd(t, seed)
			for range 500 {
				c.step()
				c.plan()
				c.limits()
			}
			planned += c.planned
		})
	}
	if planned < 1000 {
		t.Errorf("only %d assignments in all", planned)
	}
}

// TestNothingStarves keeps one slot busy with urgent tasks, more of them than it can run: one that is not urgent at all
// runs when nine minutes of waiting have made up for that, and those that were there before it have run (SPEC T4).
func TestNothingStarves(t *testing.T) {
	r := newRig(t, nil)
	r.unchecked = 100
	low := submit("low-one")
	low.Priority = 0
	r.must(low)
	for second := range 1200 {
		for i := range 2 {
			c := submit(fmt.Sprintf("high-%d-%d", second, i))
			c.Priority = 9
			r.must(c)
		}
		plan := r.m.Plan([]task.Free{{Session: 1, Slots: 1}}, 1)
		r.must(plan[0])
		if plan[0].Key.ID == "low-one" {
			if second < 540 {
				t.Errorf("after %d s: priorities count for nothing", second)
			}
			return
		}
		r.must(task.Finish{Key: plan[0].Key, Token: r.m.Task(plan[0].Key).Lease.Token})
		r.h.Now += 1000
	}
	t.Error("it starved")
}

// TestOrderOfTwoNeverChanges plans all of a crowd again and again while time passes (SPEC T4).
func TestOrderOfTwoNeverChanges(t *testing.T) {
	r := newRig(t, nil)
	r.must(task.OpenSession{Worker: "many", Slots: 1000, TTL: 1 << 40, Proof: []byte("p")})
	rng := rand.New(rand.NewPCG(1, 2))
	place := map[string]int{}
	for i := range 60 {
		c := submit(fmt.Sprintf("task-%d", i))
		c.Priority = int8(rng.IntN(10))
		r.must(c)
		r.h.Now += task.Time(rng.IntN(100_000))
		last := -1
		var order []string
		for _, a := range r.m.Plan([]task.Free{{Session: r.m.Sessions()[len(r.m.Sessions())-1].ID, Slots: 1000}}, 1000) {
			order = append(order, a.Key.ID)
			if at, ok := place[a.Key.ID]; ok {
				if at < last {
					t.Fatalf("%s has been overtaken", a.Key.ID)
				}
				last = at
			}
		}
		if len(order) != i+1 {
			t.Fatalf("%d planned of %d", len(order), i+1)
		}
		for n, id := range order {
			place[id] = n
		}
	}
}
