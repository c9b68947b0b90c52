package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/taskrt/taskrt/internal/durable"
)

// Dir is a directory as a target.
type Dir string

var _ Target = Dir("")

// unfinished is the folder, right below the first folder of a name, for files that are being written.
const unfinished = ".unfinished"

func (d Dir) path(name string) string { return filepath.Join(string(d), filepath.FromSlash(name)) }

// String implements Target.
func (d Dir) String() string { return string(d) }

// Shared implements Target.
func (Dir) Shared() bool { return false }

// Put implements Target.
func (d Dir) Put(ctx context.Context, name string, r io.Reader, size int64) error {
	return d.write(ctx, name, r, size, os.Rename)
}

// Create implements Target. A hard link is made only if there is no file of this name, also on NFS.
func (d Dir) Create(ctx context.Context, name string, data []byte) (created bool, err error) {
	err = d.write(ctx, name, bytes.NewReader(data), int64(len(data)), link)
	switch {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.ENOSYS):
		return false, fmt.Errorf("the file system has no hard links, by which backups are told apart: %w", err)
	}
	return err == nil, err
}

// link gives a file its name if the name is free. NFS may say that it is taken because the answer to the call before was lost.
func link(from, to string) error {
	err := os.Link(from, to)
	if errors.Is(err, fs.ErrExist) {
		own, ownErr := os.Stat(from)
		there, thereErr := os.Stat(to)
		if ownErr == nil && thereErr == nil && os.SameFile(own, there) {
			return nil
		}
	}
	return err
}

// write writes a file beside its place, durably, and lets name put it there.
func (d Dir) write(ctx context.Context, object string, r io.Reader, size int64, name func(from, to string) error) error {
	to := d.path(object)
	if _, err := os.Stat(string(d)); err != nil {
		return err // the directory is the operator's: one that is missing was perhaps not mounted
	}
	first, _, _ := strings.Cut(object, "/")
	parts := d.path(first + "/" + unfinished)
	for _, dir := range []string{parts, filepath.Dir(to)} {
		if err := durable.MkdirAll(dir); err != nil {
			return err
		}
	}
	f, err := os.CreateTemp(parts, "part-*")
	if err != nil {
		return err
	}
	n, err := io.Copy(f, until{ctx, r})
	if err == nil && size >= 0 && n != size {
		err = fmt.Errorf("%w: %d bytes of %d for %s", io.ErrUnexpectedEOF, n, size, object)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	err = name(f.Name(), to)
	_ = os.Remove(f.Name()) // it may have another name now; what is left is swept away
	if err != nil {
		return err
	}
	return durable.Sync(filepath.Dir(to))
}

// until is a reader that ends with a context.
type until struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (u until) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.Reader.Read(p)
}

// Get implements Target.
func (d Dir) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	f, err := os.Open(d.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrNotThere, d.path(name))
	}
	if err != nil {
		return nil, err
	}
	return opened{until{ctx, f}, f}, nil
}

// opened is a file that is read until a context ends.
type opened struct {
	io.Reader
	io.Closer
}

// List implements Target.
func (d Dir) List(ctx context.Context, folder string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		root := d.path(folder)
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case errors.Is(err, fs.ErrNotExist): // the folder is missing, or the entry was deleted meanwhile
				return nil
			case err != nil:
				return err
			case path != root && strings.HasPrefix(e.Name(), "."):
				if e.IsDir() {
					return fs.SkipDir
				}
				return nil
			case e.IsDir():
				return nil
			}
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			name, err := filepath.Rel(string(d), path)
			if err != nil {
				return err
			}
			if !yield(Object{filepath.ToSlash(name), info.Size(), info.ModTime()}, nil) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield(Object{}, err)
		}
	}
}

// Folders implements Target.
func (d Dir) Folders(_ context.Context, folder string) (names []string, err error) {
	entries, err := os.ReadDir(d.path(folder))
	if err != nil && (!errors.Is(err, fs.ErrNotExist) || folder == "") {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// Delete implements Target.
func (d Dir) Delete(_ context.Context, name string) error {
	if err := os.Remove(d.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Sweep implements Target. The clocks that are compared are both of the file system: a new file tells what time it is there.
func (d Dir) Sweep(_ context.Context, folder string, age time.Duration) (err error) {
	dir := filepath.Join(d.path(folder), unfinished)
	now, err := os.CreateTemp(dir, "clock-*")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, now.Close(), os.Remove(now.Name())) }()
	clock, err := now.Stat()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && clock.ModTime().Sub(info.ModTime()) > age {
			err = os.Remove(filepath.Join(dir, e.Name()))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
