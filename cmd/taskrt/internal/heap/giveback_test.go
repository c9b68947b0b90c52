package heap

import (
	"runtime"
	"testing"
)

// TestMemoryIsGivenBack: when nothing is allocated any more, garbage goes to the system, once.
func TestMemoryIsGivenBack(t *testing.T) {
	var s saver
	held := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapSys - m.HeapReleased
	}
	waste := make([][]byte, 64)
	for i := range waste {
		waste[i] = make([]byte, 1<<20)
		for j := 0; j < len(waste[i]); j += 1 << 10 {
			waste[i][j] = 1
		}
	}
	runtime.GC() // amid the work: as if all of it were needed
	runtime.KeepAlive(waste)
	before := held()
	if s.look() {
		t.Error("it gave memory back while much was allocated")
	}
	if !s.look() {
		t.Error("it kept 64 MiB of garbage")
	}
	if after := held(); before-after < 60<<20 || after > before {
		t.Errorf("%d bytes held before, %d after", before, after)
	}
	if s.look() {
		t.Error("it collected again, with nothing to collect")
	}
}
