package watch

import (
	"fmt"
	"sort"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// Kind is the kind of an Event.
type Kind uint8

// The kinds. A Task event is a new version of a record. A Progress event is one in which only the progress is new.
const (
	Task Kind = iota + 1
	Progress
	Removed
	Reset // the subscriber has missed changes: the present state of what it follows comes next, as Task events
)

// Change is what an event is about. Progress is the progress of a Progress event, which may be newer than the record's.
type Change struct {
	Kind     Kind
	Rev      uint64 // of the change; of Progress: of the last change before it
	Task     *task.Task
	Progress task.Payload
}

// mark is what is known of a change in the ring without a look at its record.
type mark struct {
	kind    Kind
	status  task.Status
	rev     uint64
	creator uint64 // of the task: the number of a token
	outcome bool   // the change gave the task an outcome (SPEC T2) that it did not have before

	// The fields below are for Progress.
	stored bool // the record changed; else the progress is not in the log
	quiet  bool // too soon after the last: it is not told as progress
	stale  bool // later progress of the same task is in the ring
}

// slot is a change in the ring. Its record is encoded, because nobody looks at most records: first the task, then the
// progress unless it is the record's, then the parent.
type slot struct {
	mark
	place
	progress uint32 // offset of the progress in the record
	parent   uint32 // offset of the parent in the record
}

// ring holds the last changes, without pointers. Changes are numbered: first is the number of the oldest change, and
// next is the number of the change to come. A ring of n slots keeps at most n changes. It keeps at most maxBytes of
// records, unless there is only one.
type ring struct {
	slots       []slot
	records     slab
	scratch     []byte
	first, next uint64
	maxBytes    int
	floor       uint64              // every change with a rev above it is here
	top         uint64              // rev of the last change
	progress    map[task.Key]uint64 // by task that has progress here, the number of the latest
}

// blocksPerRing is how many blocks a full ring has. What the ring keeps shrinks and grows by one block at a time.
const blocksPerRing = 64

func newRing(entries, maxBytes int) ring {
	return ring{
		slots: make([]slot, entries), records: slab{size: maxBytes / blocksPerRing},
		first: 1, next: 1, maxBytes: maxBytes, progress: map[task.Key]uint64{},
	}
}

func (r *ring) at(n uint64) *slot { return &r.slots[n%uint64(len(r.slots))] }

// add puts in a change with the mark m. It keeps nothing of c.
func (r *ring) add(c *Change, m mark) {
	if r.next-r.first == uint64(len(r.slots)) {
		r.evict()
	}
	m.kind, m.status, m.rev, m.creator = c.Kind, c.Task.Status, c.Rev, c.Task.Creator
	if m.kind == Progress && !m.quiet {
		key := c.Task.Key()
		if old := r.progress[key]; old != 0 {
			r.at(old).stale = true
		}
		r.progress[key] = r.next
	}
	e := r.at(r.next)
	*e = slot{mark: m}
	b := appendRecord(r.scratch[:0], c.Task)
	e.progress = uint32(len(b))
	if m.kind == Progress && !m.stored {
		b = appendRecord(b, &task.Task{Progress: c.Progress})
	}
	e.parent = uint32(len(b))
	b = append(b, c.Task.Parent...)
	e.place = r.records.add(b)
	if r.scratch = b; len(b) > r.records.size {
		r.scratch = nil
	}
	r.next++
	r.top = max(r.top, m.rev)
	for r.records.bytes > r.maxBytes && r.next-r.first > 1 {
		r.evict()
	}
}

func (r *ring) evict() {
	e := r.at(r.first)
	if e.kind != Progress {
		r.floor = max(r.floor, e.rev)
	} else if !e.quiet && !e.stale {
		namespace, id, _ := wire.TaskNames(r.records.get(e.place))
		delete(r.progress, task.Key{Namespace: string(namespace), ID: string(id)})
	}
	r.first++
	if r.first < r.next {
		r.records.forget(r.at(r.first).block)
	} else {
		r.records.forget(e.block + 1)
	}
}

// clear forgets all changes. The next ones come after rev.
func (r *ring) clear(rev uint64) {
	for r.first < r.next {
		r.evict()
	}
	r.floor, r.top = rev, rev
}

// after returns the number of the first change with a rev above rev. Revs never fall along the ring.
func (r *ring) after(rev uint64) uint64 {
	n := sort.Search(int(r.next-r.first), func(i int) bool { return r.at(r.first+uint64(i)).rev > rev })
	return r.first + uint64(n)
}

// matches reports whether the change e is of a task that f selects.
func (r *ring) matches(f *Filter, e *slot) bool {
	if f.Status != 0 && f.Status != e.status {
		return false
	}
	record := r.records.get(e.place)
	namespace, id, behavior := wire.TaskNames(record)
	return f.selects(namespace, id, behavior, record[e.parent:], e.creator)
}

// change decodes the change e.
func (r *ring) change(e *slot) *Change {
	return e.change(r.records.get(e.place))
}

// change decodes a change from its record.
func (e *slot) change(record []byte) *Change {
	c := &Change{Kind: e.kind, Rev: e.rev, Task: readRecord(record[:e.progress])}
	if e.kind == Progress {
		c.Progress = c.Task.Progress
		if !e.stored {
			c.Progress = readRecord(record[e.progress:e.parent]).Progress
		}
	}
	return c
}

func appendRecord(b []byte, t *task.Task) []byte {
	b, err := wire.AppendTask(b, t)
	if err != nil {
		panic(fmt.Sprintf("watch: task %s: %v", t.ID, err)) // what was in the log can be written again
	}
	return b
}

func readRecord(b []byte) *task.Task {
	t, err := wire.DecodeTask(b)
	if err != nil {
		panic(fmt.Sprintf("watch: what appendRecord wrote: %v", err))
	}
	return t
}
