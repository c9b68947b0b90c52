// Package durable changes directories so that a power failure does not undo it (SPEC T6).
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile gives path this content, for the user alone. Whenever the machine stops, the file has its former content or all of the new
// content. Only one caller at a time may write a path. path + ".tmp" is overwritten.
func WriteFile(path string, data []byte) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp)) // of a full disk
	}
	return Rename(tmp, path)
}

// Rename replaces a file or directory. It does not sync its content.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return Sync(filepath.Dir(to))
}

// MkdirAll makes a directory, for the user alone, and its missing parents. A process that was killed may have made the directory; its
// finder relies on it no less, so the entry is synced in any case.
func MkdirAll(dir string) error {
	unsure := []string{dir}
	for d := dir; ; {
		_, err := os.Stat(d)
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		d = filepath.Dir(d)
		unsure = append(unsure, d)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, d := range unsure {
		if err := Sync(filepath.Dir(d)); err != nil && !errors.Is(err, fs.ErrPermission) { // what we may not read was not made by us
			return err
		}
	}
	return nil
}

// Sync writes a file's content, or a directory's entries, to the disk.
func Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
