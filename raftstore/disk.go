package raftstore

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// deleteChunk is how many entries one transaction deletes: raft's main loop waits meanwhile (facts 3.4: 2.2 s for 1 M).
const deleteChunk = 1000

// DiskHealth says how the log's disk does.
type DiskHealth struct {
	Err     error         // the write that failed or stalled; the node has stopped
	Writes  uint64        // durable writes since start
	Bytes   uint64        // bytes of log entries written since start
	Took    time.Duration // all of them together
	Last    time.Duration // duration of the last write
	Slowest time.Duration // and of the slowest
	Pending time.Duration // how long the write in progress has taken so far; 0: none
}

// disk watches over the log store. A failed write stops the node, so that a node notices its own disk; so does one
// that takes too long: a leader whose disk stalls keeps its leadership otherwise (raft #503, #614), and after a
// timed-out write nobody knows what is in the log.
type disk struct {
	diskStore
	timeout time.Duration
	fatal   func(error)

	mu      sync.Mutex
	health  DiskHealth
	writing map[*time.Timer]time.Time // writes in progress: when they began
}

// storeOptions: without a synced freelist an append stays cheap after a burst (0.33 ms against 6.7 ms at 0.5 M free
// pages); the timeout turns a second process on the same directory into an error. Every write is synced (SPEC T6).
func storeOptions(path string) raftboltdb.Options {
	return raftboltdb.Options{Path: path, BoltOptions: &bbolt.Options{
		NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, Timeout: 2 * time.Second,
	}}
}

// openDisk opens dir/raft.db.
func openDisk(c *Config, fatal func(error)) (*disk, error) {
	bolt, err := raftboltdb.New(storeOptions(filepath.Join(c.Dir, "raft.db")))
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("%w: %s", errDirInUse, c.Dir)
	}
	if err != nil {
		return nil, fmt.Errorf("raftstore: open log: %w", err)
	}
	d := &disk{diskStore: bolt, timeout: c.DiskTimeout, fatal: fatal, writing: map[*time.Timer]time.Time{}}
	if c.wrapDisk != nil {
		d.diskStore = c.wrapDisk(bolt)
	}
	return d, nil
}

// write runs one durable write under the watchdog.
func (d *disk) write(bytes int, f func() error) error {
	begun := time.Now()
	watchdog := time.AfterFunc(d.timeout, func() {
		d.fail(fmt.Errorf("%w: a write takes longer than %v", ErrDiskStalled, d.timeout))
	})
	d.mu.Lock()
	d.writing[watchdog] = begun
	d.mu.Unlock()

	err := f()

	watchdog.Stop()
	took := time.Since(begun)
	d.mu.Lock()
	delete(d.writing, watchdog)
	d.health.Writes++
	d.health.Bytes += uint64(bytes)
	d.health.Took += took
	d.health.Last, d.health.Slowest = took, max(took, d.health.Slowest)
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
	defer d.mu.Unlock()
	h := d.health
	for _, begun := range d.writing {
		h.Pending = max(h.Pending, time.Since(begun))
	}
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
	return d.write(bytes, func() error { return d.diskStore.StoreLogs(ls) })
}

// Set implements raft.StableStore.
func (d *disk) Set(k, v []byte) error {
	return d.write(0, func() error { return d.diskStore.Set(k, v) })
}

// SetUint64 implements raft.StableStore.
func (d *disk) SetUint64(k []byte, v uint64) error {
	return d.write(0, func() error { return d.diskStore.SetUint64(k, v) })
}

// DeleteRange implements raft.LogStore in bounded transactions. The log must stay without holes if the node dies
// between two of them: what is compacted (a prefix) goes in ascending order, what conflicts with the leader (a suffix)
// or with a snapshot (everything, see snapLog) in descending order.
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
	del := func(a, b uint64) error { return d.write(0, func() error { return d.diskStore.DeleteRange(a, b) }) }
	if last == hi {
		for last-first >= deleteChunk {
			if err := del(last-deleteChunk+1, last); err != nil {
				return err
			}
			last -= deleteChunk
		}
		return del(first, last)
	}
	for last-first >= deleteChunk {
		if err := del(first, first+deleteChunk-1); err != nil {
			return err
		}
		first += deleteChunk
	}
	return del(first, last)
}
