// Package match says whether a task fits a filter (SPEC Q1, Q3). Lists and bulk jobs use the same filters.
package match

import (
	"slices"
	"strings"
)

// State is a task's status, with what comes next (SPEC Q1).
type State uint8

// The states. Retrying is a FAILURE that waits for its next attempt, and Dead is a final FAILURE. Repeating and Succeeded are the same for SUCCESS.
const (
	Created State = iota
	Running
	Repeating
	Succeeded
	Retrying
	Dead
	NumStates
)

// Ended returns the state of a task that has ended in a final state, or waits for its next run.
func Ended(final State, again bool) State {
	switch {
	case !again:
		return final
	case final == Succeeded:
		return Repeating
	}
	return Retrying
}

// States is a set of them.
type States uint8

// Of returns a set.
func Of(all ...State) (s States) {
	for _, x := range all {
		s |= 1 << x
	}
	return s
}

// Has reports whether x is in the set. The empty set has all.
func (s States) Has(x State) bool { return s == 0 || s&(1<<x) != 0 }

// none is a set of states that no task has.
const none States = 1 << NumStates

// wordOf returns the states that a status of a request means; 0: it is no status.
func wordOf(status string) States {
	switch status {
	case "CREATED":
		return Of(Created)
	case "RUNNING":
		return Of(Running)
	case "SUCCESS":
		return Of(Succeeded, Repeating)
	case "FAILURE":
		return Of(Dead, Retrying)
	case "RETRYING":
		return Of(Retrying)
	case "DEAD":
		return Of(Dead)
	}
	return 0
}

// StatesOf returns the states that words mean. Without words these are all states. final, if given, leaves only the final states, or only the others.
func StatesOf(statuses []string, final *bool) States {
	var s States
	for _, word := range statuses {
		s |= wordOf(word)
	}
	if final == nil {
		return s
	}
	if s == 0 {
		s = Of(Created, Running, Repeating, Succeeded, Retrying, Dead)
	}
	ended := Of(Succeeded, Dead)
	if *final {
		s &= ended
	} else {
		s &^= ended
	}
	if s == 0 {
		return none
	}
	return s
}

// Range is from From up to but without To, in Unix milliseconds. 0 means no bound.
type Range struct {
	From int64 `json:"from,omitempty"`
	To   int64 `json:"to,omitempty"`
}

// Given reports whether the range has a bound.
func (r Range) Given() bool { return r != Range{} }

// Has reports whether a time is in the range. 0 is no time.
func (r Range) Has(at int64) bool {
	return !r.Given() || at != 0 && at >= r.From && (r.To == 0 || at < r.To)
}

// Label is a label of a task.
type Label struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Filter says what is asked for in a namespace. Zero fields ask for nothing in particular.
type Filter struct {
	States       States
	Behaviors    []string // any of them; "*" stands for any text
	Codes        []string // of its error; any of them
	Worker, Node string   // of the current attempt, or of the last
	Parent       string
	Labels       []Label // all of them
	IDPrefix     string

	Created, Started, Finished Range
	DueBefore                  int64 // not_before is set, and not later
}

// Task is what a Filter looks at. Times are Unix milliseconds; 0 is none.
type Task struct {
	ID, Behavior, Parent string
	Code                 string // of its error
	Worker, Node         string // of the current attempt, or of the last
	State                State

	Created, Started, Finished, NotBefore int64
}

// Matches reports whether a task fits the filter. labelled says whether it has a label.
func (f *Filter) Matches(t *Task, labelled func(Label) bool) bool {
	return f.States.Has(t.State) && f.Likes(t.Behavior) && (len(f.Codes) == 0 || slices.Contains(f.Codes, t.Code)) &&
		(f.Worker == "" || f.Worker == t.Worker) && (f.Node == "" || f.Node == t.Node) &&
		(f.Parent == "" || f.Parent == t.Parent) &&
		!slices.ContainsFunc(f.Labels, func(l Label) bool { return !labelled(l) }) &&
		strings.HasPrefix(t.ID, f.IDPrefix) &&
		f.Created.Has(t.Created) && f.Started.Has(t.Started) && f.Finished.Has(t.Finished) &&
		(f.DueBefore == 0 || t.NotBefore != 0 && t.NotBefore <= f.DueBefore)
}

// Likes reports whether a behavior is asked for.
func (f *Filter) Likes(behavior string) bool {
	return len(f.Behaviors) == 0 || slices.ContainsFunc(f.Behaviors, func(p string) bool { return likes(p, behavior) })
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
