package service

import (
	"testing"
	"time"

	"github.com/taskrt/taskrt/task"
)

// TestRatesKnowTheTime: a bucket fills by the time that passes here while the log stands still, even when this node's
// wall clock is behind the leader's.
func TestRatesKnowTheTime(t *testing.T) {
	t.Parallel()
	const log = task.Time(1_000_000)
	at := func(ms int64) time.Time { return time.UnixMilli(int64(log) + ms) }
	var r rates
	for _, step := range []struct {
		what string
		log  task.Time
		mono time.Duration
		wall time.Time
		want task.Time
	}{
		{"first seen", log, time.Hour, at(-5_000), log},
		{"later, and the wall clock behind", log, time.Hour + 700*time.Millisecond, at(-4_300), log + 700},
		{"the wall clock ahead", log, time.Hour + 800*time.Millisecond, at(2_000), log + 2_000},
		{"the log goes on", log + 100, time.Hour + 900*time.Millisecond, at(-4_100), log + 100},
		{"and stands still again", log + 100, time.Hour + time.Second, at(-4_000), log + 200},
	} {
		if got := r.now(step.log, step.mono, step.wall); got != step.want {
			t.Errorf("%s: %d, want %d", step.what, got-log, step.want-log)
		}
	}
}
