package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	walfs "github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"

	"github.com/taskrt/taskrt/internal/durable"
)

const walMeta = metadb.FileName

func openWAL(dir string, o *Options) (Store, error) {
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		err = durable.Sync(filepath.Dir(dir)) // nothing points to it before
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	files := &segments{SegmentFiler: segment.NewFiler(dir, walfs.New()), onError: o.OnError}
	meta := &rotatedMeta{MetaStore: &metadb.BoltMetaDB{}, files: files, size: o.SegmentBytes}
	w, err := wal.Open(dir, wal.WithSegmentSize(o.SegmentBytes), wal.WithLogger(o.Logger), wal.WithSegmentFiler(files), wal.WithMetaStore(meta))
	if err != nil { // the library keeps the meta file open, and locked
		return nil, errors.Join(fmt.Errorf("open %s: %w", dir, err), meta.Close())
	}
	return walStore{w}, nil
}

// walStore is the library's store with one repair: entries that were deleted from the beginning of the newest file
// could be read until the next start.
type walStore struct{ Store }

// GetLog implements raft.LogStore.
func (s walStore) GetLog(index uint64, e *raft.Log) error {
	first, err := s.FirstIndex()
	if err != nil {
		return err
	}
	if index < first {
		return raft.ErrLogNotFound
	}
	return s.Store.GetLog(index, e)
}

// segments are the files of a log. The library begins the next file in a goroutine that only logs errors: the disk may
// be full, and the next append would say "sealed".
type segments struct {
	types.SegmentFiler
	onError func(error)
}

// Create implements types.SegmentFiler.
func (s *segments) Create(info types.SegmentInfo) (types.SegmentWriter, error) {
	w, err := s.SegmentFiler.Create(info)
	if err != nil {
		err = fmt.Errorf("begin the next file of the log: %w", err)
		s.onError(err)
	}
	return w, err
}

// rotatedMeta is the library's meta store with two repairs, which are made before the library looks. First, an append that a power failure has torn
// is cleared (clearTorn). Second, a process may die after the append that filled a file and before the next file was begun. It leaves a last file
// that takes no appends: raft-wal v0.4.2 opens it and then refuses every append ("segment is sealed"). So Load writes what the library had been about
// to write.
type rotatedMeta struct {
	types.MetaStore
	files types.SegmentFiler
	size  int
}

// Load implements types.MetaStore.
func (m *rotatedMeta) Load(dir string) (types.PersistentState, error) {
	state, err := m.MetaStore.Load(dir)
	n := len(state.Segments)
	if err != nil || n == 0 || !state.Segments[n-1].SealTime.IsZero() {
		return state, err
	}
	last := &state.Segments[n-1]
	err = clearTorn(filepath.Join(dir, segment.FileName(*last)))
	if errors.Is(err, fs.ErrNotExist) {
		return state, nil // the library begins it
	}
	if err != nil {
		return state, err
	}
	w, err := m.files.RecoverTail(*last)
	if err != nil {
		return state, err
	}
	defer w.Close()
	full, index, err := w.Sealed()
	if err != nil || !full || w.LastIndex() == 0 {
		return state, err
	}
	last.SealTime, last.MaxIndex, last.IndexStart = time.Now(), w.LastIndex(), index
	if err := m.check(*last); err != nil {
		return state, fmt.Errorf("%w: the last file cannot be read: %w", ErrDamaged, err)
	}
	state.Segments = append(state.Segments, types.SegmentInfo{
		ID: state.NextSegmentID, BaseIndex: w.LastIndex() + 1, MinIndex: w.LastIndex() + 1,
		SizeLimit: uint32(m.size), Codec: last.Codec, CreateTime: time.Now(),
	})
	state.NextSegmentID++
	return state, m.CommitState(state)
}

// check reads all entries of a full file by its index.
func (m *rotatedMeta) check(info types.SegmentInfo) error {
	r, err := m.files.Open(info)
	if err != nil {
		return err
	}
	defer r.Close()
	for i := info.MinIndex; i <= info.MaxIndex; i++ {
		b, err := r.GetLog(i)
		if err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		if err := b.Close(); err != nil {
			return err
		}
	}
	return nil
}
