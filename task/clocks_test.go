package task_test

import (
	"testing"

	"github.com/taskrt/taskrt/task"
)

// TestClocksNeverGoBack: whatever a leader stamps, neither clock of the log goes back (SPEC C3). A session that was
// opened at a time cannot live longer because a later entry names an earlier one.
func TestClocksNeverGoBack(t *testing.T) {
	r := newRig(t, nil)
	r.h.Now, r.h.LeaseNow = 2_000_000, 5_000
	r.must(task.Tick{})
	r.h.Now, r.h.LeaseNow = 1_500_000, 3_000
	s := r.must(task.OpenSession{Worker: "w2", Slots: 1, TTL: 10_000, Proof: []byte("p")}).Session
	if r.m.Now() != 2_000_000 || r.m.LeaseNow() != 5_000 || s.Expires != 15_000 {
		t.Errorf("now %d, lease clock %d, session until %d", r.m.Now(), r.m.LeaseNow(), s.Expires)
	}
}
