package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// compareBehaviors compares the behaviors that are not deleted, and their counts of tasks.
func (r *Run) compareBehaviors() error {
	m := r.replicas[0].m
	n := map[string]int{}
	for k, b := range r.model.Behaviors {
		real := m.Behavior(k.Namespace, k.ID)
		if b.Deleted {
			if real != nil {
				return fmt.Errorf("behavior %v: deleted, and there", k)
			}
			continue
		}
		n[k.Namespace]++
		if real != nil && b.Rev == 0 {
			b.Rev = r.numbers.rev(real.Rev, 0)
		}
		if d := diff("", real, b); d != "" {
			return fmt.Errorf("behavior %v: %s", k, d)
		}
		if r.numbers.refused != "" {
			return fmt.Errorf("behavior %v: %s", k, r.numbers.refused)
		}
		if got, want := m.BehaviorStats(k.Namespace, k.ID), r.stats(k); got != want {
			return fmt.Errorf("stats of %v: %+v, want %+v", k, got, want)
		}
	}
	for _, ns := range namespaces {
		if got := m.Behaviors(ns); len(got) != n[ns] || !slices.IsSortedFunc(got, func(a, b *task.Behavior) int { return cmp.Compare(a.Name, b.Name) }) {
			return fmt.Errorf("behaviors of %s: %d, want %d by name", ns, len(got), n[ns])
		}
	}
	return nil
}

// stats counts a behavior's tasks that are not final; each is in one of the counts.
func (r *Run) stats(k task.Key) (s task.BehaviorStats) {
	for _, t := range r.model.Tasks {
		switch {
		case t.Namespace != k.Namespace || t.Behavior != k.ID:
		case t.Status == task.Running:
			s.Running++
		case t.NotBefore == 0:
		case t.NotBefore <= r.model.Now:
			s.Due++
			if since := max(t.NotBefore, t.DueSince); s.Oldest == 0 || since < s.Oldest {
				s.Oldest = since
			}
		case t.Status == task.Failure:
			s.Retrying++
		default:
			s.Delayed++
		}
	}
	return s
}

// compareExternal compares what is read about external leases.
func (r *Run) compareExternal() error {
	m := r.replicas[0].m
	workers := map[string]int64{}
	for _, t := range r.running() {
		if t.Lease.Session != 0 {
			continue
		}
		workers[t.Lease.Worker]++
		if got, want := m.LeaseEnd(m.Task(t.Key())), r.model.LeaseEnd(t); got != want {
			return fmt.Errorf("the lease of %v ends at %d, want %d", t.Key(), got, want)
		}
		if t.Lease.Request == "" {
			continue
		}
		want := map[uint64]bool{}
		for _, o := range r.running() {
			l := o.Lease
			if l.Session == 0 && o.Namespace == t.Namespace && o.Behavior == t.Behavior && l.Worker == t.Lease.Worker && l.Request == t.Lease.Request {
				want[l.Token] = true
			}
		}
		got := map[uint64]bool{}
		for _, o := range m.LeasesOf(t.Namespace, t.Behavior, t.Lease.Worker, t.Lease.Request) {
			got[o.Lease.Token] = true
		}
		if !maps.Equal(got, want) {
			return fmt.Errorf("leases of request %s: %v, want %v", t.Lease.Request, got, want)
		}
	}
	if got := m.ExternalWorkers(); !maps.Equal(got, workers) {
		return fmt.Errorf("external workers: %v, want %v", got, workers)
	}
	return nil
}

// tasks returns the tasks that pass, by name.
func (r *Run) tasks(pass func(*task.Task) bool) []*task.Task {
	var ts []*task.Task
	for _, t := range r.model.Tasks {
		if pass(t) {
			ts = append(ts, t)
		}
	}
	slices.SortFunc(ts, func(a, b *task.Task) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.ID, b.ID))
	})
	return ts
}

func (r *Run) running() []*task.Task {
	return r.tasks(func(t *task.Task) bool { return t.Lease != nil })
}

func (r *Run) failed() []*task.Task {
	return r.tasks(func(t *task.Task) bool { return t.Status == task.Failure })
}
