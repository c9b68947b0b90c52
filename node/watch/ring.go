package watch

import (
	"sort"
	"sync"
	"sync/atomic"

	"github.com/taskrt/taskrt/task"
)

// Kind of an Event.
type Kind uint8

// The kinds. A Task event is a new version of a record, a Progress event one whose only news is progress.
const (
	Task Kind = iota + 1
	Progress
	Removed
	Reset // the subscriber has missed changes: the present state of what it follows comes next, as Task events
)

// Change is what an event is about. Progress is what a Progress event carries; it may be newer than the record's.
type Change struct {
	Kind     Kind
	Rev      uint64 // of the change; Progress: of the last change before it
	Task     *task.Task
	Progress task.Payload
}

// entry is a change in the ring. Its JSON is made when the first subscriber wants it, for all of them; that of a task which
// belongs to an operation is made for each.
type entry struct {
	Change
	outcome bool // the change gave the task an outcome (SPEC T2) that it did not have before

	// Of Progress:
	stored bool        // it is a change of the record; else it only passed by
	quiet  bool        // too soon after the one before: it is not told as progress
	stale  atomic.Bool // a later one of the same task is in the ring

	once sync.Once
	json []byte
}

func (e *entry) encoded(encode func(*Change) []byte) []byte {
	if e.Task.Role != task.RoleNone {
		return encode(&e.Change) // its params are its operation's: cost does not count them, so they must not stay
	}
	e.once.Do(func() { e.json = encode(&e.Change) })
	return e.json
}

// entryBytes is what an entry costs beside its payloads: the record, its history, the JSON of both.
const entryBytes = 2 << 10

// cost is about how many bytes an entry keeps in memory: the record, which may be an old version, and its JSON.
func (e *entry) cost() int {
	t := e.Task
	n := len(t.Params.Data) + len(t.Result.Data) + len(t.Progress.Data) + len(t.Checkpoint.Data) + len(e.Progress.Data)
	if t.Error != nil {
		n += len(t.Error.Message) + len(t.Error.Details.Data)
	}
	for _, l := range t.Labels {
		n += len(l.Name) + len(l.Value)
	}
	return entryBytes + 2*n
}

// ring holds the last changes. They are numbered: first is the number of the oldest one, next that of the one to come.
// A ring of n slots keeps at most n changes, and at most maxBytes unless there is only one.
type ring struct {
	slots       []*entry
	first, next uint64
	bytes       int
	maxBytes    int
	floor       uint64              // everything of a rev above it is here
	top         uint64              // rev of the last change
	progress    map[task.Key]*entry // latest progress of every task that is here
}

func newRing(entries, maxBytes int) ring {
	return ring{slots: make([]*entry, entries), first: 1, next: 1, maxBytes: maxBytes, progress: map[task.Key]*entry{}}
}

func (r *ring) at(n uint64) *entry { return r.slots[n%uint64(len(r.slots))] }

func (r *ring) add(e *entry) {
	if r.next-r.first == uint64(len(r.slots)) {
		r.evict()
	}
	if e.Kind == Progress && !e.quiet {
		if old := r.progress[e.Task.Key()]; old != nil {
			old.stale.Store(true)
		}
		r.progress[e.Task.Key()] = e
	}
	r.slots[r.next%uint64(len(r.slots))] = e
	r.next++
	r.bytes += e.cost()
	r.top = max(r.top, e.Rev)
	for r.bytes > r.maxBytes && r.next-r.first > 1 {
		r.evict()
	}
}

func (r *ring) evict() {
	e := r.at(r.first)
	r.bytes -= e.cost()
	if e.Kind != Progress {
		r.floor = max(r.floor, e.Rev)
	} else if r.progress[e.Task.Key()] == e {
		delete(r.progress, e.Task.Key())
	}
	r.slots[r.first%uint64(len(r.slots))] = nil
	r.first++
}

// clear forgets everything: what follows comes after rev.
func (r *ring) clear(rev uint64) {
	for r.first < r.next {
		r.evict()
	}
	r.floor, r.top = rev, rev
}

// after returns the number of the first change with a rev above rev: revs never fall along the ring.
func (r *ring) after(rev uint64) uint64 {
	n := sort.Search(int(r.next-r.first), func(i int) bool { return r.at(r.first+uint64(i)).Rev > rev })
	return r.first + uint64(n)
}
