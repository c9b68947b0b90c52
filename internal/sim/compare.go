package sim

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// compare compares the machine (replica 0) with the model.
func (r *Run) compare(ps []task.Proposal, got, want []task.Result, events []task.Event) error {
	for i := range ps {
		if d := diffResult(got[i], want[i]); d != "" {
			return fmt.Errorf("result of %s: %s", describe(ps[i]), d)
		}
		if r.numbers.refused != "" {
			return fmt.Errorf("result of %s: %s", describe(ps[i]), r.numbers.refused)
		}
	}
	checks := []func() error{
		r.compareRecords, r.compareTasks, r.compareOperations, r.compareUpkeep, r.compareSpaces, r.compareBehaviors, r.compareRest, r.compareSessions,
		r.compareExternal, r.comparePlan,
		r.compareNextTick, r.compareSignIn,
		func() error { return r.compareEvents(events) }, func() error { return r.compareOperationEvents(events) },
		func() error { return r.compareBlobEvents(events) }, func() error { return r.compareAccess(events) },
		func() error { return r.compareAudit(events) }, func() error { return r.compareJobs(events) },
	}
	if r.opts.Light { // the model needs the numbers that these adopt
		checks = []func() error{r.compareRecords, r.compareTasks, r.compareOperations, r.compareSpaces, r.compareBehaviors, r.compareSignIn, func() error { return r.compareJobs(events) }}
	}
	for _, check := range checks {
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
		case n.NotBefore != 0 && n.Status == task.Success:
			want.Repeating++
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
	want.Sessions, want.Modules, want.Records = int64(len(r.model.Sessions)), int64(len(r.model.Modules)), int64(len(r.model.Records))
	for _, b := range r.model.Behaviors {
		if !b.Deleted {
			want.Behaviors++
		}
	}
	if d := diff("", m.Counts(), want); d != "" {
		return errors.New("counts: " + d)
	}
	return nil
}

// compareRest compares clocks, modules and drained nodes.
func (r *Run) compareRest() error {
	m := r.replicas[0].m
	if m.Index() != r.index || m.Now() != r.model.Now || m.LeaseNow() != r.model.LeaseNow {
		return fmt.Errorf("index %d, clocks %d and %d, want %d, %d and %d", m.Index(), m.Now(), m.LeaseNow(), r.index, r.model.Now, r.model.LeaseNow)
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
	if got, want := m.DrainedNodes(), slices.Sorted(maps.Keys(r.model.Drained)); !slices.Equal(got, want) {
		return fmt.Errorf("drained: %v, want %v", got, want)
	}
	members := m.Roster().Members()
	for _, x := range members {
		x.Index = 0
		if want := r.model.Members[x.Node]; !reflect.DeepEqual(x, want) {
			return fmt.Errorf("member %s: %+v, want %+v", x.Node, x, want)
		}
	}
	if len(members) != len(r.model.Members) {
		return fmt.Errorf("%d members, want %d", len(members), len(r.model.Members))
	}
	if got := task.Holds(m); !slices.EqualFunc(got, slices.Sorted(maps.Keys(r.model.Holds)), func(x task.Hold, id string) bool { return x == r.model.Holds[id] }) {
		return fmt.Errorf("holds: %+v, want %+v", got, r.model.Holds)
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
