// Package home holds a node's directory: by its lock, and by what tells the directory from copies of it (SPEC C7).
package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/taskrt/taskrt/internal/birth"
	"github.com/taskrt/taskrt/internal/durable"
	"github.com/taskrt/taskrt/raftstore/logstore"
)

// ErrCopied is wrapped by the refusal of a directory that was copied or restored.
var ErrCopied = errors.New("raftstore: the directory is a copy")

// formerSuffix is added to the name of a directory that was put aside.
const formerSuffix = ".former"

// Open takes a directory, which it makes if there is none, and returns its lock. A directory that is a copy of the one in which the node has
// promised something is refused, because it may lack what was promised since. If asNewDisk, it is put aside instead, and an empty one takes its
// place; aside says where it is.
func Open(dir string, asNewDisk bool) (lock *os.File, aside string, err error) {
	lock, isCopy, err := look(dir)
	if err != nil {
		return nil, "", err
	}
	if !isCopy {
		return lock, "", nil
	}
	lock.Close()
	if !asNewDisk {
		return nil, "", copied(dir)
	}
	aside = dir + formerSuffix
	if _, err := os.Lstat(aside); err == nil {
		return nil, "", fmt.Errorf("raftstore: %s is there from an earlier --as-new-disk: remove it first", aside)
	}
	if err := durable.Rename(dir, aside); err != nil {
		return nil, "", fmt.Errorf("raftstore: put %s aside: %w", dir, err)
	}
	lock, _, err = look(dir)
	return lock, aside, err
}

// copied is the refusal of a directory.
func copied(dir string) error {
	return fmt.Errorf("%w: %s was copied, or restored from a backup, and may lack what its node has promised since. While the others have a majority, "+
		"start with --as-new-disk, or with an empty --dir: the node gets everything from them. If this is the node's only directory, because it was moved, "+
		"`taskrt cluster moved` says so. If the majority is lost, `taskrt cluster recover` founds a new cluster of it", ErrCopied, dir)
}

// Check returns the error that Open would return for a directory that is a copy. It changes nothing.
func Check(dir string) error {
	lock, err := os.Open(filepath.Join(dir, logstore.LockFile))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(record(dir)); err == nil { // the copy was made without the lock
			return copied(dir)
		}
		return nil // no node has started here
	} else if err != nil {
		return fmt.Errorf("raftstore: %w", err)
	}
	defer lock.Close()
	switch bond, err := birth.Look(record(dir), lock); {
	case err != nil:
		return fmt.Errorf("raftstore: %w", err)
	case bond == birth.Copied:
		return copied(dir)
	}
	return nil
}

// Moved says that a copied directory is the only one of its node: the original is gone. It reports whether the directory was a copy.
func Moved(dir string) (was bool, err error) {
	if _, err := os.Stat(record(dir)); err != nil {
		return false, err
	}
	lock, copied, err := look(dir)
	if err != nil {
		return false, err
	}
	defer lock.Close()
	if !copied {
		return false, nil
	}
	return true, Bind(dir, lock)
}

// look locks a directory and says whether it is a copy. A directory that is bound to no lock yet is bound to this one.
func look(dir string) (lock *os.File, copied bool, err error) {
	if err := durable.MkdirAll(dir); err != nil {
		return nil, false, fmt.Errorf("raftstore: %w", err)
	}
	if lock, err = logstore.Lock(dir); err != nil {
		return nil, false, fmt.Errorf("raftstore: open log: %w", err)
	}
	defer func() {
		if err != nil {
			lock.Close()
		}
	}()
	switch bond, err := birth.Look(record(dir), lock); {
	case err != nil:
		return nil, false, fmt.Errorf("raftstore: %w", err)
	case bond == birth.Unbound:
		return lock, false, Bind(dir, lock)
	default:
		return lock, bond == birth.Copied, nil
	}
}

// record says to which lock file a directory is bound.
func record(dir string) string { return filepath.Join(dir, "lock.of") }

// Bind binds a directory to its lock, which the caller holds.
func Bind(dir string, lock *os.File) error {
	if err := birth.Bind(record(dir), lock); err != nil {
		return fmt.Errorf("raftstore: %w", err)
	}
	return nil
}
