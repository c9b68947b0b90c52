package raftstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/raftstore/snapfile"
	"github.com/taskrt/taskrt/task"
)

type snapshot struct {
	frozen  *task.Frozen
	applied uint64
	upTo    logSize // the part of fsm.grown that it covers
	fsm     *fsm
}

// Persist implements raft.FSMSnapshot. It runs beside Apply.
func (s *snapshot) Persist(sink raft.SnapshotSink) error {
	limited := s.fsm.persist.Limit(sink)
	err := snapfile.Write(limited, s.applied, s.frozen)
	if err == nil {
		err = sink.Close()
	}
	if err != nil {
		_ = sink.Cancel()
		return fmt.Errorf("raftstore: write snapshot: %w", err)
	}
	s.fsm.mu.Lock()
	// Meanwhile a snapshot from the leader may have begun the count anew.
	s.fsm.grown.entries = max(0, s.fsm.grown.entries-s.upTo.entries)
	s.fsm.grown.bytes = max(0, s.fsm.grown.bytes-s.upTo.bytes)
	s.fsm.grown.took = max(0, s.fsm.grown.took-s.upTo.took)
	s.fsm.lastSnap = limited.N
	s.fsm.mu.Unlock()
	return nil
}

// Release implements raft.FSMSnapshot.
func (s *snapshot) Release() {}

// readable says why a snapshot cannot be restored, or returns nil.
func readable(r io.Reader) error {
	_, _, err := snapfile.Read(r)
	return err
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// Trailing logs are kept by bytes, but raft counts entries. These bound the conversion.
const (
	minTrailing = 64
	maxTrailing = 10240
)

// The next start reads and applies what lies behind the snapshot. A small entry takes as long as some bytes, and so does
// a second in which the machine was busy (SPEC C10).
const (
	bytesPerEntry  = 640      // with a log of 64 MiB, 105,000 entries
	bytesPerSecond = 32 << 20 // 2 s
)

// weight returns how many bytes of log take as long to replay.
func (l logSize) weight() int64 {
	return max(l.bytes, l.entries*bytesPerEntry, int64(l.took.Seconds()*bytesPerSecond))
}

// snapshotWhenGrown takes a snapshot whenever the log has grown by as much as max(SnapshotBytes, size of the last
// snapshot), plus up to 20 % so that the nodes do not all write at once (docs/architecture.md#snapshots).
func (s *Store) snapshotWhenGrown(ctx context.Context) {
	jitter := 1 + rand.Float64()/5
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.grown:
		}
		s.fsm.mu.RLock()
		grown, last := s.fsm.grown.weight(), s.fsm.lastSnap
		s.fsm.mu.RUnlock()
		if float64(grown) < jitter*float64(max(s.cfg.SnapshotBytes, last)) {
			continue
		}
		jitter = 1 + rand.Float64()/5
		if err := s.snapshot(); err != nil {
			s.log.Warn("snapshot failed", "err", err)
			// Nothing is lost: the log has all of it. Try again a little later, not with every entry.
			select {
			case <-ctx.Done():
				return
			case <-time.After(10 * time.Second):
			}
		}
	}
}

// snapshot takes a snapshot now and compacts the log behind it.
func (s *Store) snapshot() error {
	s.fsm.mu.RLock()
	size := s.fsm.grown
	s.fsm.mu.RUnlock()
	err := s.raft.Reload(func(c *raft.ReloadableConfig) { c.TrailingLogs = trailingLogs(s.cfg.TrailingBytes, size) })
	if err != nil {
		return err
	}
	err = s.raft.Snapshot().Error()
	if errors.Is(err, raft.ErrNothingNewToSnapshot) {
		return nil
	}
	return err
}

// trailingLogs converts bytes into entries, by the mean size of the entries since the last snapshot.
func trailingLogs(bytes int64, size logSize) uint64 {
	if size.entries == 0 {
		return maxTrailing
	}
	return uint64(min(max(bytes/max(1, size.bytes/size.entries), minTrailing), maxTrailing))
}

// noteGrowth tells snapshotWhenGrown that the log has grown. It is called for every entry and must not block.
func (s *Store) noteGrowth() {
	wake(s.grown)
}
