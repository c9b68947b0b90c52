// Package heap decides how often the garbage collector of a process of taskrt runs, and when unused memory goes back to the
// system.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// How often the garbage collector runs. Go's own rule lets the heap grow by as much as lives. Most of what lives in a node holds no pointers
// (records, params, blobs under way) and costs the collector nothing. So nothing is gained by waiting for as much garbage again, and a node with a
// gigabyte of tasks would take two. A node with little on its heap, on the other hand, would collect many times a second under load. So the heap may
// grow by as much as the collector has to look at, but by at least a slack, and at most as Go lets it. If GOGC is set, it decides instead. GOMEMLIMIT
// works beside this.
//
// The slack is minSlack while collections are rare and cheap. It doubles with each collection that follows the one before
// within hurried, up to maxSlack: a busy node allocates half a gigabyte a second, and with minSlack a tenth of its CPU time
// would go into looking at the same heap again. It also doubles with each collection that takes more than a part of a
// processor's time, up to a part of what lives: with ten million tasks the collector walks half a million spans each time,
// and a third of the CPU time went there. It is minSlack again once calm has passed without a collection, if collections would
// not be costly then, so that what a burst left behind is collected soon after it.
const (
	minSlack  = 48 << 20
	maxSlack  = 160 << 20
	hurried   = 250 * time.Millisecond
	calm      = time.Second
	costly    = 32      // a collection is costly from such a part of the time since the one before
	ofLive    = 12      // maxSlack is at least such a part of what lives
	ofMachine = 16      // maxSlack is at most such a part of the machine's memory
	maxGC     = 100_000 // percent: a heap of 32 KiB would ask for as much
	scannedAt = "/gc/scan/total:bytes"
	liveAt    = "/gc/heap/live:bytes"
	costAt    = "/cpu/classes/gc/total:cpu-seconds"
)

// Tend begins to adapt the garbage collector to the heap, and to give unused memory back, for the life of the process.
func Tend() {
	if os.Getenv("GOGC") != "" {
		return
	}
	c := &collector{slack: minSlack, most: mostSlack(memory())}
	c.arm()
	go (&saver{}).run(c)
}

// collector adapts GOGC after each collection, when a finalizer runs.
type collector struct {
	mu      sync.Mutex
	percent int
	slack   uint64
	most    uint64 // the largest slack, unless much lives

	// of the last collection
	last          time.Time
	cost          time.Duration // CPU time
	live, scanned uint64        // bytes
	spent         float64       // CPU time of all collections until then, s
}

// mark is garbage until the next collection.
type mark struct{ _ [16]byte }

func (c *collector) arm() {
	runtime.SetFinalizer(&mark{}, func(*mark) {
		c.adapt()
		c.arm()
	})
}

func (c *collector) adapt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := []metrics.Sample{{Name: liveAt}, {Name: scannedAt}, {Name: costAt}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 || s[1].Value.Kind() != metrics.KindUint64 || s[2].Value.Kind() != metrics.KindFloat64 {
		return // another version of Go keeps its own rule
	}
	now, spent := time.Now(), s[2].Value.Float64()
	c.live, c.scanned = s[0].Value.Uint64(), s[1].Value.Uint64()
	c.cost, c.spent = time.Duration((spent-c.spent)*float64(time.Second)), spent
	c.slack, c.last = nextSlack(c.slack, max(c.most, c.live/ofLive), now.Sub(c.last), c.cost), now
	c.set()
}

// relax ends the time of a large slack when nothing was collected for calm: nobody is in a hurry any more.
func (c *collector) relax(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if since := now.Sub(c.last); c.slack > minSlack && since > calm && !dear(c.slack, since, c.cost) {
		c.slack = minSlack
		c.set()
	}
}

// set sets GOGC by the last collection and the slack.
func (c *collector) set() {
	want := gcPercent(c.live, c.scanned, c.slack)
	if d := want - c.percent; d > c.percent/10 || d < -c.percent/10 { // setting it stops the world for a moment
		c.percent = want
		debug.SetGCPercent(want)
	}
}

// nextSlack returns the slack after a collection that came so long after the one before and took so much CPU time.
func nextSlack(slack, most uint64, since, cost time.Duration) uint64 {
	switch {
	case since < hurried, cost > since/costly:
		return min(2*slack, most)
	case since > calm && !dear(slack, since, cost):
		return minSlack
	}
	return slack
}

// dear reports whether collections would be costly with minSlack, if one comes so long after another with slack and takes so much CPU time.
func dear(slack uint64, since, cost time.Duration) bool {
	return float64(cost)*costly > float64(since)*minSlack/float64(slack)
}

// mostSlack returns the largest slack in a machine with so many bytes of memory; 0: nobody knows.
func mostSlack(machine uint64) uint64 {
	if machine == 0 {
		return minSlack
	}
	return max(minSlack, min(maxSlack, machine/ofMachine))
}

// gcPercent returns GOGC for a heap of which live bytes live and scanned bytes must be looked at.
func gcPercent(live, scanned, slack uint64) int {
	return int(max(1, min(maxGC, max(slack, min(live, scanned))*100/max(live, 1))))
}
