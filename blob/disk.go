package blob

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/taskrt/taskrt/internal/durable"
)

const tmpName = "tmp"

func (s *Store) path(digest string) string {
	return filepath.Join(s.cfg.Dir, digest[:2], digest)
}

// diskError words an error of this node's disk.
func diskError(what string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %s: %w", ErrNoSpace, what, err)
	}
	return fmt.Errorf("blob: %s: %w", what, err)
}

// createTemp makes a temporary file. It makes the folder again if somebody has deleted it.
func (s *Store) createTemp() (TempFile, error) {
	dir := filepath.Join(s.cfg.Dir, tmpName)
	f, err := s.cfg.Create(dir, "*")
	if errors.Is(err, fs.ErrNotExist) {
		if err = s.EnsureDir(); err == nil {
			f, err = s.cfg.Create(dir, "*")
		}
	}
	if err != nil {
		return nil, diskError("create", err)
	}
	return f, nil
}

// EnsureDir makes the folder again if somebody has deleted it; Remade counts how often.
func (s *Store) EnsureDir() error {
	tmp := filepath.Join(s.cfg.Dir, tmpName)
	if _, err := os.Stat(tmp); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.cfg.Logger.Error("the folder of blobs was deleted; making it again", "dir", s.cfg.Dir)
	if err := durable.MkdirAll(tmp); err != nil {
		err = diskError("make the folder again", err)
		s.disk.note(err)
		return err
	}
	s.remade.Add(1)
	return nil
}

// Remade returns how often the folder, and so all files, was found deleted since Open.
func (s *Store) Remade() int64 { return s.remade.Load() }

// disk remembers whether the last write was refused.
type disk struct {
	mu  sync.Mutex
	err error
	at  time.Time
}

func (d *disk) note(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err, d.at = err, time.Now()
}

// DiskError returns why the disk did not take the last file, or nil if the refusal is longer ago than within.
func (s *Store) DiskError(within time.Duration) error {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if time.Since(s.disk.at) > within {
		return nil
	}
	return s.disk.err
}

// publish gives a synced file its name and makes the name durable. The caller has the digest's lock.
func (s *Store) publish(tmp, digest string) error {
	dir := filepath.Dir(s.path(digest))
	if err := os.Mkdir(dir, 0o700); err == nil {
		if err := durable.Sync(s.cfg.Dir); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	return durable.Rename(tmp, s.path(digest))
}

// remove takes a file's name away. The caller has the digest's lock. Nobody waits until the removal is durable: a file that comes
// back after a power failure is verified like any other file, or maintenance finds that nobody needs it.
func (s *Store) remove(digest string) error {
	err := os.Remove(s.path(digest))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return diskError("remove "+digest, err)
	}
	s.cache.removed(digest)
	return nil
}

// removeCorrupt removes the file that f is, unless another file has taken its name by now.
func (s *Store) removeCorrupt(digest string, f *os.File) error {
	defer s.locks.lock(digest)()
	mine, err := f.Stat()
	if err != nil {
		return diskError("look at "+digest, err)
	}
	named, err := os.Stat(s.path(digest))
	if err != nil || !os.SameFile(mine, named) {
		return ErrCorrupt
	}
	s.corrupt.Add(1)
	s.cfg.Logger.Error("removed a corrupt blob", "digest", digest, "bytes", mine.Size())
	if err := s.remove(digest); err != nil {
		return err
	}
	if s.cfg.OnCorrupt != nil {
		s.cfg.OnCorrupt(digest)
	}
	return ErrCorrupt
}

// Has reports whether the directory of a store that is not open has a file for the digest, of that size. It does not read the file.
func Has(dir, digest string, size int64) (bool, error) {
	info, err := os.Stat(filepath.Join(dir, digest[:2], digest))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, diskError("look for a file", err)
	}
	return info.Size() == size, nil
}
