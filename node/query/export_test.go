package query

import "github.com/taskrt/taskrt/task"

// Forget empties the index.
func (x *Index) Forget() { x.reset() }

// Apply takes the events of an entry into an index that does not run.
func (x *Index) Apply(evs []task.Event) {
	x.horizon = whole
	x.apply(evs)
}

// Shared returns how many numbers are given to what tasks share.
func (x *Index) Shared() (classes, places int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.classes.number), len(x.places.number)
}
