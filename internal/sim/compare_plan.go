package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/internal/sim/naive"
	"github.com/taskrt/taskrt/task"
)

// free makes up what the leader knows of its workers. Kind 0: all are connected and ready. Kind 1: only one is. Kind 2: the modules
// are not everywhere. With kinds 1 and 2, programs wait for the tasks of external behaviors, too.
func (r *Run) free(kind int) []task.Free {
	var free []task.Free
	for _, id := range slices.Sorted(maps.Keys(r.model.Sessions)) {
		slots := int(r.model.Sessions[id].Slots) - len(r.model.Leases(id))
		if slots <= 0 || (kind == 1 && len(free) == 1) {
			continue
		}
		f := task.Free{Session: id, Slots: slots}
		if kind == 2 {
			f.Ready = func(module, _ string) bool { return (uint64(len(module))+uint64(module[len(module)-1])+id)%2 == 0 }
		}
		free = append(free, f)
	}
	if kind == 0 {
		return free
	}
	for i := range 5 {
		a := &task.Acceptor{Worker: fmt.Sprintf("program-%d", i%2), Request: fmt.Sprintf("request-%d", i)}
		if i >= 3 {
			a.MaxNotBefore, a.Lease = r.model.Now+task.Time(1000*i), task.Millis(1000*i)
		}
		free = append(free, task.Free{
			External: a, Slots: 1 + (i+kind)%3, Namespace: task.DefaultNamespace, Behavior: externals[i*kind%2], Order: uint64(10 - i),
		})
	}
	return free
}

// due returns the tasks that could run now if a worker had room for them, in the order of T4.
func (r *Run) due() []*task.Task {
	return slices.DeleteFunc(r.waiting(0), func(t *task.Task) bool {
		blocked, perhaps := r.model.KeyBlocked(t)
		return blocked && !perhaps
	})
}

// waiting returns the due tasks, and the tasks that may run early, of behaviors that are not paused or deleted.
func (r *Run) waiting(early task.Time) []*task.Task {
	due := r.tasks(func(t *task.Task) bool {
		b := r.model.Behavior(t)
		return t.Bound == 0 && r.model.Due(t, early) && r.model.Active(t.Namespace) && !b.Paused && !b.Deleted && r.model.Version(t, t.Version) != nil
	})
	slices.SortFunc(due, func(a, b *task.Task) int {
		if naive.Before(a, b) {
			return -1
		}
		return 1
	})
	return due
}

// comparePlan checks that Plan gives away due tasks in the order of T4, and passes over only tasks that nobody can run.
func (r *Run) comparePlan() error {
	for kind := range 3 {
		for _, limit := range []int{2, 1000} {
			free := r.free(kind)
			p := planCheck{r: r, free: free, left: make([]int, len(free)), room: map[task.Key]int64{}, limit: limit, planned: map[task.Key]bool{}, keys: map[slot]int64{}}
			for i, f := range free {
				p.left[i] = f.Slots
			}
			if err := p.check(r.replicas[0].m.Plan(free, limit)); err != nil {
				return fmt.Errorf("plan of at most %d for %+v: %w", limit, free, err)
			}
		}
	}
	return nil
}

// planCheck follows one plan.
type planCheck struct {
	r     *Run
	free  []task.Free
	left  []int              // slots of each of free
	room  map[task.Key]int64 // of behaviors with max_concurrent
	limit int

	planned map[task.Key]bool
	keys    map[slot]int64 // how many of a key are planned
}

// slot names a concurrency key of a behavior.
type slot struct{ namespace, behavior, key string }

func slotOf(t *task.Task) slot { return slot{t.Namespace, t.Behavior, t.ConcurrencyKey} }

// check checks a plan: first come the due tasks in the order of T4, then the early tasks by their time.
func (p *planCheck) check(plan []task.Assign) error {
	if len(plan) > p.limit {
		return fmt.Errorf("%d assignments", len(plan))
	}
	full := len(plan) == p.limit
	plan, err := p.bound(plan, full)
	if err != nil {
		return err
	}
	due := map[string][]*task.Task{}
	for _, t := range p.r.due() {
		due[t.Namespace] = append(due[t.Namespace], t)
	}
	for len(plan) > 0 {
		t := p.r.model.Tasks[plan[0].Key]
		if t == nil || t.NotBefore > p.r.model.Now {
			break
		}
		if err := p.turn(t, due); err != nil {
			return err
		}
		if err := p.take(plan[0], t); err != nil {
			return err
		}
		plan = plan[1:]
	}
	for _, left := range due {
		for _, t := range left {
			if err := p.passedOver(t); err != nil && (!full || len(plan) > 0) {
				return err
			}
		}
	}
	last := map[string]task.Time{} // by behavior: nobody accepts tasks of two
	for _, a := range plan {
		t := p.r.model.Tasks[a.Key]
		if a.External == nil || t == nil || t.NotBefore <= p.r.model.Now {
			return fmt.Errorf("%v is not due, not in order, or too much", a.Key)
		}
		if t.NotBefore < last[t.Behavior] {
			return fmt.Errorf("%v early, after one of %d", a.Key, last[t.Behavior])
		}
		last[t.Behavior] = t.NotBefore
		if blocked, perhaps := p.r.model.KeyBlocked(t); blocked && !perhaps {
			return fmt.Errorf("%v early, which its key blocks", a.Key)
		}
		if err := p.take(a, t); err != nil {
			return err
		}
	}
	return p.earlyPassedOver(full)
}

// turn checks that it is t's turn. t is the first task of its namespace that somebody could run. No namespace that holds less for its
// weight has a waiting task that could run (SPEC T4, N2). Tasks before t are passed over.
func (p *planCheck) turn(t *task.Task, due map[string][]*task.Task) error {
	for i, o := range due[t.Namespace] {
		if o == t {
			due[t.Namespace] = due[t.Namespace][i+1:]
			break
		}
		if err := p.passedOver(o); err != nil {
			return fmt.Errorf("%v: %w", t.Key(), err)
		}
	}
	for ns, waiting := range due {
		if ns == t.Namespace || p.held(ns)*p.weight(t.Namespace) >= p.held(t.Namespace)*p.weight(ns) {
			continue
		}
		for _, o := range waiting {
			if err := p.passedOver(o); err != nil {
				return fmt.Errorf("%v before the turn of %s: %w", t.Key(), ns, err)
			}
		}
	}
	return nil
}

// held returns how many slots of sessions a namespace holds, with the planned ones.
func (p *planCheck) held(ns string) int64 {
	n := int64(0)
	for _, t := range p.r.tasks(func(t *task.Task) bool { return t.Namespace == ns }) {
		if t.Lease != nil && t.Lease.Session != 0 || p.planned[t.Key()] && p.r.model.Version(t, t.Version).Module != "" {
			n++
		}
	}
	return n
}

func (p *planCheck) weight(ns string) int64 { return cmp.Or(p.r.model.Spaces[ns].Weight, 10) }

// bound checks that cleanups that only one session may run come before everything else (SPEC O3). It returns the rest of the plan.
func (p *planCheck) bound(plan []task.Assign, full bool) ([]task.Assign, error) {
	for i, f := range p.free {
		mine := p.r.tasks(func(t *task.Task) bool {
			b := p.r.model.Behavior(t)
			return t.Bound != 0 && t.Bound == f.Session && p.r.model.Due(t, 0) && p.r.model.Active(t.Namespace) && !b.Paused && !b.Deleted
		})
		slices.SortFunc(mine, func(a, b *task.Task) int {
			if naive.Before(a, b) {
				return -1
			}
			return 1
		})
		for _, t := range mine {
			if len(plan) > 0 && plan[0].Key == t.Key() {
				if err := p.take(plan[0], t); err != nil {
					return nil, err
				}
				plan = plan[1:]
			} else if p.can(i, t) && p.roomFor(t) > 0 && (!full || len(plan) > 0) {
				return nil, fmt.Errorf("passes over the cleanup %v, which session %d could run", t.Key(), f.Session)
			}
		}
	}
	return plan, nil
}

// can reports whether the i-th of free could run t.
func (p *planCheck) can(i int, t *task.Task) bool {
	f, v := p.free[i], p.r.model.Version(t, t.Version)
	if p.left[i] <= 0 {
		return false
	}
	if a := f.External; a != nil {
		return v.Module == "" && f.Namespace == t.Namespace && f.Behavior == t.Behavior && t.NotBefore <= max(p.r.model.Now, a.MaxNotBefore)
	}
	if t.Bound != 0 && t.Bound != f.Session || !p.r.model.Fits(t, p.r.model.Sessions[f.Session]) {
		return false
	}
	drained := p.r.model.Drained[p.r.model.Sessions[f.Session].Node]
	return v.Module != "" && !drained && t.NotBefore <= p.r.model.Now && (f.Ready == nil || f.Ready(v.Module, v.Version))
}

// roomFor returns how many more tasks of t's behavior may run.
func (p *planCheck) roomFor(t *task.Task) int64 {
	k := task.Key{Namespace: t.Namespace, ID: t.Behavior}
	if limit := p.r.model.Spaces[t.Namespace].MaxRunning; limit > 0 {
		n := int64(len(p.r.tasks(func(o *task.Task) bool {
			return o.Namespace == t.Namespace && (o.Status == task.Running || p.planned[o.Key()])
		})))
		if n >= limit {
			return 0
		}
	}
	if n, ok := p.room[k]; ok {
		return n
	}
	limit := p.r.model.Version(t, "").Policy.MaxConcurrent
	if limit == 0 {
		limit = 1 << 40
	}
	running, _ := p.r.model.Busy(t)
	p.room[k] = limit - running
	return limit - running
}

func (p *planCheck) take(a task.Assign, t *task.Task) error {
	i := slices.IndexFunc(p.free, func(f task.Free) bool { return f.Session == a.Session && f.External == a.External })
	if a.Rev != t.Rev {
		return fmt.Errorf("%v with rev %d, want %d", a.Key, a.Rev, t.Rev)
	}
	if i < 0 || !p.can(i, t) {
		return fmt.Errorf("%v to session %d, acceptor %+v, which cannot run it", a.Key, a.Session, a.External)
	}
	if p.roomFor(t) <= 0 {
		return fmt.Errorf("%v, of whose behavior no more may run", a.Key)
	}
	if next := p.next(t); a.External != nil && next != i {
		return fmt.Errorf("%v to acceptor %+v, and it is the turn of %+v", a.Key, a.External, p.free[next].External)
	}
	_, running := p.r.model.Busy(t)
	if limit := p.r.model.Version(t, "").Policy.MaxPerKey; limit > 0 && t.ConcurrencyKey != "" && running+p.keys[slotOf(t)] >= limit {
		return fmt.Errorf("%v, of whose key no more may run", a.Key)
	}
	p.keys[slotOf(t)]++
	p.left[i]--
	p.planned[a.Key] = true
	p.room[task.Key{Namespace: t.Namespace, ID: t.Behavior}]--
	return nil
}

// next returns the acceptor whose turn it is: the acceptor that got least. If several got equally little, it is the acceptor that waits longest.
func (p *planCheck) next(t *task.Task) int {
	best := -1
	got := func(i int) int { return p.free[i].Slots - p.left[i] }
	for i, f := range p.free {
		if f.External == nil || !p.can(i, t) {
			continue
		}
		if best < 0 || cmp.Or(cmp.Compare(got(i), got(best)), cmp.Compare(f.Order, p.free[best].Order)) < 0 {
			best = i
		}
	}
	return best
}

// passedOver returns an error if somebody could have run t.
func (p *planCheck) passedOver(t *task.Task) error {
	if _, perhaps := p.r.model.KeyBlocked(t); perhaps || p.roomFor(t) <= 0 {
		return nil
	}
	for i, f := range p.free {
		if p.can(i, t) {
			return fmt.Errorf("passes over %v, which session %d, acceptor %+v could run", t.Key(), f.Session, f.External)
		}
	}
	return nil
}

// earlyPassedOver checks that no acceptor that may take tasks early was left without a free one. full says that the plan is full.
func (p *planCheck) earlyPassedOver(full bool) error {
	if full {
		return nil
	}
	for _, t := range p.r.waiting(p.r.model.Now + 10_000) {
		blocked, perhaps := p.r.model.KeyBlocked(t)
		if t.NotBefore <= p.r.model.Now || blocked || perhaps || t.ConcurrencyKey != "" && p.keys[slotOf(t)] > 0 {
			continue
		}
		if err := p.passedOver(t); err != nil && !p.planned[t.Key()] {
			return err
		}
	}
	return nil
}
