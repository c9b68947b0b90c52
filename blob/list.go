package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Info describes a file of this node.
type Info struct {
	Digest   string
	Size     int64
	Modified time.Time // when it was written here
}

// List calls yield with this node's files in order of their digests, until yield returns false. It holds the names of one folder at a
// time. A file that comes or goes meanwhile may be left out or not.
func (s *Store) List(yield func(Info) bool) error {
	if err := s.readable(); err != nil {
		return err
	}
	for i := range 256 {
		name := fmt.Sprintf("%02x", i)
		files, err := os.ReadDir(filepath.Join(s.cfg.Dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("blob: list: %w", err)
		}
		for _, f := range files {
			fi, err := f.Info()
			switch {
			case errors.Is(err, fs.ErrNotExist), entryName(name, f) != f.Name():
			case err != nil:
				return fmt.Errorf("blob: list: %w", err)
			case !yield(Info{f.Name(), fi.Size(), fi.ModTime()}):
				return nil
			}
		}
	}
	return nil
}

// Unlink removes a file unless keep says that it is needed. keep is called under the digest's lock, when nobody can be giving
// the file its name. Unlink reports whether it removed a file.
func (s *Store) Unlink(digest string, keep func() bool) (removed bool, err error) {
	if !ValidDigest(digest) {
		return false, fmt.Errorf("%w: %q is not a digest", ErrNotFound, digest)
	}
	defer s.locks.lock(digest)()
	if !s.Has(digest) || keep() {
		return false, nil
	}
	return true, s.remove(digest)
}

// Scrub reads every file once, perSecond bytes a second on average, and removes files whose bytes are wrong. found is told
// of these files, and of files that cannot be read.
func (s *Store) Scrub(ctx context.Context, perSecond int64, found func(digest string, err error)) error {
	var failed error
	err := s.List(func(i Info) bool {
		if err := s.Verify(i.Digest); err != nil && !errors.Is(err, ErrNotFound) {
			found(i.Digest, err)
		}
		pause := time.NewTimer(time.Duration(i.Size) * time.Second / time.Duration(perSecond))
		defer pause.Stop()
		select {
		case <-pause.C:
			return true
		case <-ctx.Done():
			failed = ctx.Err()
			return false
		}
	})
	return errors.Join(err, failed)
}
