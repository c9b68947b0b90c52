package sim

import (
	"fmt"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// diffResult compares answers. Where the SPEC leaves something open, they may differ: in the order of reasons and of IDs, and
// in the payloads that a transaction's lean records carry.
func diffResult(got, want task.Result) string {
	if got.Code == task.QuotaExceeded && got.Field != want.Field {
		return fmt.Sprintf(": over %s, want %s", got.Field, want.Field)
	}
	if len(got.Tasks) == len(want.Tasks) {
		for i := range got.Tasks {
			if d := diffLean(got.Tasks[i], want.Tasks[i]); d != "" {
				return fmt.Sprintf(".Tasks[%d]%s", i, d)
			}
		}
		got.Tasks, want.Tasks = nil, nil
	}
	if d := diffReasons(got.Reasons, want.Reasons); d != "" {
		return d
	}
	got.Reasons, want.Reasons = nil, nil
	got.Refusal, want.Refusal = sorted(got.Refusal), sorted(want.Refusal)
	for i := 1; i < len(got.Records); i++ {
		if got.Records[i-1].ID >= got.Records[i].ID {
			return ".Records: the IDs do not rise"
		}
	}
	return diff("", got, want)
}

// diffLean compares a record of a transaction's answer, whose payloads may be left out.
func diffLean(got, want *task.Task) string {
	if got == nil || want == nil {
		return diff("", got, want)
	}
	w := *want
	for _, p := range [][2]*task.Payload{
		{&w.Params, &got.Params}, {&w.Result, &got.Result}, {&w.Progress, &got.Progress}, {&w.Checkpoint, &got.Checkpoint},
	} {
		if p[1].Encoding == task.None {
			*p[0] = task.Payload{}
		}
	}
	if w.Error != nil && got.Error != nil && got.Error.Details.Encoding == task.None {
		e := *w.Error
		e.Details, w.Error = task.Payload{}, &e
	}
	return diff("", got, &w)
}

// diffReasons checks that every given reason is true, and that every task that has a reason is named.
func diffReasons(got, want []task.Reason) string {
	named := map[string]bool{}
	for _, g := range got {
		if named[g.ID] = true; !slices.Contains(want, g) {
			return fmt.Sprintf(".Reasons: %v, which is not so: %v", g, want)
		}
	}
	for _, w := range want {
		if !named[w.ID] {
			return fmt.Sprintf(".Reasons: none for %v", w)
		}
	}
	return ""
}

func sorted(r *task.StoreRefusal) *task.StoreRefusal {
	if r == nil {
		return nil
	}
	order := func(ids []uint64) []uint64 { return slices.Compact(slices.Sorted(slices.Values(ids))) }
	return &task.StoreRefusal{Changes: order(r.Changes), Deletes: order(r.Deletes), Depends: order(r.Depends), Owned: order(r.Owned)}
}
