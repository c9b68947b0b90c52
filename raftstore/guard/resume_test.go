package guard

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/raftstore/committed"
)

// recordingFSM notes what it is told.
type recordingFSM struct {
	raft.FSM
	told   []string
	stopAt uint64 // this entry cannot be applied, nor can any behind it
}

func (f *recordingFSM) Apply(l *raft.Log) any {
	if f.stopAt > 0 && l.Index >= f.stopAt {
		return errors.New("stopped")
	}
	f.told = append(f.told, fmt.Sprint(l.Index))
	return nil
}

func (f *recordingFSM) StoreConfiguration(index uint64, c raft.Configuration) {
	f.told = append(f.told, fmt.Sprintf("%d:%s", index, c.Servers[0].ID))
}

func (f *recordingFSM) Restore(r io.ReadCloser) error {
	defer r.Close()
	if err := whole(r); err != nil {
		return err
	}
	f.told = append(f.told, "snapshot")
	return nil
}

// entryOf returns an entry of the log of TestResume: the first is a no-op, the third a configuration.
func entryOf(index uint64) *raft.Log {
	l := &raft.Log{Index: index, Term: 2, Type: raft.LogCommand, Data: []byte{byte(index)}}
	switch index {
	case 1:
		l.Type, l.Data = raft.LogNoop, nil
	case 3:
		l.Type, l.Data = raft.LogConfiguration, raft.EncodeConfiguration(raft.Configuration{Servers: []raft.Server{{ID: "n1", Address: "n1", Suffrage: raft.Voter}}})
	}
	return l
}

// TestResume: a node applies what was noted as committed, if its log has it, and nothing else (SPEC C10).
func TestResume(t *testing.T) {
	other := func(change func(*raft.Log)) *raft.Log {
		l := entryOf(6)
		change(l)
		return l
	}
	for _, tc := range []struct {
		name      string
		first     uint64    // of the log, which ends at 8
		without   uint64    // this entry is missing
		note      *raft.Log // what was noted
		snapshots []uint64
		damaged   bool // the newest of them
		stopAt    uint64
		want      string // what the fsm is told
		at        uint64 // where the library begins
		err       string
	}{
		{name: "nothing noted", first: 1},
		{name: "a part", first: 1, note: entryOf(6), want: "2 3:n1 4 5 6", at: 6},
		{name: "a no-op", first: 1, note: entryOf(1), at: 1},
		{name: "all", first: 1, note: entryOf(8), want: "2 3:n1 4 5 6 7 8", at: 8},
		{name: "more than the log has", first: 1, note: entryOf(9)},
		{name: "an entry of another term", first: 1, note: other(func(l *raft.Log) { l.Term = 3 })},
		{name: "an entry of another cluster", first: 1, note: other(func(l *raft.Log) { l.Data = []byte("other") })},
		{name: "beyond the snapshot", first: 5, note: entryOf(6), snapshots: []uint64{4}, want: "snapshot 5 6", at: 6},
		{name: "a log that overlaps with the snapshot", first: 2, note: entryOf(6), snapshots: []uint64{4}, want: "snapshot 5 6", at: 6},
		{name: "less than the snapshot", first: 2, note: entryOf(3), snapshots: []uint64{4}, want: "snapshot", at: 4},
		{name: "a snapshot and nothing noted", first: 5, snapshots: []uint64{4}, want: "snapshot", at: 4},
		{name: "the newest snapshot is damaged", first: 2, note: entryOf(6), snapshots: []uint64{2, 4}, damaged: true, want: "snapshot 3:n1 4 5 6", at: 6},
		{name: "the only snapshot is damaged", first: 2, note: entryOf(6), snapshots: []uint64{4}, damaged: true, err: "snapshot"},
		{name: "an entry that cannot be applied", first: 1, note: entryOf(6), stopAt: 5, want: "2 3:n1 4", at: 4},
		{name: "a hole", first: 1, without: 4, note: entryOf(6), want: "2 3:n1", err: "entry 4"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, d, dir := openSnapLog(t)
			for i := tc.first; i <= 8; i++ {
				if i == tc.without {
					continue
				}
				if err := d.StoreLog(entryOf(i)); err != nil {
					t.Fatal(err)
				}
			}
			for i, index := range tc.snapshots {
				saveSnapshot(t, dir, l.snaps, index, 2, tc.damaged && i == len(tc.snapshots)-1)
			}
			if tc.note != nil {
				note := committed.New(dir, slog.New(slog.DiscardHandler))
				note.Note(tc.note)
				note.Stop()
				note.Wait()
			}
			r := &Raft{dir: dir, disk: d, snaps: l.snaps, logger: slog.New(slog.DiscardHandler)}
			fsm := &recordingFSM{stopAt: tc.stopAt}
			at, err := r.resume(fsm)
			if got := strings.Join(fsm.told, " "); got != tc.want {
				t.Errorf("the fsm was told %q, want %q", got, tc.want)
			}
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if at == nil {
				at = &raft.SnapshotMeta{}
			}
			if at.Index != tc.at || (at.Index > 0 && at.Term != 2) {
				t.Errorf("the library begins at %+v, want %d", at, tc.at)
			}
			if slices.Contains(fsm.told, "3:n1") != (at.ConfigurationIndex == 3 && len(at.Configuration.Servers) == 1) {
				t.Errorf("the configuration there is %+v of %d", at.Configuration, at.ConfigurationIndex)
			}
		})
	}
}

// TestResumedOnce: the library sees where it begins once, and then the snapshots that there are.
func TestResumedOnce(t *testing.T) {
	l, _, dir := openSnapLog(t)
	saveSnapshot(t, dir, l.snaps, 4, 2, false)
	s := &resumed{SnapshotStore: l.snaps, asked: func() {}}
	s.at.Store(&raft.SnapshotMeta{Index: 9})
	for _, want := range []uint64{9, 4, 4} {
		if metas, err := s.List(); err != nil || len(metas) != 1 || metas[0].Index != want {
			t.Fatalf("%+v %v, want %d", metas, err, want)
		}
	}
}
