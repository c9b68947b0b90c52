package query

import (
	"cmp"
	"slices"
	"strings"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/match"
)

// FailureFilter says which failures are asked for (SPEC Q2). Zero fields ask for nothing in particular.
type FailureFilter struct {
	Namespace string   // required
	Behaviors []string // any of them; "*" stands for any text
	Codes     []string // any of them

	Sight func(behavior string) bool // what the caller may see; nil: everything
}

func (f *FailureFilter) ofClass(c *Class) bool {
	filter := Filter{Namespace: f.Namespace, Filter: match.Filter{States: failures, Behaviors: f.Behaviors, Codes: f.Codes}}
	return filter.ofClass(c) && (f.Sight == nil || f.Sight(c.Behavior))
}

// Failures counts tasks that have failed, and says which of them failed first and last: their times, and their numbers of creation.
type Failures struct {
	Retrying, Dead int
	First, Last    Place
}

// FailureGroup is the failures of one behavior, version and code.
type FailureGroup struct {
	Behavior, Version, Code string
	Failures
}

// Failures returns up to limit groups of failures, those with the most first, and what all the others have together (SPEC Q2). When there are more
// classes than have a number, failures of other codes are among the others, whatever code was asked for.
func (x *Index) Failures(f FailureFilter, limit int) (groups []FailureGroup, others Failures) {
	for _, c := range x.failed(&f) {
		g := FailureGroup{Behavior: c.Behavior, Version: c.Version, Code: c.Code}
		if last := len(groups) - 1; last >= 0 && groups[last].name() == g.name() {
			groups[last].add(&c)
			continue
		}
		g.add(&c)
		groups = append(groups, g)
	}
	slices.SortStableFunc(groups, func(a, b FailureGroup) int { // stable: the rest is the order of their names
		return cmp.Or(a.unknown()-b.unknown(), b.Retrying+b.Dead-a.Retrying-a.Dead, b.Last.compare(a.Last))
	})
	shown := min(limit, len(groups))
	for shown > 0 && groups[shown-1].Code == otherCode {
		shown--
	}
	for _, g := range groups[shown:] {
		others.include(g.Failures)
	}
	return groups[:shown], others
}

// failed returns the classes that are asked for, with first and last as they are, in the order of their names.
func (x *Index) failed(f *FailureFilter) []class {
	x.mu.Lock()
	defer x.mu.Unlock()
	var found []class
	numbers := make([]bool, len(x.classes.rows)) // of those whose first or last has gone
	lost := false
	for n := range x.classes.rows {
		if c := &x.classes.rows[n]; c.tasks > 0 && f.ofClass(&c.Class) {
			numbers[n] = c.lost
			lost = lost || c.lost
		}
	}
	if lost {
		x.findAgain(numbers)
	}
	for n := range x.classes.rows {
		if c := &x.classes.rows[n]; c.tasks > 0 && f.ofClass(&c.Class) {
			found = append(found, *c)
		}
	}
	slices.SortFunc(found, func(a, b class) int {
		return cmp.Or(strings.Compare(a.Behavior, b.Behavior), strings.Compare(a.Version, b.Version), strings.Compare(a.Code, b.Code))
	})
	return found
}

// findAgain looks at the columns for the first and the last failure of classes, in one walk for all of them.
func (x *Index) findAgain(numbers []bool) {
	for n, wanted := range numbers {
		if wanted {
			c := &x.classes.rows[n]
			c.first, c.last, c.lost = Place{}, Place{}, false
		}
	}
	for _, s := range x.segments {
		for slot, n := range s.class {
			if numbers[n] {
				x.classes.rows[n].meet(s.failedAt(slot))
			}
		}
	}
}

// failures are the states of tasks that have failed.
const failures = match.States(1<<match.Retrying | 1<<match.Dead)

// failedAt returns when the last outcome of a task was, with its number of creation.
func (s *segment) failedAt(slot int) Place {
	return Place{Time: s.times[finishedAt].get(slot), Rev: s.base + uint64(s.revs[slot])}
}

// meet notes a failure of the class. As long as one is lost it says nothing.
func (c *class) meet(at Place) {
	if c.first == (Place{}) || at.compare(c.first) < 0 {
		c.first = at
	}
	if at.compare(c.last) > 0 {
		c.last = at
	}
}

// forget notes that a failure has left the class. Nobody knows who is first or last after it, until somebody asks.
func (c *class) forget(at Place) {
	if at == c.first || at == c.last {
		c.lost = true
	}
}

func (g *FailureGroup) name() [3]string { return [3]string{g.Behavior, g.Version, g.Code} }

func (g *FailureGroup) unknown() int {
	if g.Code == otherCode {
		return 1
	}
	return 0
}

func (g *Failures) add(c *class) {
	one := Failures{First: c.first, Last: c.last}
	if c.State == match.Dead {
		one.Dead = c.tasks
	} else {
		one.Retrying = c.tasks
	}
	g.include(one)
}

func (g *Failures) include(o Failures) {
	if g.Retrying+g.Dead == 0 || o.First.compare(g.First) < 0 {
		g.First = o.First
	}
	if o.Last.compare(g.Last) > 0 {
		g.Last = o.Last
	}
	g.Retrying, g.Dead = g.Retrying+o.Retrying, g.Dead+o.Dead
}

// is reports whether a record is a failure of the group.
func (g *FailureGroup) is(namespace string, t *task.Task) bool {
	c := classOf(t)
	return c.Namespace == namespace && c.Behavior == g.Behavior && c.Version == g.Version && c.Code == g.Code && failures.Has(c.State)
}
