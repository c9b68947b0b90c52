// Package whole writes files that get their names only when all of their content is there: nobody must take half a backup, blob or export for a
// whole one.
package whole

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/taskrt/taskrt/internal/durable"
)

// File is a file without its name.
type File struct {
	*os.File
	path string
}

// Create makes a file beside path, with ".part" behind its name. What an earlier attempt has left there is replaced.
func Create(path string, mode fs.FileMode) (*File, error) {
	part := path + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	return &File{f, path}, nil
}

// Finish gives the file its name, durably.
func (f *File) Finish() error {
	err := errors.Join(f.Sync(), f.Close())
	if err == nil {
		err = durable.Rename(f.Name(), f.path)
	}
	if err != nil {
		return f.Drop(err)
	}
	return nil
}

// Drop removes the file, and returns why.
func (f *File) Drop(why error) error {
	_ = f.Close() // it may be closed already
	left := os.Remove(f.Name())
	if errors.Is(why, syscall.ENOSPC) && left == nil {
		return &fs.PathError{Op: "write", Path: f.path, Err: fmt.Errorf("%w; nothing of it was left there", syscall.ENOSPC)}
	}
	return errors.Join(why, left)
}

// Write writes all that comes from a reader.
func Write(path string, from io.Reader) error {
	f, err := Create(path, 0o666)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, from); err != nil {
		return f.Drop(err)
	}
	return f.Finish()
}
