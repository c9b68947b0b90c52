package guard

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// TestNoHoleInLog: an entry behind a hole that a snapshot fills begins the log anew. An installed snapshot begins it
// anew, too.
func TestNoHoleInLog(t *testing.T) {
	l, d, dir := openSnapLog(t)
	cache, err := raft.NewLogCache(8, d)
	if err != nil {
		t.Fatal(err)
	}
	l.LogStore = cache
	saveSnapshot(t, dir, l.snaps, 9, 1, false)
	for _, i := range []uint64{1, 2, 3, 10, 11} {
		if err := l.StoreLog(&raft.Log{Index: i, Term: 1}); err != nil {
			t.Fatal(err)
		}
	}
	first, _ := l.FirstIndex()
	last, _ := l.LastIndex()
	if err := l.GetLog(3, &raft.Log{}); first != 10 || last != 11 || !errors.Is(err, raft.ErrLogNotFound) {
		t.Fatalf("entries %d to %d, entry 3: %v", first, last, err)
	}
	l.installing.Store(10)
	if err := l.DeleteRange(10, 10); err != nil {
		t.Fatal(err)
	}
	if first, _ := l.FirstIndex(); first != 10 {
		t.Fatalf("the log begins at %d; a snapshot that ends at 10 was just installed, and the leader goes on from there", first)
	}
	if err := l.StoreLog(&raft.Log{Index: 12, Term: 1, Extensions: []byte(atSnapshot)}); err != nil {
		t.Fatal(err)
	}
	if last, _ := l.LastIndex(); last != 0 {
		t.Fatalf("a log up to entry %d is left where a snapshot ends at 12", last)
	}
	if err := d.GetLog(12, &raft.Log{}); !errors.Is(err, raft.ErrLogNotFound) {
		t.Fatalf("what stands for the snapshot is in the log: %v", err)
	}
}

// TestLostEntriesStopTheNode: the log lacks entries that no snapshot has. The log is not emptied, and the node does not
// lead with it.
func TestLostEntriesStopTheNode(t *testing.T) {
	l, _, dir := openSnapLog(t)
	var failed error
	l.fail = func(err error) { failed = err }
	lost := func(what string, err error, want bool) {
		t.Helper()
		if got := errors.Is(err, errLogIncomplete); got != want || (failed != nil) != want {
			t.Errorf("%s: %v; the node: %v", what, err, failed)
		}
		failed = nil
	}
	for i := uint64(20); i <= 22; i++ {
		if err := l.StoreLog(&raft.Log{Index: i, Term: 1}); err != nil {
			t.Fatal(err)
		}
	}
	lost("what is before the log", l.GetLog(19, &raft.Log{}), true)
	lost("what is behind it", l.GetLog(23, &raft.Log{}), false)
	lost("entry 0", l.GetLog(0, &raft.Log{}), false)
	lost("a hole", l.StoreLog(&raft.Log{Index: 24, Term: 1}), true)
	if first, err := l.FirstIndex(); first != 20 || err != nil {
		t.Errorf("the log begins at %d, %v", first, err)
	}
	saveSnapshot(t, dir, l.snaps, 19, 1, false)
	lost("what a snapshot has", l.GetLog(19, &raft.Log{}), false)
	lost("a hole that it does not fill", l.StoreLog(&raft.Log{Index: 24, Term: 1}), true)
}

// TestEntryBeforeLog: the log knows the term of the entry before its first entry, however it lost that entry.
func TestEntryBeforeLog(t *testing.T) {
	l, d, dir := openSnapLog(t)
	saveSnapshot(t, dir, l.snaps, 4, 2, false)
	if err := l.begin(d, slog.New(slog.DiscardHandler)); !errors.Is(err, errLogIncomplete) {
		t.Fatalf("a node that has forgotten its term starts: %v", err)
	}
	if err := d.SetUint64([]byte("CurrentTerm"), 2); err != nil {
		t.Fatal(err)
	}
	if err := l.begin(d, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	before := func(when string, index, term uint64) {
		t.Helper()
		var e raft.Log
		if err := l.GetLog(index, &e); err != nil || e.Term != term || e.Index != index {
			t.Errorf("%s: entry %d: %+v %v, want term %d", when, index, e, err, term)
		}
		if err := l.GetLog(index-1, &e); !errors.Is(err, raft.ErrLogNotFound) {
			t.Errorf("%s: entry %d: %v", when, index-1, err)
		}
	}
	before("at the start", 4, 2)
	for i := uint64(5); i <= 12; i++ {
		if err := l.StoreLog(&raft.Log{Index: i, Term: i / 2}); err != nil {
			t.Fatal(err)
		}
	}
	before("with a log", 4, 2)
	saveSnapshot(t, dir, l.snaps, 8, 4, false)
	if err := l.DeleteRange(5, 8); err != nil {
		t.Fatal(err)
	}
	before("compacted", 8, 4)
	if err := l.DeleteRange(12, 12); err != nil {
		t.Fatal(err)
	}
	before("without its last entry", 8, 4)
	if err := l.StoreLog(&raft.Log{Index: 30, Term: 9, Extensions: []byte(atSnapshot)}); err != nil {
		t.Fatal(err)
	}
	before("after a snapshot of the leader", 30, 9)
}

// TestAgreeAtStart: a node died between the installation of a snapshot and the end of its log's removal. The table says
// what it may find when it starts.
func TestAgreeAtStart(t *testing.T) {
	const end, term = 50, 7 // the snapshot's
	for _, tc := range []struct {
		name        string
		first, last uint64
		term        uint64 // the entries' term
		hole        uint64 // this entry is missing
		damaged     bool
		none        bool      // there is no snapshot
		want        [2]uint64 // what is left of the log
		err         error
	}{
		{name: "goes on", first: 40, last: 60, term: term, want: [2]uint64{40, 60}},
		{name: "ends there", first: 40, last: 50, term: term, want: [2]uint64{40, 50}},
		{name: "conflicts", first: 40, last: 60, term: 6},
		{name: "conflicts at its end", first: 40, last: 50, term: 6},
		{name: "conflicts at its begin", first: 50, last: 60, term: 6},
		{name: "conflicts and the snapshot is damaged", first: 40, last: 60, term: 6, damaged: true, want: [2]uint64{40, 60}},
		{name: "ends before", first: 30, last: 49, term: term},
		{name: "ends before and the snapshot is damaged", first: 30, last: 49, term: term, damaged: true, want: [2]uint64{30, 49}},
		{name: "begins behind", first: 51, last: 60, term: 6, want: [2]uint64{51, 60}},
		{name: "begins too far behind", first: 52, last: 60, term: term, want: [2]uint64{52, 60}, err: errLogIncomplete},
		{name: "has a hole there", first: 40, last: 60, term: term, hole: end, want: [2]uint64{51, 60}},
		{name: "empty"},
		{name: "whole", first: 1, last: 60, term: 1, none: true, want: [2]uint64{1, 60}},
		{name: "incomplete", first: 2, last: 60, term: 1, none: true, want: [2]uint64{2, 60}, err: errLogIncomplete},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, d, dir := openSnapLog(t)
			for i := tc.first; i <= tc.last && i > 0; i++ {
				if i == tc.hole {
					continue
				}
				if err := d.StoreLog(&raft.Log{Index: i, Term: tc.term, Data: []byte("x")}); err != nil {
					t.Fatal(err)
				}
			}
			if !tc.none {
				saveSnapshot(t, dir, l.snaps, end, term, tc.damaged)
			}
			if err := l.agreeAtStart(slog.New(slog.DiscardHandler)); !errors.Is(err, tc.err) {
				t.Fatal(err)
			}
			first, _ := d.FirstIndex()
			last, _ := d.LastIndex()
			if [2]uint64{first, last} != tc.want {
				t.Fatalf("entries %d to %d are left, want %v", first, last, tc.want)
			}
		})
	}
}

const state = "what a snapshot holds"

// whole returns an error unless a snapshot holds the whole state.
func whole(r io.Reader) error {
	b, err := io.ReadAll(r)
	if err == nil && string(b) != state {
		err = fmt.Errorf("a snapshot of %q", b)
	}
	return err
}

// openSnapLog returns an empty log on a disk, without snapshots. If the log stops the node, the test fails.
func openSnapLog(t *testing.T) (l *snapLog, d *disk, dir string) {
	t.Helper()
	dir = t.TempDir()
	fail := func(err error) { t.Error(err) }
	d, err := openDisk(&Config{Dir: dir, DiskTimeout: time.Minute, Fail: fail, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	snaps, err := raft.NewFileSnapshotStore(dir, 2, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	return &snapLog{LogStore: d, snaps: snaps, readable: whole, fail: fail}, d, dir
}

func saveSnapshot(t *testing.T, dir string, snaps raft.SnapshotStore, index, term uint64, damage bool) {
	t.Helper()
	sink, err := snaps.Create(1, index, term, raft.Configuration{}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(sink, state); err != nil {
		t.Fatal(err)
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	if damage {
		if err := os.Truncate(filepath.Join(dir, "snapshots", sink.ID(), "state.bin"), 10); err != nil {
			t.Fatal(err)
		}
	}
}
