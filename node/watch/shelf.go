package watch

import (
	"sync"

	"github.com/taskrt/taskrt/task"
)

// shown is a change that somebody looks at. The first reader decodes its record and makes its JSON, for all readers.
// The JSON of an operation's task is made for each reader.
type shown struct {
	slot
	record []byte // nil once change is known
	change *Change
	json   []byte

	decode, encode sync.Once
}

// decoded returns the change.
func (x *shown) decoded() *Change {
	x.decode.Do(func() {
		if x.change == nil {
			x.change, x.record = x.slot.change(x.record), nil
		}
	})
	return x.change
}

func (x *shown) encoded(encode func(*Change) []byte) []byte {
	c := x.decoded()
	if c.Task.Role != task.RoleNone {
		return encode(c) // it has the params of its operation, which cost does not count: it must not stay
	}
	x.encode.Do(func() { x.json = encode(c) })
	return x.json
}

// shelf keeps the changes that were looked at lately, because all subscribers without filters look at the same changes.
type shelf struct {
	mu       sync.RWMutex
	changes  map[uint64]*shown
	order    []uint64 // oldest first
	bytes    int
	maxBytes int
}

func newShelf(maxBytes int) shelf { return shelf{changes: map[uint64]*shown{}, maxBytes: maxBytes} }

// shownBytes is what a change costs beside its record, decoded record and JSON.
const shownBytes = 1 << 10

func (x *shown) cost() int { return shownBytes + 3*int(x.length) }

// get returns the change with number n. The ring is read-locked.
func (s *shelf) get(r *ring, n uint64) *shown {
	s.mu.RLock()
	x := s.changes[n]
	s.mu.RUnlock()
	if x != nil {
		return x
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.changes[n]; x != nil {
		return x
	}
	e := r.at(n)
	x = &shown{slot: *e, record: append([]byte(nil), r.records.get(e.place)...)}
	s.putLocked(n, x)
	return x
}

// put keeps c, the change with number n, for subscribers that are about to look at it.
func (s *shelf) put(r *ring, n uint64, c Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putLocked(n, &shown{slot: *r.at(n), change: &c})
}

func (s *shelf) putLocked(n uint64, x *shown) {
	s.changes[n] = x
	s.order = append(s.order, n)
	s.bytes += x.cost()
	for s.bytes > s.maxBytes && len(s.order) > 1 {
		gone := s.order[0]
		s.order = s.order[1:]
		s.bytes -= s.changes[gone].cost()
		delete(s.changes, gone)
	}
}

func (s *shelf) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.changes)
	s.order, s.bytes = nil, 0
}
