package watch

import (
	"slices"

	"github.com/taskrt/taskrt/task"
)

// Filter says which tasks a subscriber follows. Namespace is required; the other zero fields select everything.
type Filter struct {
	Namespace string
	IDs       []string // any of these
	Behavior  string
	Parent    string
	Status    task.Status // after the change; of a removed record: before
	// Sight says what the subscriber may see, by behavior and by the number of the token that created it. Nil: everything.
	Sight func(behavior string, creator uint64) bool
}

func (f *Filter) matches(t *task.Task) bool {
	return (f.Status == 0 || f.Status == t.Status) && f.selects([]byte(t.Namespace), []byte(t.ID), []byte(t.Behavior), []byte(t.Parent), t.Creator)
}

// selects reports whether f selects a task of these names and this creator, whatever its status.
func (f *Filter) selects(namespace, id, behavior, parent []byte, creator uint64) bool {
	return f.Namespace == string(namespace) &&
		(f.Behavior == "" || f.Behavior == string(behavior)) &&
		(f.Sight == nil || f.Sight(string(behavior), creator)) &&
		(f.Parent == "" || f.Parent == string(parent)) &&
		(len(f.IDs) == 0 || slices.ContainsFunc(f.IDs, func(x string) bool { return x == string(id) }))
}

// index finds the subscribers that a change may concern without asking all of them. Each stands under the most
// selective of its filters. A subscriber that does not ask for IDs stands there only while it has nothing to look at.
// So if thousands follow everything, a change costs nothing for the subscribers that are not quick enough.
type index struct {
	ids       map[task.Key]group
	parents   map[task.Key]group
	behaviors map[task.Key]group
	all       map[string]group // by namespace
}

type group map[*Sub]struct{}

func newIndex() index {
	return index{map[task.Key]group{}, map[task.Key]group{}, map[task.Key]group{}, map[string]group{}}
}

func (x *index) add(s *Sub) { x.each(&s.filter, func(g group) { g[s] = struct{}{} }) }

func (x *index) remove(s *Sub) { x.each(&s.filter, func(g group) { delete(g, s) }) }

// each calls fn with the groups that a subscriber with the filter f stands in. It makes missing groups and drops empty
// ones.
func (x *index) each(f *Filter, fn func(group)) {
	switch {
	case len(f.IDs) > 0:
		for _, id := range f.IDs {
			in(x.ids, task.Key{Namespace: f.Namespace, ID: id}, fn)
		}
	case f.Parent != "":
		in(x.parents, task.Key{Namespace: f.Namespace, ID: f.Parent}, fn)
	case f.Behavior != "":
		in(x.behaviors, task.Key{Namespace: f.Namespace, ID: f.Behavior}, fn)
	default:
		in(x.all, f.Namespace, fn)
	}
}

func in[K comparable](groups map[K]group, k K, fn func(group)) {
	g := groups[k]
	if g == nil {
		g = group{}
	}
	fn(g)
	if len(g) == 0 {
		delete(groups, k)
		return
	}
	groups[k] = g
}

// candidates returns the groups whose members a change of t may concern.
func (x *index) candidates(t *task.Task) [4]group {
	return [...]group{
		x.ids[t.Key()], x.parents[task.Key{Namespace: t.Namespace, ID: t.Parent}],
		x.behaviors[task.Key{Namespace: t.Namespace, ID: t.Behavior}], x.all[t.Namespace],
	}
}
