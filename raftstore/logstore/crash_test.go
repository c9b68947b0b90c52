package logstore

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/types"
	"golang.org/x/sys/unix"

	"github.com/taskrt/taskrt/internal/leash"
)

// child starts childMain, as an argument of the command args if there is one.
func (s *suite) child(args ...string) (*exec.Cmd, *bufio.Scanner) {
	s.t.Helper()
	args = append(args, os.Args[0])
	cmd := leash.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "LOGSTORE_CHILD="+s.dir, "LOGSTORE_KIND="+string(s.kind))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// TestKilled: a process that is killed at any moment loses nothing that it was told is durable.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	eachKind(t, func(t *testing.T, s *suite) {
		s.close()
		var x told
		for range 8 {
			cmd, lines := s.child()
			for n := 20 + mathrand.IntN(300); n > 0 && lines.Scan(); n-- {
				x.hear(lines.Text())
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			for lines.Scan() {
				x.hear(lines.Text())
			}
			_ = cmd.Wait()
			if x.failed != "" {
				t.Fatal(x.failed)
			}
			s.after(&x)
		}
		if !x.deleted {
			t.Fatal("the log was never compacted: the test shows nothing")
		}
	})
}

// TestFailingSync: a failing sync is reported. All that was reported durable before it is there.
func TestFailingSync(t *testing.T) {
	needStrace(t)
	eachKind(t, func(t *testing.T, s *suite) {
		s.close()
		var x told
		for _, when := range []int{30, 31, 60, 101} {
			cmd, lines := s.child("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e", fmt.Sprintf("inject=fsync,fdatasync:error=EIO:when=%d+", when))
			x.failed = ""
			for lines.Scan() {
				x.hear(lines.Text())
			}
			_ = cmd.Wait()
			if !strings.Contains(x.failed, "input/output error") {
				t.Fatalf("fsync %d fails: %q", when, x.failed)
			}
			s.after(&x)
		}
	})
}

// TestFullDisk: a full disk is reported. All that was reported durable before is there when there is room again.
func TestFullDisk(t *testing.T) {
	for _, kind := range Kinds {
		t.Run(string(kind), func(t *testing.T) {
			dir := t.TempDir()
			if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
				t.Skipf("SKIPPED, NOT SHOWN: cannot mount a small disk: %v", err)
			}
			defer func() {
				if err := unix.Unmount(dir, 0); err != nil {
					t.Error(err)
				}
			}()
			filler := filepath.Join(dir, "filler")
			if err := os.WriteFile(filler, make([]byte, 500<<10), 0o600); err != nil {
				t.Fatal(err)
			}
			s := &suite{t: t, dir: dir, kind: kind}
			var behind error
			x, err := Open(dir, kind, Options{SegmentBytes: fileBytes, OnError: func(err error) { behind = err }})
			if err != nil {
				t.Fatal(err)
			}
			last := uint64(0)
			for ; err == nil; last++ {
				if err = x.StoreLog(want(last+1, 1)); err != nil {
					break
				}
			}
			_ = x.Close()
			if !errors.Is(err, unix.ENOSPC) && !errors.Is(behind, unix.ENOSPC) {
				t.Fatalf("a full disk is told as %v, %v", err, behind)
			}
			if last < 100 {
				t.Fatalf("full after %d entries", last)
			}
			if err := os.Remove(filler); err != nil {
				t.Fatal(err)
			}
			heard := told{first: 1, more: []uint64{1}}
			for range last {
				heard.terms = append(heard.terms, 1)
			}
			s.after(&heard)
		})
	}
}

// stuckMeta fails to take the note that a file is full.
type stuckMeta struct {
	types.MetaStore
	stuck bool
}

func (m *stuckMeta) CommitState(s types.PersistentState) error {
	if m.stuck {
		return errors.New("died here")
	}
	return m.MetaStore.CommitState(s)
}

// TestDiedBetweenFiles: the process died after a file was full and before the next file was begun.
func TestDiedBetweenFiles(t *testing.T) {
	s := &suite{t: t, dir: t.TempDir(), kind: WAL}
	s.open()
	s.close()
	meta := &stuckMeta{MetaStore: &metadb.BoltMetaDB{}}
	w, err := wal.Open(filepath.Join(s.dir, walDir), wal.WithSegmentSize(fileBytes), wal.WithMetaStore(meta))
	if err != nil {
		t.Fatal(err)
	}
	meta.stuck = true
	last := uint64(0)
	for ; err == nil; last++ {
		err = w.StoreLog(want(last+1, 1))
	}
	last--
	if !errors.Is(err, wal.ErrSealed) {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// The library itself opens the log like this.
	w, err = wal.Open(filepath.Join(s.dir, walDir), wal.WithSegmentSize(fileBytes))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.StoreLog(want(last+1, 1)); !errors.Is(err, wal.ErrSealed) {
		t.Fatalf("raft-wal has mended this (%v): rotatedMeta may go", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s.open()
	s.holds(1, last, always(1))
	s.append(last+1, last+500, 1)
	s.reopen()
	s.holds(1, last+500, always(1))
	s.close()
}

// TestTornTail: the power failed in the middle of an append, so some of its bytes are there and some are not. This
// append is gone, and nothing else is. In bbolt's format the two meta pages take care of this. The test is about WAL's
// files.
func TestTornTail(t *testing.T) {
	for _, size := range []uint64{1, 9, 400} { // the largest append fills the file, so the index stands behind it
		for _, tear := range []string{"begin", "middle", "index", "commit", "end", "garbage behind"} {
			t.Run(fmt.Sprintf("%d entries, %s", size, tear), func(t *testing.T) {
				s := &suite{t: t, dir: t.TempDir(), kind: WAL}
				s.open()
				s.append(1, 20, 1)
				s.close()
				file, before := s.tail()
				s.open()
				s.append(21, 20+size, 1)
				s.close()
				after, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				end := len(bytes.TrimRight(after, "\x00"))
				lost := true
				switch tear {
				case "begin":
					clear(after[before : before+8])
				case "middle":
					clear(after[(before+end)/2 : end])
				case "index": // a full file has an index, which says where the entries are
					clear(after[end-8-min(int(20+size)*4, (end-before)/2) : end-8])
				case "commit":
					clear(after[end-8 : end])
				case "end":
					after = after[:end-1]
				default:
					lost = false
					_, _ = io.ReadFull(rand.Reader, after[min(end+16, len(after)):min(end+500, len(after))])
				}
				s.forget(file, after)
				s.open()
				last := 20 + size
				if lost {
					last = 20
				}
				s.holds(1, last, always(1))
				s.append(last+1, last+100, 1)
				s.reopen()
				s.holds(1, last+100, always(1))
				s.close()
			})
		}
	}
}

// TestTornTwice: torn bytes of a power failure say nothing about the append that is written over them.
func TestTornTwice(t *testing.T) {
	s := &suite{t: t, dir: t.TempDir(), kind: WAL}
	s.open()
	s.append(1, 20, 1)
	s.close()
	file, before := s.tail()
	store := func(sizes ...int) (content []byte, end int) {
		s.open()
		var es []*raft.Log
		for i, n := range sizes {
			es = append(es, &raft.Log{Index: 21 + uint64(i), Term: 2, Data: bytes.Repeat([]byte{0xee}, n)})
		}
		if err := s.StoreLogs(es); err != nil {
			t.Fatal(err)
		}
		s.close()
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return content, before + len(bytes.TrimRight(content[before:], "\x00"))
	}
	content, end := store(2000, 500)
	clear(content[end-8 : end]) // the commit frame is lost
	s.forget(file, content)
	content, _ = store(1992) // it ends where entry 22 began
	clear(content[before+1000 : before+1500])
	s.forget(file, content)
	s.open()
	s.holds(1, 20, always(1))
	s.close()
}

// TestDamagedFile: an append that is not whole and has other appends behind it is no torn tail. None of it is cleared.
func TestDamagedFile(t *testing.T) {
	s := &suite{t: t, dir: t.TempDir(), kind: WAL}
	s.open()
	s.append(1, 20, 1)
	s.close()
	file, end := s.tail()
	s.open()
	s.append(21, 25, 1)
	s.append(26, 30, 1)
	s.close()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	content[end+50]++
	s.forget(file, content)
	for range 2 {
		if _, err := Open(s.dir, s.kind, s.options()); !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	}
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, content) {
		t.Fatal("the file was changed: ", err)
	}
}

// tail returns the newest file of the log, and where the file's content ends.
func (s *suite) tail() (file string, end int) {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, walDir, "*.wal"))
	if err != nil || len(files) == 0 {
		s.t.Fatal(files, err)
	}
	b, err := os.ReadFile(slices.Max(files))
	if err != nil {
		s.t.Fatal(err)
	}
	return slices.Max(files), len(bytes.TrimRight(b, "\x00"))
}

// forget gives a file this content. It makes the log forget every file that was begun after it.
func (s *suite) forget(file string, content []byte) {
	s.t.Helper()
	if err := os.WriteFile(file, content, 0o600); err != nil {
		s.t.Fatal(err)
	}
	meta := &metadb.BoltMetaDB{}
	state, err := meta.Load(filepath.Join(s.dir, walDir))
	if err != nil {
		s.t.Fatal(err)
	}
	state.Segments = state.Segments[:1]
	state.Segments[0].SealTime, state.Segments[0].MaxIndex, state.Segments[0].IndexStart = time.Time{}, 0, 0
	if err := errors.Join(meta.CommitState(state), meta.Close()); err != nil {
		s.t.Fatal(err)
	}
}
