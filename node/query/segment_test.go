package query

import (
	"testing"

	"github.com/taskrt/taskrt/task"
)

// TestJoinedHasNoRoom: a segment that is written anew never grows, and takes memory for what is left alone (SPEC Q1).
func TestJoinedHasNoRoom(t *testing.T) {
	parts := []*segment{newSegment(1, 0), newSegment(10_001, 0)}
	for i, s := range parts {
		for n := range 4000 {
			slot := s.append(s.base + uint64(n))
			s.class[slot] = 1
			s.posted.add(labelHash("n", task.Label{Name: "a", Value: "1"}), slot)
		}
		for slot := range 3000 + 500*i {
			s.class[slot] = 0
			s.live--
		}
	}
	s := joined(parts...)
	if s.live != 1500 || len(s.revs) != 1500 || cap(s.revs) != 1500 || cap(s.class) != 1500 || cap(s.times[dueAt].low) != 1500 {
		t.Errorf("%d tasks, %d slots, room for %d", s.live, len(s.revs), cap(s.revs))
	}
	if got := s.posted.slots(labelHash("n", task.Label{Name: "a", Value: "1"}), nil); len(got) != 1500 || got[1499] != 1499 {
		t.Errorf("%d slots with the label", len(got))
	}
}
