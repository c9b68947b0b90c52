package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/audit"
)

// compareAudit compares the records of changes and refusals, how they are read, and what is told of them (SPEC A8).
func (r *Run) compareAudit(events []task.Event) error {
	view := r.replicas[0].m.Audit()
	want := slices.Concat(r.model.Changes, r.model.Refused)
	slices.SortFunc(want, func(a, b audit.Record) int { return cmp.Compare(a.Number, b.Number) })
	if got := slices.Collect(view.After(0)); !slices.Equal(got, want) || view.Last() != r.model.Audited || view.Lost() != r.model.Lost {
		return fmt.Errorf("audit to %d, lost %d: %+v, want to %d, lost %d: %+v", view.Last(), view.Lost(), got, r.model.Audited, r.model.Lost, want)
	}
	if len(want) > 0 {
		middle := len(want) / 2
		if got := slices.Collect(view.After(want[middle].Number)); !slices.Equal(got, want[middle+1:]) {
			return fmt.Errorf("audit after %d: %+v", want[middle].Number, got)
		}
	}
	var told []uint64
	for _, e := range events {
		if e.Kind == task.AuditNoted {
			told = append(told, e.Audit.Number)
		}
	}
	if !slices.Equal(told, r.model.Noted) {
		return fmt.Errorf("told of records %v of the audit, want %v", told, r.model.Noted)
	}
	return nil
}
