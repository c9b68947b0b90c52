// Package target is where scheduled backups are kept (SPEC C8): objects by name, in a directory or in a store that speaks S3.
package target

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// ErrNotThere says that an object does not exist.
var ErrNotThere = errors.New("it is not there")

// Object is an object as a listing shows it.
type Object struct {
	Name     string
	Size     int64
	Modified time.Time // by the clock of the target
}

// Target keeps objects. A name is a path with slashes. A part of a name never begins with a dot.
//
// An object is there as a whole or not at all, whenever a process ends. What was written is there for every later read and listing of all
// processes.
type Target interface {
	// Put writes an object. size is the length of what r reads; below 0: not known.
	Put(ctx context.Context, name string, r io.Reader, size int64) error
	// Create writes an object if there is none of this name. Of several callers at once with different data one at most gets true.
	Create(ctx context.Context, name string, data []byte) (created bool, err error)
	// Get opens an object. The error wraps ErrNotThere if there is none.
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	// List lists the objects below a folder, whose name ends with a slash, or is empty.
	List(ctx context.Context, folder string) iter.Seq2[Object, error]
	// Folders names the folders right below a folder.
	Folders(ctx context.Context, folder string) ([]string, error)
	// Delete deletes an object. It is no error if there is none.
	Delete(ctx context.Context, name string) error
	// Sweep removes what interrupted calls of Put have left below a folder, if it is older than age.
	Sweep(ctx context.Context, folder string, age time.Duration) error
	// Shared reports whether processes on other machines certainly see the same objects.
	Shared() bool
	// String names the target, for people. It has no secrets.
	String() string
}

// MaxSmall bounds what Small reads.
const MaxSmall = 1 << 20

// Small reads an object of at most MaxSmall bytes.
func Small(ctx context.Context, t Target, name string) (data []byte, err error) {
	in, err := t.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	data, err = io.ReadAll(io.LimitReader(in, MaxSmall+1))
	if err == nil && len(data) > MaxSmall {
		err = errors.New("it has more than 1 MiB")
	}
	return data, err
}
