package heap

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestGCPercent(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		what          string
		live, scanned uint64
		want          int
	}{
		{"a new process", 2 * mib, mib, 2400},
		{"nothing at all", 0, 0, maxGC},
		{"a gigabyte of records", 1024 * mib, 10 * mib, 4},
		{"a gigabyte of pointers", 1024 * mib, 1024 * mib, 100},
		{"half of it", 1024 * mib, 512 * mib, 50},
		{"more than fits", 1 << 50, 1, 1},
	} {
		if got := gcPercent(c.live, c.scanned); got != c.want {
			t.Errorf("%s: %d %%, want %d", c.what, got, c.want)
		}
	}
}

// TestCollectorAdapts: after collections GOGC is what the rule says, and follows the heap.
func TestCollectorAdapts(t *testing.T) {
	before := debug.SetGCPercent(100)
	c := &collector{}
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
