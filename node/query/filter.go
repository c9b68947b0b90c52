package query

import (
	"slices"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/match"
)

// Filter says what is asked for (SPEC Q1).
type Filter struct {
	Namespace string // required
	match.Filter

	Sight func(behavior string, creator uint64) bool // what the caller may see; nil: everything
}

// ofClass reports whether tasks of a class can be what is asked for.
func (f *Filter) ofClass(c *Class) bool {
	return c.Namespace == f.Namespace && f.States.Has(c.State) && f.Likes(c.Behavior) &&
		(len(f.Codes) == 0 || c.Code == otherCode || slices.Contains(f.Codes, c.Code))
}

// Matches reports whether a record is what is asked for.
func (f *Filter) Matches(t *task.Task) bool {
	return t.Namespace == f.Namespace && task.Matches(t, &f.Filter) && (f.Sight == nil || f.Sight(t.Behavior, t.Creator))
}

// ranges returns the range of each of the times. The range of due has no lower bound, and includes its upper bound.
func (f *Filter) ranges() [clocks]match.Range {
	r := [clocks]match.Range{createdAt: f.Created, startedAt: f.Started, finishedAt: f.Finished}
	if f.DueBefore != 0 {
		r[dueAt] = match.Range{From: 1, To: f.DueBefore + 1}
	}
	return r
}

// by returns the time by which tasks are ordered: started or finished, if this is the only range. Else it is createdAt, the order of creation.
func (f *Filter) by() int {
	switch {
	case f.Started.Given() && !f.Finished.Given() && !f.Created.Given():
		return startedAt
	case f.Finished.Given() && !f.Started.Given() && !f.Created.Given():
		return finishedAt
	}
	return createdAt
}
