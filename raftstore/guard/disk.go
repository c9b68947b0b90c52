package guard

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/internal/lateness"
	"github.com/taskrt/taskrt/raftstore/logstore"
)

// deleteChunk is how many entries one transaction deletes. Raft's main loop waits meanwhile
// (docs/architecture.md#deletions-of-the-log: 2.2 s for 1 M).
const deleteChunk = 1000

// The reasons that Config.Fail is called with, wrapped.
var (
	ErrDiskFailed  = errors.New("raftstore: disk failed")
	ErrDiskStalled = errors.New("raftstore: disk stalled")
)

// DiskHealth says how the log's disk is.
type DiskHealth struct {
	Err     error         // the write that failed or stalled; the node has stopped
	Writes  uint64        // durable writes since start
	Bytes   uint64        // bytes of log entries written since start
	Took    time.Duration // all writes together
	Pending time.Duration // how long the disk has taken so far for the write in progress; 0: none is
	Slow    bool          // a write has taken too long to lead, just now or within half a minute

	within [len(diskBounds)]uint64 // for each bound, how many writes took at most this time, and more than the bound before it
}

// diskBounds are the bounds by which durable writes are told apart: how long they took.
var diskBounds = [...]time.Duration{
	250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond,
	time.Second, 10 * time.Second,
}

// count counts a write.
func (h *DiskHealth) count(took time.Duration) {
	h.Writes++
	h.Took += took
	if i, _ := slices.BinarySearch(diskBounds[:], took); i < len(diskBounds) {
		h.within[i]++
	}
}

// Histogram returns, for each bound in seconds, how many writes took no longer.
func (h *DiskHealth) Histogram() map[float64]uint64 {
	all, sum := make(map[float64]uint64, len(diskBounds)), uint64(0)
	for i, bound := range diskBounds {
		sum += h.within[i]
		all[bound.Seconds()] = sum
	}
	return all
}

// disk watches over the log store. A failed write stops the node, so that a node notices its own disk. A slow write costs the leadership, because a
// leader whose disk stalls would otherwise go on leading (raft #503, #614). A write that takes too long stops the node, too, because after a
// timed-out write nobody knows what is in the log.
type disk struct {
	logstore.Store
	slow    time.Duration
	timeout time.Duration
	onSlow  func()
	fatal   func(error)
	late    func() time.Duration // lateness.Meter.Total
	thread  func() thread        // the one that runs the caller
	chunk   uint64               // how many entries one transaction deletes

	mu      sync.Mutex
	health  DiskHealth
	runs    bool // raft's goroutines run
	writing map[*watch]struct{}
	slowAt  time.Time // when the disk was last known to be slow
}

// openDisk opens the log in dir, of the format that the configuration names.
func openDisk(c *Config) (*disk, error) {
	d := &disk{slow: c.DiskSlow, timeout: c.DiskTimeout, onSlow: c.Slow, fatal: c.Fail, late: c.Late, thread: func() thread { return lateness.Current() }, writing: map[*watch]struct{}{}}
	if d.slow = cmp.Or(c.DiskSlow, c.DiskTimeout); d.late == nil {
		d.late = func() time.Duration { return 0 }
	}
	if d.onSlow == nil {
		d.onSlow = func() {}
	}
	kind := cmp.Or(c.LogStore, logstore.Bolt)
	s, err := logstore.Open(c.Dir, kind, logstore.Options{
		SegmentBytes: c.LogSegmentBytes, Lock: c.Lock, Logger: hclogTo(c.Logger).Named("log"),
		OnError: func(err error) { d.fail(fmt.Errorf("%w: %w", ErrDiskFailed, err)) },
	})
	if err != nil {
		return nil, fmt.Errorf("raftstore: open log: %w", err)
	}
	d.Store = s
	if c.WrapDisk != nil {
		d.Store = c.WrapDisk(s)
	}
	// A tree is shortened in steps. raft-wal is shortened at once: it only notes the new bounds and removes files. With steps it would begin a file
	// for each of them.
	if d.chunk = deleteChunk; kind == logstore.WAL {
		d.chunk = math.MaxUint64
	}
	return d, nil
}

// write runs one durable write under watch.
func (d *disk) write(bytes int, f func() error) error {
	took, err := d.watched(f)
	d.mu.Lock()
	d.health.Bytes += uint64(bytes)
	d.health.count(took)
	d.mu.Unlock()
	if err != nil {
		d.fail(fmt.Errorf("%w: %w", ErrDiskFailed, err))
	}
	return err
}

func (d *disk) fail(err error) {
	d.mu.Lock()
	if d.health.Err == nil {
		d.health.Err = err
	}
	d.mu.Unlock()
	d.fatal(err)
}

// Health returns the state of the disk.
func (d *disk) Health() DiskHealth {
	d.mu.Lock()
	h := d.health
	ws := slices.Collect(maps.Keys(d.writing)) // order-free: the longest
	d.mu.Unlock()
	for _, w := range ws {
		w.mu.Lock()
		h.Pending = max(h.Pending, w.took())
		w.mu.Unlock()
	}
	h.Slow = d.isSlow()
	return h
}

// StoreLog implements raft.LogStore.
func (d *disk) StoreLog(l *raft.Log) error { return d.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore.
func (d *disk) StoreLogs(ls []*raft.Log) error {
	bytes := 0
	for _, l := range ls {
		bytes += len(l.Data)
	}
	return d.write(bytes, func() error { return d.Store.StoreLogs(ls) })
}

// Set implements raft.StableStore.
func (d *disk) Set(k, v []byte) error {
	return d.write(0, func() error { return d.Store.Set(k, v) })
}

// SetUint64 implements raft.StableStore. If its term cannot be stored, the library panics, and the process would end before it could say why. Only
// the library's main goroutine stores terms. So this goroutine ends here instead, since the node stops anyhow. Its deferred calls answer the request
// that it was working on, with no.
func (d *disk) SetUint64(k []byte, v uint64) error {
	err := d.write(0, func() error { return d.Store.SetUint64(k, v) })
	if err != nil && string(k) == currentTerm && d.running() {
		runtime.Goexit()
	}
	return err
}

// currentTerm is the library's name for its term.
const currentTerm = "CurrentTerm"

func (d *disk) running() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.runs
}

// started says that raft's goroutines begin to run.
func (d *disk) started() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.runs = true
}

// DeleteRange implements raft.LogStore in bounded transactions. The log must have no hole if the node dies between two of them. So a prefix, which is
// compacted, goes in ascending order. A suffix that conflicts with the leader goes in descending order, and so does the whole log if it conflicts
// with a snapshot (see snapLog).
func (d *disk) DeleteRange(first, last uint64) error {
	lo, err := d.FirstIndex()
	if err != nil {
		return err
	}
	hi, err := d.LastIndex()
	if err != nil {
		return err
	}
	first, last = max(first, lo), min(last, hi)
	if lo == 0 || first > last {
		return nil
	}
	del := func(a, b uint64) error { return d.write(0, func() error { return d.Store.DeleteRange(a, b) }) }
	if last == hi {
		for last-first >= d.chunk {
			if err := del(last-d.chunk+1, last); err != nil {
				return err
			}
			last -= d.chunk
		}
		return del(first, last)
	}
	for last-first >= d.chunk {
		if err := del(first, first+d.chunk-1); err != nil {
			return err
		}
		first += d.chunk
	}
	return del(first, last)
}
