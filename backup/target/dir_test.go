package target_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/taskrt/taskrt/backup/target"
	"github.com/taskrt/taskrt/backup/target/targettest"
)

func TestDir(t *testing.T) {
	t.Parallel()
	targettest.Test(t, target.Dir(t.TempDir()))
}

// TestDirMissing: a directory that is not there, or is not mounted, is not made.
func TestDirMissing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "backups")
	if err := target.Dir(dir).Put(t.Context(), "a/b", strings.NewReader("x"), 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := target.Dir(dir).Create(t.Context(), "a/b", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was made: %v", err)
	}
	if _, err := target.Dir(dir).Folders(t.Context(), ""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its folders are listed: %v", err)
	}
}

// TestSweep: what killed processes have left is removed when it is old, by the clock of the file system, and not before.
func TestSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := target.Dir(dir)
	if err := d.Put(t.Context(), "a/b", strings.NewReader("x"), 1); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, "a", ".unfinished", "part-1")
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		age  time.Duration
		gone bool
	}{{time.Hour, false}, {25 * time.Hour, true}} {
		old := time.Now().Add(-x.age)
		if err := os.Chtimes(left, old, old); err != nil {
			t.Fatal(err)
		}
		if err := d.Sweep(t.Context(), "a/", 24*time.Hour); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(left); errors.Is(err, os.ErrNotExist) != x.gone {
			t.Errorf("%v old: %v", x.age, err)
		}
	}
	if all, err := os.ReadDir(filepath.Dir(left)); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}

// TestFull: on a full disk a write says so, and leaves nothing.
func TestFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("SKIPPED, NOT SHOWN: cannot mount a small disk: %v", err)
	}
	defer func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	d := target.Dir(dir)
	for range 3 {
		if err := d.Put(t.Context(), "a/b", bytes.NewReader(make([]byte, 2<<20)), 2<<20); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%v", err)
		}
	}
	if err := d.Put(t.Context(), "a/b", bytes.NewReader(make([]byte, 500<<10)), 500<<10); err != nil {
		t.Errorf("nothing was left, and a smaller one does not fit: %v", err)
	}
}
