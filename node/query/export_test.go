package query

import "github.com/taskrt/taskrt/task"

// Forget empties the index.
func (x *Index) Forget() { x.reset() }

// Apply takes the events of an entry into an index that does not run.
func (x *Index) Apply(evs []task.Event) {
	x.horizon = whole
	x.apply(evs)
}

// Shared returns how many classes have a number, and how many tasks it counts at the workers that have one.
func (x *Index) Shared() (classes, placed int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for i := range x.places.rows {
		placed += x.places.rows[i].tasks
	}
	return len(x.classes.number), placed
}

// OtherCode is the code of the groups whose failures are of no code of their own.
const OtherCode = otherCode
