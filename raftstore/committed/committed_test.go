package committed

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

func entry(index uint64) *raft.Log {
	return &raft.Log{Index: index, Term: 3, Type: raft.LogCommand, Data: []byte("d")}
}

// TestFile: what was noted is read at the next start, soon and not at once; the last note of a File that ends is kept.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		if _, ok := Read(dir); ok {
			t.Fatal("an entry of a directory without a file")
		}
		f := New(dir, slog.New(slog.DiscardHandler))
		f.Note(entry(5))
		synctest.Wait()
		if e, ok := Read(dir); !ok || e != Of(entry(5)) {
			t.Fatalf("%+v %v", e, ok)
		}
		f.Note(entry(6))
		f.Note(entry(7))
		synctest.Wait()
		if e, _ := Read(dir); e.Index != 5 {
			t.Fatalf("written at once: %d", e.Index)
		}
		<-time.After(pause)
		synctest.Wait()
		if e, _ := Read(dir); e != Of(entry(7)) {
			t.Fatalf("%+v", e)
		}
		f.Note(entry(8))
		f.Stop()
		f.Stop()
		f.Wait()
		if e, _ := Read(dir); e != Of(entry(8)) {
			t.Fatalf("%+v", e)
		}
	})
}

// TestTornFile: a file of which a crash has left a part, or one with any bit of it turned, gives no entry.
func TestTornFile(t *testing.T) {
	dir := t.TempDir()
	whole := encode(Of(entry(77)))
	put := func(b []byte) bool {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, ok := Read(dir)
		return ok
	}
	if !put(whole) {
		t.Fatal("the whole file gives no entry: this shows nothing")
	}
	for n := range len(whole) {
		if put(whole[:n]) {
			t.Errorf("%d bytes of %d give an entry", n, len(whole))
		}
		if put(append(bytes.Clone(whole[:n]), make([]byte, len(whole)-n)...)) {
			t.Errorf("%d bytes of %d and zeros give an entry", n, len(whole))
		}
	}
	for bit := range 8 * len(whole) {
		b := bytes.Clone(whole)
		b[bit/8] ^= 1 << (bit % 8)
		if put(b) {
			t.Errorf("bit %d turned, and it gives an entry", bit)
		}
	}
	if put(append(bytes.Clone(whole), 0)) {
		t.Error("a longer file gives an entry")
	}
	put([]byte(strings.Repeat("x", 200)))
	f := New(dir, slog.New(slog.DiscardHandler)) // of another version
	f.Note(entry(78))
	f.Stop()
	f.Wait()
	if e, ok := Read(dir); !ok || e.Index != 78 {
		t.Fatalf("%+v %v", e, ok)
	}
}

// TestOtherEntries: another entry at the same place has another name.
func TestOtherEntries(t *testing.T) {
	for what, change := range map[string]func(*raft.Log){
		"term": func(l *raft.Log) { l.Term++ }, "data": func(l *raft.Log) { l.Data = []byte("e") },
		"type": func(l *raft.Log) { l.Type = raft.LogBarrier }, "index": func(l *raft.Log) { l.Index++ },
	} {
		l := entry(9)
		change(l)
		if Of(l) == Of(entry(9)) {
			t.Errorf("another %s gives the same name", what)
		}
	}
}

// TestUnwritable: a directory that takes no file costs the note, and nothing else.
func TestUnwritable(t *testing.T) {
	f := New(filepath.Join(t.TempDir(), "gone"), slog.New(slog.DiscardHandler))
	f.Note(entry(1))
	f.Stop()
	f.Wait()
}
