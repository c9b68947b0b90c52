package query

import "github.com/taskrt/taskrt/task"

// Forget empties the index.
func (x *Index) Forget() { x.reset() }

// Apply takes the events of an entry into an index that does not run.
func (x *Index) Apply(evs []task.Event) {
	x.horizon = whole
	x.apply(evs)
}
