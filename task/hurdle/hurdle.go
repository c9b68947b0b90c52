// Package hurdle names the reasons for which a due task does not start, although workers are free (SPEC Q4).
package hurdle

import "github.com/taskrt/taskrt/task/names"

// Kind is one of these reasons.
type Kind uint8

// The hurdles, in the order in which they are looked at. A proposal to start a task is refused for the first hurdle that the task meets.
const (
	SpaceClosed  Kind = iota // its namespace is not ACTIVE
	SpaceFull                // max_running of the namespace
	Paused                   // its behavior is paused
	NoVersion                // there is no behavior, or the version that it is pinned to is not there
	BehaviorFull             // max_concurrent of the behavior
	KeyTaken                 // max_per_key of the behavior
	Kinds                    // how many there are
)

func (k Kind) String() string {
	return names.Word(k, "namespace closed", "max_running", "paused", "no version", "max_concurrent", "max_per_key")
}
