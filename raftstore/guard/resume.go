package guard

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/raftstore/committed"
)

// The library forgets how far its log is committed. When a node starts, it restores the newest snapshot, waits for a leader, and then hands the fsm
// all that was applied before, through a queue of 128 batches. The library's main goroutine fills the queue, and heartbeats, votes and the lease pass
// through the same goroutine. When all nodes had been killed with 62,000 small entries behind the snapshot, that goroutine waited for seconds on each
// of them, and leaders stepped down one after the other.
//
// So a node notes how far its log is committed (package committed). Entries that the note covers are applied here, before the library starts. The
// library is told that it starts from a snapshot that ends there: it asks for the list of snapshots once, and opens none (NoSnapshotRestoreOnStart).
// From then on it sees the real snapshots. Nothing on disk has changed, and the log has every entry that it had. A follower that lacks entries still
// gets them from the log, or the real snapshot.

// resume brings the fsm to where the log is known to be committed. It returns the snapshot that the library is told is the newest; nil: the fsm is
// empty.
func (r *Raft) resume(fsm raft.ConfigurationStore) (*raft.SnapshotMeta, error) {
	at, err := r.restore(fsm)
	if err != nil {
		return nil, err
	}
	from := uint64(0)
	if at != nil {
		from = at.Index
	}
	note, ok := committed.Read(r.dir)
	if !ok || note.Index <= from {
		return at, nil
	}
	var last raft.Log
	switch err := r.disk.GetLog(note.Index, &last); {
	case errors.Is(err, raft.ErrLogNotFound), err == nil && committed.Of(&last) != note:
		r.logger.Info("the log is not the one that was noted as committed: the leader will tell", "index", note.Index)
		return at, nil
	case err != nil:
		return nil, fmt.Errorf("raftstore: read log: %w", err)
	}
	begun := time.Now()
	at, err = r.replay(fsm, at, from, note.Index)
	if err == nil {
		r.logger.Info("applied what was committed before this start", "after", from, "to", at.Index, "took", time.Since(begun))
	}
	return at, err
}

// restore restores the newest snapshot that can be restored, and returns it; nil: there is none.
func (r *Raft) restore(fsm raft.FSM) (*raft.SnapshotMeta, error) {
	metas, err := r.snaps.List() // newest first
	if err != nil {
		return nil, fmt.Errorf("raftstore: list snapshots: %w", err)
	}
	for _, meta := range metas {
		begun := time.Now()
		_, source, err := r.snaps.Open(meta.ID)
		if err == nil {
			err = fsm.Restore(source)
			_ = source.Close() // the fsm has closed it
		}
		if err == nil {
			r.logger.Info("restored a snapshot", "snapshot", meta.ID, "index", meta.Index, "took", time.Since(begun))
			return meta, nil
		}
		r.logger.Error("cannot restore a snapshot", "snapshot", meta.ID, "err", err)
	}
	if len(metas) > 0 {
		return nil, errors.New("raftstore: start: failed to load any existing snapshots")
	}
	return nil, nil
}

// replay applies the entries behind from, up to to. It returns the snapshot that would end there. If an entry cannot be applied, replay ends: the fsm
// has stopped the node.
func (r *Raft) replay(fsm raft.ConfigurationStore, at *raft.SnapshotMeta, from, to uint64) (*raft.SnapshotMeta, error) {
	as := raft.SnapshotMeta{Version: raft.SnapshotVersionMax}
	if at != nil {
		as = *at
	}
	for i := from + 1; i <= to; i++ {
		l := new(raft.Log) // the fsm may keep it
		if err := r.disk.GetLog(i, l); err != nil {
			return nil, fmt.Errorf("%w: entry %d: %w", errLogIncomplete, i, err)
		}
		switch l.Type {
		case raft.LogCommand:
			if _, stopped := fsm.Apply(l).(error); stopped {
				return &as, nil
			}
		case raft.LogConfiguration:
			as.Configuration, as.ConfigurationIndex = raft.DecodeConfiguration(l.Data), l.Index
			noted{fsm, r}.StoreConfiguration(l.Index, as.Configuration)
		}
		as.Index, as.Term = l.Index, l.Term
	}
	return &as, nil
}

// resumed shows the library its snapshots. At its start, the library sees a snapshot that ends where the fsm is.
type resumed struct {
	raft.SnapshotStore
	at    atomic.Pointer[raft.SnapshotMeta]
	asked func() // called when the library asks: it does so at its start, after it has written its term
}

// List implements raft.SnapshotStore.
func (s *resumed) List() ([]*raft.SnapshotMeta, error) {
	s.asked()
	if at := s.at.Swap(nil); at != nil {
		return []*raft.SnapshotMeta{at}, nil
	}
	return s.SnapshotStore.List()
}

// noted is an fsm whose applied entries are noted as committed.
type noted struct {
	raft.ConfigurationStore
	raft *Raft
}

// Apply implements raft.FSM.
func (n noted) Apply(l *raft.Log) any {
	answer := n.ConfigurationStore.Apply(l)
	if _, stopped := answer.(error); !stopped {
		n.raft.noted.Note(l)
	}
	return answer
}

// StoreConfiguration implements raft.ConfigurationStore.
func (n noted) StoreConfiguration(index uint64, c raft.Configuration) {
	n.ConfigurationStore.StoreConfiguration(index, c)
	n.raft.config.Store(index)
}
