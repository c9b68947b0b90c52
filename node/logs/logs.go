// Package logs keeps what the attempts of tasks wrote, on one node's disk: bounded, oldest out first, never in the Raft
// log. An attempt's log arrives in pieces at whichever node leads at the time. Each piece has its offset, so that the
// pieces of several nodes fit together again (Merge).
package logs

import (
	"bufio"
	"cmp"
	"container/list"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/taskrt/taskrt/task"
)

const (
	// DefaultMaxBytes bounds all logs of a node.
	DefaultMaxBytes = 256 << 20
	// MaxAttemptBytes bounds one attempt, whatever its worker sends. The worker itself keeps the behavior's log_bytes.
	MaxAttemptBytes = 1 << 20
	// MaxAttempts is how many attempts of a task keep their logs: a task that repeats every second must not push out the
	// logs of all others.
	MaxAttempts = 20
	// blockBytes is what the smallest file costs on disk. Files are counted in whole blocks, so that many tiny logs are
	// bounded as well.
	blockBytes = 4096
	headBytes  = 12 // before each piece: offset u64, length u32, big-endian
)

// Piece is a part of an attempt's log. Offset is how many bytes the attempt had logged before it.
type Piece struct {
	Offset int64  `json:"offset"`
	Data   []byte `json:"data"`
}

// Attempt holds the pieces of one attempt that one node has.
type Attempt struct {
	Attempt int64   `json:"attempt"`
	Token   uint64  `json:"token"`
	Pieces  []Piece `json:"pieces"`
}

// Store is one node's logs. All methods are safe for concurrent use.
type Store struct {
	dir string
	max int64

	mu    sync.Mutex
	files map[string]*list.Element // by path; the values are *file
	order *list.List               // least recently written first
	total int64                    // in whole blocks
}

type file struct {
	path    string
	size    int64
	checked bool // its tail is known to be whole; a crash may have torn the last piece
}

// Open opens the logs in dir, which it makes if it is missing. maxBytes 0 means DefaultMaxBytes.
func Open(dir string, maxBytes int64) (*Store, error) {
	if maxBytes <= 0 {
		maxBytes = DefaultMaxBytes
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("logs: %w", err)
	}
	s := &Store{dir: dir, max: maxBytes, files: map[string]*list.Element{}, order: list.New()}
	type found struct {
		file
		written time.Time
	}
	var all []found
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !s.owns(path) {
			return nil // the store has not made it: it is not counted, and stays
		}
		all = append(all, found{file{path: path, size: info.Size()}, info.ModTime()})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("logs: %w", err)
	}
	slices.SortFunc(all, func(a, b found) int { return a.written.Compare(b.written) })
	for _, f := range all {
		s.files[f.path] = s.order.PushBack(&f.file)
		s.total += blocks(f.size)
	}
	return s, s.evict()
}

func blocks(size int64) int64 { return (size + blockBytes - 1) / blockBytes * blockBytes }

// Append adds a piece. It silently drops a piece that goes beyond MaxAttemptBytes: the worker has said so in the log
// itself.
func (s *Store) Append(key task.Key, token uint64, attempt int64, p Piece) error {
	if len(p.Data) == 0 || p.Offset < 0 || headBytes+len(p.Data) > MaxAttemptBytes {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	path := filepath.Join(s.taskDir(key), fmt.Sprintf("%d-%d", token, attempt))
	f, err := s.file(path)
	if err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	if f.size+headBytes+int64(len(p.Data)) > MaxAttemptBytes {
		return nil
	}
	rec := make([]byte, headBytes, headBytes+len(p.Data))
	binary.BigEndian.PutUint64(rec, uint64(p.Offset))
	binary.BigEndian.PutUint32(rec[8:], uint32(len(p.Data)))
	rec = append(rec, p.Data...)
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	n, err := w.Write(rec)
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	s.total += blocks(f.size+int64(n)) - blocks(f.size)
	f.size += int64(n)
	f.checked = err == nil
	if err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	return s.evict()
}

// file returns the entry of path as the most recently written one. If the file's tail was torn it has cut the tail off.
func (s *Store) file(path string) (*file, error) {
	el, ok := s.files[path]
	if !ok {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		if err := s.makeRoom(filepath.Dir(path)); err != nil {
			return nil, err
		}
		el = s.order.PushBack(&file{path: path, checked: true})
		s.files[path] = el
	}
	s.order.MoveToBack(el)
	f := el.Value.(*file)
	if f.checked {
		return f, nil
	}
	_, whole, err := readPieces(path)
	if err != nil {
		return nil, err
	}
	if err := os.Truncate(path, whole); err != nil {
		return nil, err
	}
	s.total += blocks(whole) - blocks(f.size)
	f.size, f.checked = whole, true
	return f, nil
}

// evict removes the least recently written logs until the others are within bounds.
func (s *Store) evict() error {
	for s.total > s.max && s.order.Len() > 0 {
		if err := s.drop(s.order.Front()); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) drop(el *list.Element) error {
	f := el.Value.(*file)
	if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("logs: %w", err)
	}
	s.order.Remove(el)
	delete(s.files, f.path)
	s.total -= blocks(f.size)
	_ = os.Remove(filepath.Dir(f.path)) // succeeds only if that was the task's last log
	return nil
}

// Remove drops all logs of a task.
func (s *Store) Remove(key task.Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropAll(s.taskDir(key))
}

// Read returns what this node has of a task's attempts, by token.
func (s *Store) Read(key task.Key) ([]Attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names, err := fileNames(s.taskDir(key))
	if err != nil {
		return nil, err
	}
	var as []Attempt
	for _, name := range names {
		var a Attempt
		var ok bool
		if a.Token, a.Attempt, ok = parseFile(name); !ok {
			continue // the store has not made it
		}
		if a.Pieces, _, err = readPieces(filepath.Join(s.taskDir(key), name)); err != nil {
			return nil, fmt.Errorf("logs: %w", err)
		}
		as = append(as, a)
	}
	slices.SortFunc(as, func(a, b Attempt) int { return cmp.Compare(a.Token, b.Token) })
	return as, nil
}

// fileNames lists a folder. A folder that is missing is empty.
func fileNames(dir string) ([]string, error) {
	es, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("logs: %w", err)
	}
	names := make([]string, len(es))
	for i, e := range es {
		names[i] = e.Name()
	}
	return names, nil
}

func (s *Store) taskDir(key task.Key) string { return s.nameDir(Name(key)) }

// readPieces reads the whole pieces of a file. whole is how many bytes of the file they take.
func readPieces(path string) (ps []Piece, whole int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	r := bufio.NewReader(io.LimitReader(f, MaxAttemptBytes))
	for {
		var head [headBytes]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return ps, whole, nil
		}
		n := binary.BigEndian.Uint32(head[8:])
		if n > MaxAttemptBytes {
			return ps, whole, nil
		}
		p := Piece{Offset: int64(binary.BigEndian.Uint64(head[:])), Data: make([]byte, n)}
		if _, err := io.ReadFull(r, p.Data); err != nil || p.Offset < 0 {
			return ps, whole, nil
		}
		ps = append(ps, p)
		whole += headBytes + int64(n)
	}
}

// Text is the log of one attempt, put together from its pieces.
type Text struct {
	Attempt int64
	Token   uint64
	Text    string
	End     int64 // how many bytes the attempt had logged behind the last one of Text
}

// Position is a place in the log of a task: behind so many bytes in the log of the attempt with this token.
type Position struct {
	Token  uint64
	Offset int64
}

// Merge puts together what several nodes have from a position on, by token. Each byte stands there once; a note stands where a piece is
// missing. A character of which only the beginning is there waits for its end.
func Merge(from Position, lists ...[]Attempt) []Text {
	byToken := map[uint64]*Attempt{}
	for _, l := range lists {
		for _, a := range l {
			if a.Token < from.Token {
				continue
			}
			m, ok := byToken[a.Token]
			if !ok {
				m = &Attempt{Attempt: a.Attempt, Token: a.Token}
				byToken[a.Token] = m
			}
			m.Pieces = append(m.Pieces, a.Pieces...)
		}
	}
	var out []Text
	for _, a := range byToken {
		at := int64(0)
		if a.Token == from.Token {
			at = from.Offset
		}
		text, end := join(a.Pieces, at)
		out = append(out, Text{Attempt: a.Attempt, Token: a.Token, Text: text, End: end})
	}
	slices.SortFunc(out, func(a, b Text) int { return cmp.Compare(a.Token, b.Token) })
	return out
}

// join puts pieces together from a place on.
func join(ps []Piece, at int64) (text string, end int64) {
	slices.SortStableFunc(ps, func(a, b Piece) int { return cmp.Compare(a.Offset, b.Offset) })
	var b strings.Builder
	for _, p := range ps {
		end := p.Offset + int64(len(p.Data))
		switch {
		case end <= at:
			continue
		case p.Offset > at:
			fmt.Fprintf(&b, "[%d bytes missing]\n", p.Offset-at)
			b.Write(p.Data)
		default:
			b.Write(p.Data[at-p.Offset:])
		}
		at = end
	}
	text = b.String()
	for back := 1; back <= min(utf8.UTFMax-1, len(text)); back++ {
		if i := len(text) - back; utf8.RuneStart(text[i]) {
			if !utf8.FullRuneInString(text[i:]) {
				return text[:i], at - int64(back)
			}
			break
		}
	}
	return text, at
}
