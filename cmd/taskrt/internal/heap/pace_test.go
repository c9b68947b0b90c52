package heap

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestGCPercent(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		what          string
		live, scanned uint64
		slack         uint64
		want          int
	}{
		{"a new process", 2 * mib, mib, minSlack, 2400},
		{"nothing at all", 0, 0, minSlack, maxGC},
		{"a gigabyte of records", 1024 * mib, 10 * mib, minSlack, 4},
		{"a gigabyte of pointers", 1024 * mib, 1024 * mib, minSlack, 100},
		{"a busy process", 16 * mib, 8 * mib, 160 * mib, 1000},
		{"a busy process with much to look at", 1024 * mib, 512 * mib, 160 * mib, 50},
		{"half of it", 1024 * mib, 512 * mib, minSlack, 50},
		{"more than fits", 1 << 50, 1, minSlack, 1},
	} {
		if got := gcPercent(c.live, c.scanned, c.slack); got != c.want {
			t.Errorf("%s: %d %%, want %d", c.what, got, c.want)
		}
	}
}

// TestSlack: the slack follows how often the collector runs, and the machine bounds it.
func TestSlack(t *testing.T) {
	most, slack := mostSlack(8<<30), uint64(minSlack)
	if most != maxSlack {
		t.Errorf("8 GiB: a slack of up to %d", most)
	}
	for _, step := range []struct {
		since, cost time.Duration
		want        uint64
	}{
		{50 * time.Millisecond, 0, 96 << 20},
		{100 * time.Millisecond, 0, 160 << 20},
		{200 * time.Millisecond, 0, 160 << 20},
		{500 * time.Millisecond, 0, 160 << 20},
		{2 * time.Second, 0, minSlack},
		{time.Minute, 0, minSlack},
		{320 * time.Millisecond, 10 * time.Millisecond, minSlack},
		{320 * time.Millisecond, 11 * time.Millisecond, 96 << 20},
		{1280 * time.Millisecond, 60 * time.Millisecond, 160 << 20},
		{1280 * time.Millisecond, 30 * time.Millisecond, 160 << 20},
		{2560 * time.Millisecond, 30 * time.Millisecond, 160 << 20},
		{2560 * time.Millisecond, 20 * time.Millisecond, minSlack},
	} {
		if slack = nextSlack(slack, most, step.since, step.cost); slack != step.want {
			t.Errorf("a collection after %v that took %v: %d, want %d", step.since, step.cost, slack, step.want)
		}
	}
	for machine, want := range map[uint64]uint64{0: minSlack, 512 << 20: minSlack, 1 << 30: 64 << 20, 64 << 30: maxSlack} {
		if got := mostSlack(machine); got != want {
			t.Errorf("%d bytes: %d, want %d", machine, got, want)
		}
	}
}

// TestSlackEnds: a burst's slack ends without another collection.
func TestSlackEnds(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	keep := make([]byte, 8<<20) // with nothing on the heap GOGC would be the same with any slack
	defer runtime.KeepAlive(keep)
	runtime.GC()
	c := &collector{slack: maxSlack, most: maxSlack}
	c.adapt()
	c.slack, c.cost = maxSlack, 0
	c.set()
	busy := c.percent
	c.relax(c.last.Add(calm))
	if c.slack != maxSlack || c.percent != busy {
		t.Errorf("within %v of a collection: %d, %d %%", calm, c.slack, c.percent)
	}
	c.cost = calm / costly // with minSlack this would be more than a part of the time
	c.relax(c.last.Add(calm + time.Millisecond))
	if c.slack != maxSlack {
		t.Errorf("after costly collections: %d", c.slack)
	}
	c.cost = 0
	c.relax(c.last.Add(calm + time.Millisecond))
	if c.slack != minSlack || c.percent >= busy {
		t.Errorf("after %v without a collection: %d, %d %% (%d %% before)", calm, c.slack, c.percent, busy)
	}
}

// TestCollectorAdapts: after collections GOGC is what the rule says, and follows the heap.
func TestCollectorAdapts(t *testing.T) {
	before := debug.SetGCPercent(100)
	c := &collector{slack: minSlack, most: minSlack}
	c.adapt()
	small := debug.SetGCPercent(100)
	keep := make([]byte, 512<<20)
	runtime.GC()
	c.adapt()
	large := debug.SetGCPercent(before)
	runtime.KeepAlive(keep)
	if small < 100 || large > 20 {
		t.Errorf("GOGC %d with little, %d with half a gigabyte that holds no pointers", small, large)
	}
}
