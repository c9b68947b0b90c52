package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// allOperations returns every operation that is not being removed.
func allOperations(m *task.Machine) []*task.Operation {
	var all []*task.Operation
	f := task.OperationFilter{Limit: 2}
	for {
		os, next := m.Operations(f)
		all = append(all, os...)
		if next == 0 {
			return all
		}
		f.After = next
	}
}

// compareOperations compares the operations, and what is read about their tasks.
func (r *Run) compareOperations() error {
	m := r.replicas[0].m
	real := allOperations(m)
	for _, o := range real {
		k := o.Key()
		r.numbers.adoptOperation(k, o)
		if r.numbers.refused != "" {
			return fmt.Errorf("operation %v: %s", k, r.numbers.refused)
		}
		want := r.model.Operations[k]
		if want == nil || want.Removing {
			return fmt.Errorf("operation %v: there, want it gone: %+v", k, o)
		}
		if d := diff("", o, want); d != "" {
			return fmt.Errorf("operation %v: %s", k, d)
		}
		if d := diff("", m.Operation(k), o); d != "" {
			return fmt.Errorf("operation %v listed and read: %s", k, d)
		}
		if counts := r.model.Counts(want); o.Counts != counts {
			return fmt.Errorf("operation %v has tasks %+v, want %+v", k, o.Counts, counts)
		}
		if err := r.compareParts(want); err != nil {
			return fmt.Errorf("operation %v: %w", k, err)
		}
	}
	live := 0
	for k, o := range r.model.Operations {
		if !o.Removing {
			live++
		}
		if (m.Operation(k) != nil) == o.Removing {
			return fmt.Errorf("operation %v: to be seen: %v", k, m.Operation(k) != nil)
		}
	}
	if len(real) != live || !slices.IsSortedFunc(real, func(a, b *task.Operation) int { return cmp.Compare(a.CreatedRev, b.CreatedRev) }) {
		return fmt.Errorf("%d operations, want %d in the order of their creation", len(real), live)
	}
	return nil
}

// compareParts reads the operation's partitions by pages.
func (r *Run) compareParts(o *task.Operation) error {
	for _, status := range []task.Status{0, task.Failure} {
		var got []*task.Task
		for from := int64(0); from >= 0; {
			var ts []*task.Task
			ts, from = r.replicas[0].m.OperationTasks(o.Key(), from, 2, status)
			got = append(got, ts...)
		}
		for i := range o.Made {
			t := r.model.Tasks[task.Key{Namespace: o.Namespace, ID: fmt.Sprint(o.ID, ":", i)}]
			if t == nil || status != 0 && t.Status != status {
				continue
			}
			if len(got) == 0 || got[0].Key() != t.Key() {
				return fmt.Errorf("partition %d is not listed in its place", i)
			}
			got = got[1:]
		}
		if len(got) > 0 {
			return errors.New("too many partitions are listed")
		}
	}
	return nil
}

// compareOperationEvents checks that every change of an operation was told, and that the last event tells it as it is now.
func (r *Run) compareOperationEvents(events []task.Event) error {
	last := map[task.Key]task.Event{}
	for _, e := range events {
		if e.Kind == task.OperationChanged || e.Kind == task.OperationRemoved {
			last[e.Operation.Key()] = e
		}
	}
	for k, o := range r.model.Operations {
		if before, ok := r.history.operations[k]; ok && before == o.Rev || o.Removing {
			continue
		}
		if e, ok := last[k]; !ok || e.Kind != task.OperationChanged {
			return fmt.Errorf("no event for the change of the operation %v", k)
		} else if d := diff("", e.Operation, o); d != "" {
			return fmt.Errorf("last event of the operation %v is not its last state: %s", k, d)
		}
	}
	for k := range r.history.operations {
		if r.model.Operations[k] == nil && last[k].Kind != task.OperationRemoved {
			return fmt.Errorf("no event for the removal of the operation %v", k)
		}
	}
	return nil
}
