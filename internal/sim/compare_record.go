package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// inOrder sorts records by ID.
func inOrder(rs []*task.StoreRecord) []*task.StoreRecord {
	slices.SortFunc(rs, func(a, b *task.StoreRecord) int { return cmp.Compare(a.ID, b.ID) })
	return rs
}

// compareRecords compares the TaskStore.
func (r *Run) compareRecords() error {
	m := r.replicas[0].m
	for _, x := range inOrder(allRecords(m)) {
		if n := r.model.Nameless; r.model.Records[x.ID] == nil && len(n) > 0 {
			r.model.Nameless, n[0].ID = n[1:], r.numbers.rev(x.ID, 0)
			r.model.Records[x.ID] = &n[0]
		}
	}
	if r.numbers.refused != "" || len(r.model.Nameless) > 0 {
		return fmt.Errorf("imported records: %s, %d are not there", r.numbers.refused, len(r.model.Nameless))
	}
	for id, want := range r.model.Records {
		if d := diff("", m.StoreRecord(want.Namespace, id), want); d != "" {
			return fmt.Errorf("store record %d: %s", id, d)
		}
	}
	for _, ns := range namespaces {
		groups := map[string]bool{}
		for _, x := range r.model.Records {
			if x.Namespace == ns {
				groups[x.Group] = true
			}
		}
		if got, want := m.StoreGroups(ns), slices.Sorted(maps.Keys(groups)); !slices.Equal(got, want) {
			return fmt.Errorf("groups of %s: %v, want %v", ns, got, want)
		}
		for group := range groups {
			for _, owned := range []bool{false, true} {
				if d := diff("", slices.Collect(m.StoreRecords(ns, group, owned, m.Now())), r.model.Group(ns, group, !owned)); d != "" {
					return fmt.Errorf("group %s/%s, owned %v: %s", ns, group, owned, d)
				}
			}
		}
	}
	return nil
}
