package blob

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const tmpName = "tmp"

// validDigest guards paths: nothing but 64 lower-case hex digits ever becomes a file name.
func validDigest(d string) bool {
	if len(d) != 64 {
		return false
	}
	for _, c := range []byte(d) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func (s *Store) path(digest string) string {
	return filepath.Join(s.cfg.Dir, digest[:2], digest)
}

// read returns a file whose bytes match its name. One that does not match is removed: the next Get fetches it again.
func (s *Store) read(digest string) ([]byte, error) {
	f, err := os.Open(s.path(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, s.cfg.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	if Digest(data) != digest {
		s.cfg.Logger.Error("removed a corrupt blob", "digest", digest, "bytes", len(data))
		if err := os.Remove(s.path(digest)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("blob: remove corrupt file: %w", err)
		}
		return nil, ErrCorrupt
	}
	return data, nil
}

// write makes data durable under its name: when it returns nil, a power failure does not lose it.
func (s *Store) write(digest string, data []byte) error {
	f, err := os.CreateTemp(filepath.Join(s.cfg.Dir, tmpName), digest[:8]+"-*")
	if err != nil {
		return fmt.Errorf("blob: %w", err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = s.publish(f.Name(), digest)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("blob: write %s: %w", digest, err)
	}
	return nil
}

// publish renames a synced file to its name and makes the name durable.
func (s *Store) publish(tmp, digest string) error {
	dir := filepath.Dir(s.path(digest))
	if err := os.Mkdir(dir, 0o700); err == nil {
		if err := syncDir(s.cfg.Dir); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := os.Rename(tmp, s.path(digest)); err != nil {
		return err
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}
