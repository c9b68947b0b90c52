// Package heap decides how often the garbage collector of a process of taskrt runs, and when unused memory goes back to the
// system.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// How often the garbage collector runs. Go's own rule lets the heap grow by as much as lives. Most of what lives in a
// node holds no pointers (records, params, blobs under way) and costs the collector nothing. So nothing is gained by
// waiting for as much garbage again, and a node with a gigabyte of tasks would take two. A node with little on its
// heap, on the other hand, would collect many times a second under load. So the heap may grow by as much as the
// collector has to look at, but by at least minSlack, and at most as Go lets it. Whoever sets GOGC decides instead;
// GOMEMLIMIT works beside this.
const (
	minSlack  = 48 << 20
	maxGC     = 100_000 // percent: a heap of 32 KiB would ask for as much
	scannedAt = "/gc/scan/total:bytes"
	liveAt    = "/gc/heap/live:bytes"
)

// Tend begins to adapt the garbage collector to the heap, and to give unused memory back, for the life of the process.
func Tend() {
	if os.Getenv("GOGC") != "" {
		return
	}
	(&collector{}).arm()
	go (&saver{}).run()
}

// collector adapts GOGC after each collection, when a finalizer runs.
type collector struct{ percent int }

// mark is garbage until the next collection.
type mark struct{ _ [16]byte }

func (c *collector) arm() {
	runtime.SetFinalizer(&mark{}, func(*mark) {
		c.adapt()
		c.arm()
	})
}

func (c *collector) adapt() {
	s := []metrics.Sample{{Name: scannedAt}, {Name: liveAt}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 || s[1].Value.Kind() != metrics.KindUint64 {
		return // another version of Go keeps its own rule
	}
	want := gcPercent(s[1].Value.Uint64(), s[0].Value.Uint64())
	if d := want - c.percent; d > c.percent/10 || d < -c.percent/10 { // setting it stops the world for a moment
		c.percent = want
		debug.SetGCPercent(want)
	}
}

// gcPercent returns GOGC for a heap of which live bytes live and scanned bytes must be looked at.
func gcPercent(live, scanned uint64) int {
	slack := max(minSlack, min(live, scanned))
	return int(max(1, min(maxGC, slack*100/max(live, 1))))
}
