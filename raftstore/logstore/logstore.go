// Package logstore keeps a node's raft log, and raft's few durable variables, on disk: in raft-boltdb's format or in
// raft-wal's. A directory has one of the formats and knows which; see DESIGN.md.
package logstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"golang.org/x/sys/unix"

	"github.com/taskrt/taskrt/internal/durable"
)

// Kind is a format of the log.
type Kind string

// The formats. Bolt is a B+tree with two syncs per append. WAL is files of 64 MiB with one sync per append.
const (
	Bolt Kind = "bolt"
	WAL  Kind = "wal"
)

// Kinds are all formats, the default first.
var Kinds = []Kind{Bolt, WAL}

// Parse returns the format that has this name.
func Parse(name string) (Kind, error) {
	if !slices.Contains(Kinds, Kind(name)) {
		return "", fmt.Errorf("a log store is bolt or wal, not %q", name)
	}
	return Kind(name), nil
}

// The errors that Open and Migrate wrap.
var (
	ErrInUse     = errors.New("the directory is in use by another process")
	ErrOtherKind = errors.New("the log has another format")
	ErrDamaged   = errors.New("the log is damaged")
)

// Store is an open log.
type Store interface {
	raft.LogStore
	raft.StableStore
	io.Closer
}

// Options are what Open leaves to the caller.
type Options struct {
	// SegmentBytes is the size of a file of WAL, which is allocated as a whole; 0: 64 MiB.
	SegmentBytes int
	Lock         *os.File     // from Lock, and closed with the store; nil: Open takes it
	Logger       hclog.Logger // nil: nothing is logged
	// OnError is told of errors that no call returns, because WAL begins its next file while the log goes on. nil: the next write returns the error.
	OnError func(error)
}

func (o *Options) setDefaults() {
	if o.SegmentBytes == 0 {
		o.SegmentBytes = 64 << 20
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	if o.OnError == nil {
		o.OnError = func(error) {}
	}
}

// The names in a directory. LockFile is the one that is locked.
const (
	boltFile = "raft.db"
	walDir   = "wal"
	LockFile = "lock"
	newBolt  = "raft.db.new" // not whole yet
	newWAL   = "wal.new"
)

// pointer stands in the place of raft.db when the log is in wal/. Its rename to this place makes the directory one of format WAL, at once and for
// good. Versions that know only raft.db refuse it. Without it they would start with an empty log.
const pointer = "taskrt: the log of this node is in the directory wal\n"

// Find returns the format of the log in dir, or "" if there is no log yet.
func Find(dir string) (Kind, error) {
	head, err := readHead(filepath.Join(dir, boltFile), len(pointer))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// A node has died after it began its first log and before it wrote the pointer.
		if _, err := os.Stat(filepath.Join(dir, walDir)); err == nil {
			return WAL, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		return "", nil
	case err != nil:
		return "", err
	case head != pointer:
		return Bolt, nil
	}
	if _, err := os.Stat(filepath.Join(dir, walDir, walMeta)); err != nil {
		return "", fmt.Errorf("%w: %s says that it is in %s: %w", ErrDamaged, boltFile, walDir, err)
	}
	return WAL, nil
}

func readHead(path string, n int) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b := make([]byte, n)
	k, err := io.ReadFull(f, b)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", err
	}
	return string(b[:k]), nil
}

// Open opens the log in dir, which must have the format kind, or begins one. Only one process at a time can have it
// open.
func Open(dir string, kind Kind, o Options) (_ Store, err error) {
	o.setDefaults()
	lock := o.Lock
	if lock == nil {
		if lock, err = Lock(dir); err != nil {
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			lock.Close()
		}
	}()
	found, err := Find(dir)
	if err != nil {
		return nil, err
	}
	if err := sameKind(dir, found, kind); err != nil {
		return nil, err
	}
	for _, name := range []string{newBolt, newWAL, boltFile + ".tmp"} { // of an interrupted migration, or begin
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	if found != "" { // before anybody acts on what the files say
		err = syncTree(filepath.Join(dir, map[Kind]string{Bolt: boltFile, WAL: walDir}[kind]))
	} else if kind == Bolt {
		err = beginBolt(dir)
	}
	if err != nil {
		return nil, err
	}
	s, err := openAt(dir, kind, boltFile, walDir, &o)
	if err != nil {
		return nil, err
	}
	if kind == Bolt {
		err = removeOldWAL(dir, s)
	} else if found == "" {
		err = durable.WriteFile(filepath.Join(dir, boltFile), []byte(pointer))
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &locked{s, lock}, nil
}

// Check returns the error that Open would return for the format of the log in dir, or for a process that has it open (ErrInUse). It changes
// nothing, and reads no entry.
func Check(dir string, kind Kind) error {
	found, err := Find(dir)
	if err != nil {
		return err
	}
	if err := sameKind(dir, found, kind); err != nil {
		return err
	}
	lock, err := os.Open(filepath.Join(dir, LockFile))
	if errors.Is(err, fs.ErrNotExist) { // nobody has ever had it open
		return nil
	} else if err != nil {
		return err
	}
	defer lock.Close()
	err = unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("%w: %s", ErrInUse, dir)
	} else if err != nil {
		return fmt.Errorf("lock %s: %w", dir, err)
	}
	return nil
}

// sameKind refuses a log of another format than the one that is asked for.
func sameKind(dir string, found, kind Kind) error {
	if found != "" && found != kind {
		return fmt.Errorf("%w: %s holds a log of %s, not of %s: start with --log-store %s, or convert it with `taskrt cluster migrate-log --to %s`",
			ErrOtherKind, dir, found, kind, found, kind)
	}
	return nil
}

// beginBolt begins a log in raft.db. bbolt cannot open a file of which a power failure has kept a part of the first
// pages, so raft.db gets its name when it is whole.
func beginBolt(dir string) error {
	path := filepath.Join(dir, newBolt)
	s, err := openBolt(path)
	if err != nil {
		return err
	}
	if err := errors.Join(s.Close(), durable.Sync(path)); err != nil {
		return err
	}
	return durable.Rename(path, filepath.Join(dir, boltFile))
}

// openAt opens a log whose file or directory has this name.
func openAt(dir string, kind Kind, boltName, walName string, o *Options) (Store, error) {
	if kind == Bolt {
		return openBolt(filepath.Join(dir, boltName))
	}
	return openWAL(filepath.Join(dir, walName), o)
}

// removeOldWAL removes WAL's files that a migration has left: a migration to bolt, or a migration to WAL that did not get far enough. No migration
// leaves an empty bolt log beside such files.
func removeOldWAL(dir string, s Store) error {
	old := filepath.Join(dir, walDir)
	if _, err := os.Stat(old); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	last, err := s.LastIndex()
	if err != nil {
		return err
	}
	term, err := number(s, numberKeys[0])
	if err != nil {
		return err
	}
	if last == 0 && term == 0 {
		return fmt.Errorf("%w: %s is empty and there is %s beside it: remove the one that does not belong to this node", ErrDamaged, boltFile, old)
	}
	return os.RemoveAll(old)
}

// locked is a store that holds its directory's lock.
type locked struct {
	Store
	lock *os.File
}

// Close implements io.Closer.
func (l *locked) Close() error { return errors.Join(l.Store.Close(), l.lock.Close()) }

// lockPatience is how long another process may take to let go of the directory. A process that was killed has let go.
const lockPatience = 2 * time.Second

// Lock keeps other processes out of a directory until the file is closed.
func Lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, LockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(lockPatience); ; {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(end) {
			f.Close()
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil, fmt.Errorf("%w: %s", ErrInUse, dir)
			}
			return nil, fmt.Errorf("lock %s: %w", dir, err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// syncTree syncs a file, or a directory with its files, and its entry in the parent. A process that is killed before its sync leaves what it wrote to
// the kernel. The next process finds this, and must not build on it before it is on the disk. Otherwise it would say that it has the entries, or
// remove what they replace.
func syncTree(path string) error {
	err := filepath.WalkDir(path, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return durable.Sync(name)
	})
	return errors.Join(err, durable.Sync(filepath.Dir(path)))
}
