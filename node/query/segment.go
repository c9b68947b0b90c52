package query

import (
	"math"
	"slices"
	"sort"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/hash"
)

// segmentSlots is how many tasks a segment takes, firstSlots how many it has room for at first.
const segmentSlots, firstSlots = 8192, 512

// The times of a task that questions are about.
const (
	createdAt = iota
	startedAt
	finishedAt
	dueAt
	clocks
)

// segment is the columns of tasks that were created one after the other. A slot is never given again.
type segment struct {
	base   uint64 // creation rev of the first
	live   int
	revs   []uint32 // creation rev, less base
	class  []uint32 // 0: removed
	place  []uint16
	ids    []uint32 // see signature
	times  [clocks]column
	posted postings
}

// column holds times of up to 48 bits: Unix milliseconds up to the year 9999.
type column struct {
	low      []uint32
	high     []uint16
	min, max int64 // of what has been written, without 0
}

func (c *column) get(slot int) int64 { return int64(c.high[slot])<<32 | int64(c.low[slot]) }

func (c *column) set(slot int, at task.Time) {
	v := min(max(int64(at), 0), 1<<48-1)
	c.low[slot], c.high[slot] = uint32(v), uint16(v>>32)
	if v != 0 {
		c.min, c.max = min(c.min, v), max(c.max, v)
	}
}

// newSegment makes an empty segment with room for so many tasks at first.
func newSegment(base uint64, room int) *segment {
	s := &segment{
		base: base, revs: make([]uint32, 0, room), class: make([]uint32, 0, room), place: make([]uint16, 0, room), ids: make([]uint32, 0, room),
	}
	for i := range s.times {
		s.times[i] = column{low: make([]uint32, 0, room), high: make([]uint16, 0, room), min: math.MaxInt64}
	}
	return s
}

// fits reports whether a task with this creation rev can be appended to a segment of up to so many.
func (s *segment) fits(rev uint64, slots int) bool {
	return len(s.revs) < slots && rev-s.base <= math.MaxUint32
}

// last returns the highest creation rev.
func (s *segment) last() uint64 { return s.base + uint64(s.revs[len(s.revs)-1]) }

// append adds a slot and returns its number.
func (s *segment) append(rev uint64) int {
	slot := len(s.revs)
	s.revs = grown(s.revs, uint32(rev-s.base))
	s.class = grown(s.class, 0)
	s.place = grown(s.place, noPlace)
	s.ids = grown(s.ids, 0)
	for i := range s.times {
		c := &s.times[i]
		c.low, c.high = grown(c.low, 0), grown(c.high, 0)
	}
	s.live++
	return slot
}

// grown appends v. A column has room for a few, or for all that it may ever hold.
func grown[T any](column []T, v T) []T {
	if len(column) < cap(column) {
		return append(column, v)
	}
	room := segmentSlots
	if len(column) < firstSlots {
		room = firstSlots
	}
	return append(append(make([]T, 0, room), column...), v)
}

// find returns the slot of the task with a creation rev, or -1. near is where it may be.
func (s *segment) find(rev uint64, near int) int {
	if rev < s.base || rev-s.base > math.MaxUint32 {
		return -1
	}
	v := uint32(rev - s.base)
	for slot := near; slot < min(near+2, len(s.revs)); slot++ {
		if s.revs[slot] == v {
			return slot
		}
	}
	if slot, ok := slices.BinarySearch(s.revs, v); ok {
		return slot
	}
	return -1
}

// from returns the first slot with this creation rev or a later one.
func (s *segment) from(rev uint64) int {
	if rev <= s.base {
		return 0
	}
	return sort.Search(len(s.revs), func(i int) bool { return s.base+uint64(s.revs[i]) >= rev })
}

// rest returns the slots behind a creation rev: from low, up to but without high.
func (s *segment) rest(rev uint64, desc bool) (low, high int) {
	if desc {
		return 0, s.from(rev)
	}
	return s.from(rev + 1), len(s.revs)
}

// end returns the creation rev behind which nothing of the segment is left.
func (s *segment) end(desc bool) uint64 {
	if desc {
		return s.base
	}
	return s.last()
}

func (s *segment) setTimes(slot int, t *task.Task) {
	s.times[startedAt].set(slot, t.StartedAt)
	s.times[finishedAt].set(slot, t.FinishedAt)
	s.times[dueAt].set(slot, t.NotBefore)
}

// joined returns a segment of what is left of two neighbors, or of one.
func joined(parts ...*segment) *segment {
	room := 0 // it never grows
	for _, from := range parts {
		room += from.live
	}
	to := newSegment(parts[0].base, room)
	var moved [segmentSlots]int32 // by old slot: the new one and 1
	for _, from := range parts {
		clear(moved[:])
		for slot, class := range from.class {
			if class == 0 {
				continue
			}
			n := to.append(from.base + uint64(from.revs[slot]))
			moved[slot] = int32(n) + 1
			to.class[n], to.place[n], to.ids[n] = class, from.place[slot], from.ids[slot]
			for i := range to.times {
				to.times[i].set(n, task.Time(from.times[i].get(slot)))
			}
		}
		from.posted.settle()
		for _, v := range from.posted.sorted {
			if n := moved[v&(1<<slotBits-1)]; n != 0 {
				to.posted.sorted = append(to.posted.sorted, v&^(1<<slotBits-1)|uint64(n-1))
			}
		}
	}
	slices.Sort(to.posted.sorted)
	return to
}

// signature has 8 bits for each of the first four lengths of an ID: equal prefixes have equal bits.
func signature(id string) (bits uint32) {
	for i, n := range prefixLengths {
		if len(id) < n {
			break
		}
		bits |= prefixBits(id[:n]) << (8 * i)
	}
	return bits
}

// prefixLengths are the lengths of prefixes, in bytes, that a signature knows.
var prefixLengths = [4]int{4, 8, 12, 16}

func prefixBits(prefix string) uint32 {
	h := hash.New(ofPrefix)
	h.Str(prefix)
	return uint32(h.Sum()>>32) & 0xff
}

// prefixMask returns the bits of a signature that a prefix decides, and what they are.
func prefixMask(prefix string) (mask, bits uint32) {
	for i, n := range prefixLengths {
		if len(prefix) >= n {
			mask |= 0xff << (8 * i)
		}
	}
	return mask, signature(prefix) & mask
}
