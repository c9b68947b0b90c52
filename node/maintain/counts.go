package maintain

import (
	"cmp"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// counts say what a run did, by kind and namespace (SPEC M4).
type counts map[[2]string]*task.ObjectCount

// of returns the line of a kind and a namespace.
func (c counts) of(kind, namespace string) *task.ObjectCount {
	key := [2]string{kind, namespace}
	if c[key] == nil {
		c[key] = &task.ObjectCount{Kind: kind, Namespace: namespace}
	}
	return c[key]
}

// otherNamespaces stands for the namespaces that a record has no room for.
const otherNamespaces = "*"

// list sorts the lines by kind and namespace. If there are too many, the lines with the fewest objects are added up, by
// kind.
func (c counts) list() []task.ObjectCount {
	lines := make([]task.ObjectCount, 0, len(c))
	for _, line := range c {
		lines = append(lines, *line)
	}
	if len(lines) > task.MaxObjectCounts {
		slices.SortFunc(lines, func(a, b task.ObjectCount) int {
			return cmp.Or(cmp.Compare(b.Scanned, a.Scanned), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind))
		})
		rest := counts{}
		// This may add as many lines as there are kinds.
		room := task.MaxObjectCounts - 100
		for _, line := range lines[room:] {
			addCount(rest.of(line.Kind, otherNamespaces), &line)
		}
		lines = lines[:room]
		for _, line := range rest {
			lines = append(lines, *line)
		}
	}
	slices.SortFunc(lines, func(a, b task.ObjectCount) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace))
	})
	return lines
}

func addCount(to, line *task.ObjectCount) {
	to.Scanned += line.Scanned
	to.Retained += line.Retained
	to.Newer += line.Newer
	to.Deleted += line.Deleted
}
