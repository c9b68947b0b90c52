package query

import (
	"slices"
	"strings"

	"github.com/taskrt/taskrt/task"
)

// Range is from From, up to but without To. 0 is no bound.
type Range struct{ From, To task.Time }

func (r Range) given() bool { return r != Range{} }

func (r Range) has(at task.Time) bool {
	return !r.given() || at != 0 && at >= r.From && (r.To == 0 || at < r.To)
}

// Filter says what is asked for (SPEC Q1). Zero fields ask for nothing in particular.
type Filter struct {
	Namespace    string   // required
	States       States   // any of them
	Behaviors    []string // any of them; "*" stands for any text
	Codes        []string // of its error; any of them
	Worker, Node string   // of the current attempt, or of the last
	Parent       string
	Labels       []task.Label // all of them
	IDPrefix     string

	Created, Started, Finished Range
	DueBefore                  task.Time // not_before is there, and not later

	Sight func(behavior string, creator uint64) bool // what the caller may see; nil: everything
}

// ofClass reports whether tasks of a class can be what is asked for.
func (f *Filter) ofClass(c *Class) bool {
	return c.Namespace == f.Namespace && f.States.Has(c.State) &&
		(len(f.Behaviors) == 0 || slices.ContainsFunc(f.Behaviors, func(p string) bool { return likes(p, c.Behavior) })) &&
		(len(f.Codes) == 0 || c.Code == otherCode || slices.Contains(f.Codes, c.Code))
}

// Matches reports whether a record is what is asked for.
func (f *Filter) Matches(t *task.Task) bool {
	c, w := classOf(t), whereOf(t)
	return f.ofClass(&c) &&
		(f.Worker == "" || f.Worker == w.worker) && (f.Node == "" || f.Node == w.node) &&
		(f.Parent == "" || f.Parent == t.Parent) &&
		!slices.ContainsFunc(f.Labels, func(l task.Label) bool { return !slices.Contains(t.Labels, l) }) &&
		strings.HasPrefix(t.ID, f.IDPrefix) &&
		f.Created.has(t.CreatedAt) && f.Started.has(t.StartedAt) && f.Finished.has(t.FinishedAt) &&
		(f.DueBefore == 0 || t.NotBefore != 0 && t.NotBefore <= f.DueBefore) &&
		(f.Sight == nil || f.Sight(t.Behavior, t.Creator))
}

// ranges returns the range of each of the times. That of due has no lower bound, and takes in its upper one.
func (f *Filter) ranges() [clocks]Range {
	r := [clocks]Range{createdAt: f.Created, startedAt: f.Started, finishedAt: f.Finished}
	if f.DueBefore != 0 {
		r[dueAt] = Range{From: 1, To: f.DueBefore + 1}
	}
	return r
}

// by returns the time that is the order: that of the one range of started or finished that is given. createdAt is the order of creation.
func (f *Filter) by() int {
	switch {
	case f.Started.given() && !f.Finished.given() && !f.Created.given():
		return startedAt
	case f.Finished.given() && !f.Started.given() && !f.Created.given():
		return finishedAt
	}
	return createdAt
}

// likes reports whether a name is like a pattern, in which "*" stands for any text.
func likes(pattern, name string) bool {
	first, rest, wild := strings.Cut(pattern, "*")
	name, has := strings.CutPrefix(name, first)
	if !wild || !has {
		return has && name == ""
	}
	for {
		var part string
		part, rest, wild = strings.Cut(rest, "*")
		if !wild {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
}
