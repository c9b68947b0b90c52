package raftstore

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// A snapshot file is: magic, version, applied index (uint64 big-endian), then what task/wire writes. It has the index
// because raft's own metadata do not reach Restore, and the machine does not see membership entries.
const (
	snapshotMagic   = "taskrt\x00"
	snapshotVersion = wire.Format
)

type snapshot struct {
	frozen  *task.Frozen
	applied uint64
	upTo    logSize // the part of fsm.grown that it covers
	fsm     *fsm
}

// Persist implements raft.FSMSnapshot. It runs beside Apply.
func (s *snapshot) Persist(sink raft.SnapshotSink) error {
	limited := s.fsm.persist.limit(sink)
	w := bufio.NewWriterSize(limited, 256<<10)
	var head [len(snapshotMagic) + 9]byte
	copy(head[:], snapshotMagic)
	head[len(snapshotMagic)] = snapshotVersion
	binary.BigEndian.PutUint64(head[len(snapshotMagic)+1:], s.applied)
	_, err := w.Write(head[:])
	if err == nil {
		err = wire.WriteSnapshot(w, s.frozen)
	}
	if err == nil {
		err = w.Flush()
	}
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
	s.fsm.lastSnap = limited.n
	s.fsm.mu.Unlock()
	return nil
}

// Release implements raft.FSMSnapshot.
func (s *snapshot) Release() {}

func readSnapshot(r io.Reader, options ...task.Option) (applied uint64, m *task.Machine, err error) {
	br := bufio.NewReaderSize(r, 256<<10)
	var head [len(snapshotMagic) + 9]byte
	if _, err := io.ReadFull(br, head[:]); err != nil {
		return 0, nil, fmt.Errorf("raftstore: read snapshot: %w", err)
	}
	if string(head[:len(snapshotMagic)]) != snapshotMagic {
		return 0, nil, errors.New("raftstore: not a snapshot of taskrt")
	}
	if v := head[len(snapshotMagic)]; v != snapshotVersion {
		return 0, nil, fmt.Errorf("raftstore: snapshot has version %d, this build reads %d", v, snapshotVersion)
	}
	m, err = wire.ReadSnapshot(br, options...)
	if err != nil {
		return 0, nil, fmt.Errorf("raftstore: read snapshot: %w", err)
	}
	return binary.BigEndian.Uint64(head[len(snapshotMagic)+1:]), m, nil
}

// readable says why a snapshot cannot be restored, or returns nil.
func readable(r io.Reader) error {
	_, _, err := readSnapshot(r)
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

// persister limits the rate at which snapshots are written. Without a limit a snapshot of 122 MB pushed the latency of
// proposals from 2 to 80 ms (docs/architecture.md#snapshots). While the store closes there is nothing to protect, and
// no limit.
type persister struct {
	perSecond int64
	hurry     <-chan struct{} // if closed: write as fast as the disk can
	abort     <-chan struct{} // if closed: give up
}

type limitedWriter struct {
	persister
	w     io.Writer
	n     int64
	begun time.Time
}

func (p persister) limit(w io.Writer) *limitedWriter {
	return &limitedWriter{persister: p, w: w, begun: time.Now()}
}

var errAborted = errors.New("raftstore: snapshot given up")

func (l *limitedWriter) Write(p []byte) (int, error) {
	n, err := l.w.Write(p)
	l.n += int64(n)
	if err != nil {
		return n, err
	}
	select {
	case <-l.abort:
		return n, errAborted
	case <-l.hurry:
		return n, nil
	default:
	}
	due := l.begun.Add(time.Duration(float64(l.n) / float64(l.perSecond) * float64(time.Second)))
	if d := time.Until(due); d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-l.hurry:
		case <-l.abort:
		}
	}
	return n, nil
}

// Trailing logs are kept by bytes, but raft counts entries. These bound the conversion.
const (
	minTrailing = 64
	maxTrailing = 10240
)

// snapshotWhenGrown takes a snapshot whenever the log has grown by max(SnapshotBytes, size of the last snapshot), plus
// up to 20 % so that the nodes do not all write at once (docs/architecture.md#snapshots).
func (s *Store) snapshotWhenGrown(ctx context.Context) {
	jitter := 1 + rand.Float64()/5
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.grown:
		}
		s.fsm.mu.RLock()
		grown, last := s.fsm.grown.bytes, s.fsm.lastSnap
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
	rc := s.raft.ReloadableConfig()
	rc.TrailingLogs = trailingLogs(s.cfg.TrailingBytes, size)
	if err := s.raft.ReloadConfig(rc); err != nil {
		return fmt.Errorf("raftstore: reload: %w", err)
	}
	err := s.raft.Snapshot().Error()
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
