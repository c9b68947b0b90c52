package sim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// compareSpaces compares the namespaces, also the PURGED ones, and what each holds.
func (r *Run) compareSpaces() error {
	m := r.replicas[0].m
	real := m.Namespaces()
	if !slices.IsSortedFunc(real, func(a, b *task.Namespace) int { return cmp.Compare(a.Name, b.Name) }) || len(real) != len(r.model.Spaces) {
		return fmt.Errorf("%d namespaces, want %d by name", len(real), len(r.model.Spaces))
	}
	for _, n := range real {
		r.numbers.adoptSpace(n.Name, n)
		if r.numbers.refused != "" {
			return fmt.Errorf("namespace %s: %s", n.Name, r.numbers.refused)
		}
		want := r.model.Spaces[n.Name]
		if want == nil {
			return fmt.Errorf("namespace %s: there, want it gone", n.Name)
		}
		if d := diff("", n, want); d != "" {
			return fmt.Errorf("namespace %s: %s", n.Name, d)
		}
		if usage := r.model.Usage(n.Name); n.Usage != usage {
			return fmt.Errorf("namespace %s holds %+v, want %+v", n.Name, n.Usage, usage)
		}
		if m.NamespaceExists(n.Name) != (want.Status != task.NamespaceIsPurged) {
			return fmt.Errorf("namespace %s exists: %v", n.Name, m.NamespaceExists(n.Name))
		}
	}
	return nil
}
