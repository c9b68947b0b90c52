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
)

// childMain appends to the log in dir until it is killed or fails, and says on standard output what is durable. It
// deletes from the begin of the log now and then, and cuts its end off and writes it again.
func childMain(dir string) {
	if os.Getenv("LOGSTORE_KIND") == "" {
		migrateForEver(dir)
	}
	s, err := Open(dir, Kind(os.Getenv("LOGSTORE_KIND")), Options{SegmentBytes: fileBytes})
	if err != nil {
		fmt.Println("failed", err)
		os.Exit(3)
	}
	_, last, err := bounds(s)
	for step := 1; err == nil; step++ {
		var es []*raft.Log
		for i := range uint64(1 + step%5) {
			es = append(es, want(last+1+i, 1))
		}
		if err = s.StoreLogs(es); err != nil {
			break
		}
		last += uint64(len(es))
		fmt.Println("holds", last)
		switch {
		case step%40 == 0:
			first, _, _ := bounds(s)
			fmt.Println("begins", last-50)
			err = s.DeleteRange(first, last-51)
		case step%30 == 0:
			fmt.Println("cuts", last-3)
			err = s.DeleteRange(last-2, last)
			last -= 3
		}
	}
	fmt.Println("failed", err)
	os.Exit(3)
}

// child starts childMain, behind the command of args if there is one.
func (s *suite) child(args ...string) (*exec.Cmd, *bufio.Scanner) {
	s.t.Helper()
	args = append(args, os.Args[0])
	cmd := exec.Command(args[0], args[1:]...)
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

// told is what a child has said.
type told struct {
	holds, begins uint64
	failed        string
}

func (x *told) hear(line string) {
	var n uint64
	word, rest, _ := strings.Cut(line, " ")
	_, _ = fmt.Sscan(rest, &n)
	switch word {
	case "holds":
		x.holds = n
	case "cuts":
		x.holds = n // it may be gone from here on
	case "begins":
		x.begins = max(x.begins, n)
	case "failed":
		x.failed = rest
	}
}

// after checks what is there when the child is gone.
func (s *suite) after(x told) {
	s.t.Helper()
	s.open()
	first, last, err := bounds(s)
	if err != nil || last < x.holds || first > max(x.begins, 1) {
		s.t.Fatalf("entries %d to %d (%v), and the child had said %+v", first, last, err, x)
	}
	s.holds(first, last, always(1))
	s.append(last+1, last+3, 1)
	s.close()
}

// TestKilled: a process that is killed at any moment loses nothing that it had been told is durable.
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
			s.after(x)
		}
		if x.begins == 0 {
			t.Fatal("the log was never compacted: the test shows nothing")
		}
	})
}

// TestFailingSync: a sync that fails is told, and what was told before it is there.
func TestFailingSync(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	if out, err := exec.Command("strace", "-f", "-e", "trace=fsync", "-e", "inject=fsync:error=EIO", "true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED, NOT SHOWN: strace cannot inject errors here: %v\n%s", err, out)
	}
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
			s.after(x)
		}
	})
}

// TestFullDisk: a full disk is told, and what was told before it is there once there is room.
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
			s.after(told{holds: last})
		})
	}
}

// stuckMeta does not take the note that a file is full.
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

// TestDiedBetweenFiles: the process died when a file was full and the next one was not begun.
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
	// What the library makes of it.
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

// TestTornTail: the power failed in the middle of an append, so that some of its bytes are there and some are not. That
// append is gone, nothing else is. bbolt's two meta pages are that format's answer; here it is WAL's files.
func TestTornTail(t *testing.T) {
	for _, size := range []uint64{1, 9, 400} { // the last append fills the file, and has the index behind it
		for _, tear := range []string{"begin", "middle", "commit", "end", "garbage behind"} {
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

// tail returns the newest file of the log, and where its content ends.
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

// forget gives a file this content, and lets the log know of none that was begun after it.
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
