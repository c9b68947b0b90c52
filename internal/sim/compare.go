package sim

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// compare holds the machine (replica 0) against the model.
func (r *Run) compare(ps []task.Proposal, got, want []task.Result, events []task.Event) error {
	for i := range ps {
		if d := diff("", got[i], want[i]); d != "" {
			return fmt.Errorf("result of %s: %s", describe(ps[i]), d)
		}
		if r.numbers.refused != "" {
			return fmt.Errorf("result of %s: %s", describe(ps[i]), r.numbers.refused)
		}
	}
	for _, check := range []func() error{
		r.compareTasks, r.compareRest, r.compareSessions, r.comparePlan, r.compareNextTick,
		func() error { return r.compareEvents(events) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func describe(p task.Proposal) string {
	j, err := json.Marshal(p.Command)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%T%s", p.Command, j)
}

func (r *Run) compareTasks() error {
	m := r.replicas[0].m
	real := allTasks(m)
	var want task.Counts
	for _, t := range real {
		k := task.Key{Namespace: t.Namespace, ID: t.ID}
		r.numbers.adopt(k, t)
		if r.numbers.refused != "" {
			return fmt.Errorf("record %v: %s", k, r.numbers.refused)
		}
		n := r.model.Tasks[k]
		if n == nil {
			return fmt.Errorf("record %v: there, want it gone: %+v", k, t)
		}
		if d := diff("", t, n); d != "" {
			return fmt.Errorf("record %v: %s", k, d)
		}
		if d := diff("", m.Task(k), t); d != "" {
			return fmt.Errorf("record %v listed and read: %s", k, d)
		}
		switch {
		case n.Status == task.Created:
			want.Created++
		case n.Status == task.Running:
			want.Running++
		case n.NotBefore != 0:
			want.Retrying++
		case n.Status == task.Success:
			want.Success++
		default:
			want.Failure++
		}
	}
	for k := range r.model.Tasks {
		if m.Task(k) == nil {
			return fmt.Errorf("record %v: gone, want %+v", k, r.model.Tasks[k])
		}
	}
	if len(real) != len(r.model.Tasks) {
		return fmt.Errorf("%d records listed, want %d", len(real), len(r.model.Tasks))
	}
	if !slices.IsSortedFunc(real, func(a, b *task.Task) int { return cmp.Compare(a.CreatedRev, b.CreatedRev) }) {
		return errors.New("records are not listed in the order of their creation")
	}
	want.Sessions, want.Behaviors, want.Modules = int64(len(r.model.Sessions)), int64(len(r.model.Behaviors)), int64(len(r.model.Modules))
	if d := diff("", m.Counts(), want); d != "" {
		return errors.New("counts: " + d)
	}
	return nil
}

// compareRest is clocks, behaviors and modules.
func (r *Run) compareRest() error {
	m := r.replicas[0].m
	if m.Index() != r.index || m.Now() != r.model.Now || m.LeaseNow() != r.model.LeaseNow {
		return fmt.Errorf("index %d, clocks %d and %d, want %d, %d and %d", m.Index(), m.Now(), m.LeaseNow(), r.index, r.model.Now, r.model.LeaseNow)
	}
	for _, ns := range []string{task.DefaultNamespace, task.SystemNamespace} {
		n := 0
		for k, b := range r.model.Behaviors {
			if k.Namespace == ns {
				n++
				real := m.Behavior(ns, k.ID)
				if real != nil && b.Rev == 0 {
					b.Rev = real.Rev
				}
				if d := diff("", real, b); d != "" {
					return fmt.Errorf("behavior %v: %s", k, d)
				}
			}
		}
		if got := m.Behaviors(ns); len(got) != n || !slices.IsSortedFunc(got, func(a, b *task.Behavior) int { return cmp.Compare(a.Name, b.Name) }) {
			return fmt.Errorf("behaviors of %s: %d, want %d by name", ns, len(got), n)
		}
	}
	real := m.Modules()
	for i, digest := range slices.Sorted(maps.Keys(r.model.Modules)) {
		if i >= len(real) {
			return fmt.Errorf("module %s: missing", digest)
		}
		if d := diff("", real[i], r.model.Modules[digest]); d != "" {
			return fmt.Errorf("module %s: %s", digest, d)
		}
	}
	if len(real) != len(r.model.Modules) {
		return fmt.Errorf("%d modules, want %d", len(real), len(r.model.Modules))
	}
	return nil
}

func (r *Run) compareSessions() error {
	m := r.replicas[0].m
	real := m.Sessions()
	if len(real) != len(r.model.Sessions) {
		return fmt.Errorf("%d sessions, want %d", len(real), len(r.model.Sessions))
	}
	for _, s := range real {
		if d := diff("", *s, r.model.Sessions[s.ID]); d != "" {
			return fmt.Errorf("session %d: %s", s.ID, d)
		}
		want := r.model.Leases(s.ID)
		if s.Running != int64(len(want)) {
			return fmt.Errorf("session %d runs %d, want %d", s.ID, s.Running, len(want))
		}
		if d := diff("", m.Leases(s.ID), want); d != "" {
			return fmt.Errorf("leases of session %d: %s", s.ID, d)
		}
		if d := diff("", m.Session(s.ID), s); d != "" {
			return fmt.Errorf("session %d listed and read: %s", s.ID, d)
		}
	}
	return nil
}

// running returns the tasks that run, by ID.
func (r *Run) running() []*task.Task {
	var run []*task.Task
	for _, t := range r.model.Tasks {
		if t.Lease != nil {
			run = append(run, t)
		}
	}
	slices.SortFunc(run, func(a, b *task.Task) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.ID, b.ID))
	})
	return run
}

// free makes up what the leader knows of its workers; kind 0: all are connected and ready, 1: only one, 2: the modules
// are not everywhere.
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
	return free
}

// due returns the tasks that could run now, in the order of T4.
func (r *Run) due() []*task.Task {
	var due []*task.Task
	for _, t := range r.model.Tasks {
		if r.model.Due(t) && r.model.Version(t, t.Version) != nil {
			due = append(due, t)
		}
	}
	order := func(t *task.Task) int64 { return int64(t.NotBefore) - int64(t.Priority)*60_000 }
	slices.SortFunc(due, func(a, b *task.Task) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a.CreatedRev, b.CreatedRev))
	})
	return due
}

// comparePlan checks that Plan gives away due tasks in the order of T4, passing over only those that nobody can run.
func (r *Run) comparePlan() error {
	for kind := range 3 {
		for _, limit := range []int{2, 1000} {
			free := r.free(kind)
			plan := r.replicas[0].m.Plan(free, limit)
			if err := r.checkPlan(free, plan, limit); err != nil {
				return fmt.Errorf("plan of at most %d for %+v: %w", limit, free, err)
			}
		}
	}
	return nil
}

func (r *Run) checkPlan(free []task.Free, plan []task.Assign, limit int) error {
	left := map[uint64]int{}
	ready := map[uint64]func(string, string) bool{}
	for _, f := range free {
		left[f.Session], ready[f.Session] = f.Slots, f.Ready
	}
	can := func(id uint64, t *task.Task) bool {
		v := r.model.Version(t, t.Version)
		return left[id] > 0 && (ready[id] == nil || ready[id](v.Module, v.Version))
	}
	given := len(plan)
	for _, t := range r.due() {
		if given-len(plan) == limit {
			break
		}
		k := task.Key{Namespace: t.Namespace, ID: t.ID}
		if len(plan) > 0 && plan[0].Key == k {
			a := plan[0]
			plan = plan[1:]
			if a.Rev != t.Rev {
				return fmt.Errorf("%v with rev %d, want %d", k, a.Rev, t.Rev)
			}
			if !can(a.Session, t) {
				return fmt.Errorf("%v to session %d, which cannot run it", k, a.Session)
			}
			left[a.Session]--
			continue
		}
		for _, f := range free {
			if can(f.Session, t) {
				return fmt.Errorf("passes over %v, which session %d could run", k, f.Session)
			}
		}
	}
	if len(plan) > 0 {
		return fmt.Errorf("%v is not due, not in order, or too much", plan[0].Key)
	}
	return nil
}

// compareNextTick checks the two times at which a Tick would next do something.
func (r *Run) compareNextTick() error {
	wall, lease := r.replicas[0].m.NextTick()
	var wantWall task.Time
	var wantLease task.LeaseTime
	for _, t := range r.model.Tasks {
		deadline, sweep := r.model.Times(t)
		for _, at := range []task.Time{t.NotBefore, deadline, sweep} {
			if at == t.NotBefore && at != deadline && at <= r.model.Now {
				continue // due already: no Tick needed
			}
			if at != 0 && (wantWall == 0 || at < wantWall) {
				wantWall = at
			}
		}
	}
	for _, s := range r.model.Sessions {
		if wantLease == 0 || s.Expires < wantLease {
			wantLease = s.Expires
		}
	}
	if wall != wantWall || lease != wantLease {
		return fmt.Errorf("next tick at %d and %d, want %d and %d", wall, lease, wantWall, wantLease)
	}
	return nil
}

// compareEvents checks that what happened was told: to waiters by the last event of each record, to workers by the
// tokens that must halt or cancel.
func (r *Run) compareEvents(events []task.Event) error {
	m := r.replicas[0].m
	last := map[task.Key]task.Event{}
	halted := map[uint64]bool{}
	cancelling := map[uint64]bool{}
	opened, ended := map[uint64]bool{}, map[uint64]bool{}
	for _, e := range events {
		if e.Index != r.index {
			return fmt.Errorf("event of index %d, want %d", e.Index, r.index)
		}
		switch e.Kind {
		case task.TaskChanged, task.TaskAssigned, task.TaskRemoved:
			last[task.Key{Namespace: e.Task.Namespace, ID: e.Task.ID}] = e
		case task.TaskCancelling:
			cancelling[e.Lease.Token] = true
		case task.LeaseEnded:
			halted[e.Lease.Token] = true
		case task.SessionOpened:
			opened[e.Session.ID] = true
		case task.SessionEnded:
			ended[e.Session.ID] = true
		}
		if e.Kind == task.TaskRemoved && e.Lease != nil {
			halted[e.Lease.Token] = true
		}
	}
	before := r.history.tasks
	for k, t := range r.model.Tasks {
		if old := before[k]; old == nil || old.Rev != t.Rev {
			e, ok := last[k]
			if !ok {
				return fmt.Errorf("no event for the change of %v", k)
			}
			if d := diff("", e.Task, m.Task(k)); d != "" {
				return fmt.Errorf("last event of %v is not its last state: %s", k, d)
			}
		}
		if old := before[k]; t.CancelCode != "" && (old == nil || old.CancelCode == "") && !cancelling[t.Lease.Token] {
			return fmt.Errorf("nobody tells the worker of %v to cancel", k)
		}
	}
	for k := range before {
		if r.model.Tasks[k] == nil && last[k].Kind != task.TaskRemoved {
			return fmt.Errorf("no event for the removal of %v", k)
		}
	}
	if !maps.Equal(halted, r.model.Halted) {
		return fmt.Errorf("tokens told to halt: %v, want %v", halted, r.model.Halted)
	}
	for id := range r.model.Sessions {
		if !r.history.sessions[id] && !opened[id] {
			return fmt.Errorf("no event for the new session %d", id)
		}
	}
	for id := range r.history.sessions {
		if _, live := r.model.Sessions[id]; !live && !ended[id] {
			return fmt.Errorf("no event for the end of session %d", id)
		}
	}
	return nil
}
