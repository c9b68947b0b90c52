// Package committed remembers on a node's disk how far its log is committed, as a lower bound (SPEC C10).
package committed

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// Entry names an entry of a log. In all logs of a cluster, entries with the same place and term are the same entry, and so is everything before them
// (log matching). The sum tells the logs of two clusters apart.
type Entry struct {
	Index, Term uint64
	Sum         [sha256.Size]byte // of what the entry says
}

// Of returns the name of an entry.
func Of(l *raft.Log) Entry {
	h := sha256.New()
	h.Write([]byte{byte(l.Type)})
	h.Write(l.Data)
	e := Entry{Index: l.Index, Term: l.Term}
	h.Sum(e.Sum[:0])
	return e
}

const (
	name  = "committed" // of the file
	magic = "taskrtc1"
	size  = len(magic) + 16 + sha256.Size + 4
)

// pause is how long a File waits between two writes.
const pause = 200 * time.Millisecond

// Read returns the entry up to which the log in dir is known to be committed. A file that is not there, or that a crash has torn, gives no entry. The
// caller must look whether the log in dir has the entry. A log that has it has everything that was committed up to it. A log that lacks it is of
// another time.
func Read(dir string) (e Entry, ok bool) {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || len(b) != size || string(b[:len(magic)]) != magic {
		return e, false
	}
	body, sum := b[:size-4], b[size-4:]
	if crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(sum) {
		return e, false
	}
	body = body[len(magic):]
	e.Index, e.Term = binary.BigEndian.Uint64(body), binary.BigEndian.Uint64(body[8:])
	copy(e.Sum[:], body[16:])
	return e, true
}

// encode returns the content of the file.
func encode(e Entry) []byte {
	b := append(make([]byte, 0, size), magic...)
	b = binary.BigEndian.AppendUint64(b, e.Index)
	b = binary.BigEndian.AppendUint64(b, e.Term)
	b = append(b, e.Sum[:]...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// File writes the bound of a running node, five times a second at most. It never syncs: if a crash takes the last write away, the next start is
// slower, and nothing else happens. So Note never waits for the disk.
type File struct {
	path string
	log  *slog.Logger

	mu   sync.Mutex
	last *raft.Log // nil: nothing new

	news  chan struct{} // capacity 1
	stop  chan struct{}
	once  sync.Once
	ended chan struct{}
}

// New returns the File of a directory. Stop must follow.
func New(dir string, log *slog.Logger) *File {
	f := &File{
		path: filepath.Join(dir, name), log: log,
		news: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{}),
	}
	go f.run()
	return f
}

// Note takes an entry that is committed and on this node's disk. Indexes must rise. The entry must not change any more.
func (f *File) Note(l *raft.Log) {
	f.mu.Lock()
	f.last = l
	f.mu.Unlock()
	select {
	case f.news <- struct{}{}:
	default:
	}
}

// Stop ends the writing, after what was noted last. It does not wait.
func (f *File) Stop() { f.once.Do(func() { close(f.stop) }) }

// Wait returns when a File that was stopped has ended. A disk that hangs may keep it for ever.
func (f *File) Wait() { <-f.ended }

func (f *File) run() {
	defer close(f.ended)
	var file *os.File
	defer func() {
		if file != nil {
			_ = file.Close()
		}
	}()
	warned := false
	for stopping := false; !stopping; {
		select {
		case <-f.news:
		case <-f.stop:
			stopping = true
		}
		if err := f.write(&file); err != nil && !warned {
			warned = true // the next start is slower, and the disk tells of its failures elsewhere
			f.log.Warn("cannot note how far the log is committed", "err", err)
		}
		if !stopping {
			t := time.NewTimer(pause)
			select {
			case <-t.C:
			case <-f.stop:
			}
			t.Stop()
		}
	}
}

// write writes what was noted last, in one piece of one block, into the file, which it opens at first.
func (f *File) write(file **os.File) error {
	f.mu.Lock()
	l := f.last
	f.last = nil
	f.mu.Unlock()
	if l == nil {
		return nil
	}
	if *file == nil {
		opened, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		if info, err := opened.Stat(); err == nil && info.Size() != int64(size) { // of another version
			err = opened.Truncate(0)
			if err != nil {
				return errors.Join(err, opened.Close())
			}
		}
		*file = opened
	}
	_, err := (*file).WriteAt(encode(Of(l)), 0)
	return err
}
