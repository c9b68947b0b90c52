// Package hurdle names the reasons for which a due task does not start, although workers are free (SPEC Q4).
package hurdle

import "github.com/taskrt/taskrt/task/names"

// Kind is one of them.
type Kind uint8

// The hurdles, in the order in which they are looked at: who proposes to start a task is told of the first that it meets.
const (
	SpaceClosed  Kind = iota // its namespace is not ACTIVE
	SpaceFull                // max_running of the namespace
	Paused                   // its behavior is
	NoVersion                // there is no behavior, or not the version that it is pinned to
	BehaviorFull             // max_concurrent of the behavior
	KeyTaken                 // max_per_key of the behavior
	Kinds                    // how many there are
)

func (k Kind) String() string {
	return names.Word(k, "namespace closed", "max_running", "paused", "no version", "max_concurrent", "max_per_key")
}
