package logs

import (
	"cmp"
	"container/list"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taskrt/taskrt/internal/strays"
	"github.com/taskrt/taskrt/task"
)

// Name is what the logs of a task are called on disk: a hash of the key. An ID itself will not do: it may be 128
// characters long, in a case that the file system does not keep.
func Name(key task.Key) string {
	sum := sha256.Sum256([]byte(key.Namespace + "\x00" + key.ID))
	return hex.EncodeToString(sum[:nameBytes])
}

const nameBytes = 16

func validName(s string) bool {
	if len(s) != 2*nameBytes || s != strings.ToLower(s) {
		return false
	}
	_, err := hex.DecodeString(s)
	return err == nil
}

func (s *Store) nameDir(name string) string { return filepath.Join(s.dir, name[:2], name) }

// parseFile reads the name of an attempt's file.
func parseFile(name string) (token uint64, attempt int64, ok bool) {
	a, b, _ := strings.Cut(name, "-")
	token, err1 := strconv.ParseUint(a, 10, 64)
	attempt, err2 := strconv.ParseInt(b, 10, 64)
	return token, attempt, err1 == nil && err2 == nil && name == fmt.Sprintf("%d-%d", token, attempt)
}

// owns reports whether the store has made a file in its folder.
func (s *Store) owns(path string) bool {
	name := filepath.Base(filepath.Dir(path))
	_, _, ok := parseFile(filepath.Base(path))
	return ok && validName(name) && filepath.Dir(path) == s.nameDir(name)
}

// makeRoom drops the oldest attempts of a task before it gets another.
func (s *Store) makeRoom(dir string) error {
	names, err := fileNames(dir)
	if err != nil {
		return err
	}
	type attempt struct {
		token uint64
		el    *list.Element
	}
	var all []attempt
	for _, name := range names {
		token, _, ok := parseFile(name)
		if el := s.files[filepath.Join(dir, name)]; ok && el != nil {
			all = append(all, attempt{token, el})
		}
	}
	slices.SortFunc(all, func(a, b attempt) int { return cmp.Compare(a.token, b.token) })
	for len(all) >= MaxAttempts {
		if err := s.drop(all[0].el); err != nil {
			return err
		}
		all = all[1:]
	}
	return nil
}

// Entry is the logs of one task, or something foreign.
type Entry struct {
	Name     string    // as of Name; if foreign, the path below the store's folder
	Modified time.Time // when the task's logs, or the foreign file, were last written
	Foreign  bool      // the store has not made it
}

// Page returns up to limit entries behind after, in the order of strays.Compare. If it returns fewer there are no more.
// Foreign entries are files, however deep they lie.
func (s *Store) Page(after string, limit int) ([]Entry, error) {
	first := uint64(0)
	if len(after) >= 2 {
		first, _ = strconv.ParseUint(after[:2], 16, 8)
	}
	var page []Entry
	for i := first; i < 256 && len(page) < limit; i++ {
		entries, err := s.folder(fmt.Sprintf("%02x", i), after, limit-len(page))
		if err != nil {
			return nil, fmt.Errorf("logs: %w", err)
		}
		page = append(page, entries...)
	}
	return page, nil
}

func (s *Store) folder(prefix, after string, limit int) ([]Entry, error) {
	names, err := os.ReadDir(filepath.Join(s.dir, prefix))
	if err != nil {
		return nil, ignoreMissing(err)
	}
	name := func(e fs.DirEntry) string {
		if !validName(e.Name()) || e.Name()[:2] != prefix || !e.IsDir() {
			return prefix + "/" + e.Name() // foreign: before all others of the folder
		}
		return e.Name()
	}
	slices.SortStableFunc(names, func(a, b fs.DirEntry) int { return strays.Compare(name(a), name(b)) })
	var entries []Entry
	for _, e := range names {
		switch name := name(e); {
		case len(entries) >= limit:
			return entries, nil
		case name != e.Name():
			found, err := strays.Files(s.dir, name, after, limit-len(entries))
			if err != nil {
				return nil, err
			}
			for _, f := range found {
				entries = append(entries, Entry{f.Path, f.Modified, true})
			}
		case strays.Compare(name, after) > 0:
			at, err := s.modified(name)
			if err != nil {
				return nil, err
			}
			entries = append(entries, Entry{Name: name, Modified: at})
		}
	}
	return entries, nil
}

// modified returns when a task's logs were last written, or the zero time if they have gone.
func (s *Store) modified(name string) (last time.Time, err error) {
	files, err := os.ReadDir(s.nameDir(name))
	if err != nil {
		return last, ignoreMissing(err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			if err = ignoreMissing(err); err != nil {
				return last, err
			}
			continue
		}
		if t := info.ModTime(); t.After(last) {
			last = t
		}
	}
	return last, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// DropBefore drops the logs of those tasks, by Name, that were last written before a time. It returns how many tasks
// had such logs.
func (s *Store) DropBefore(names []string, before time.Time) (dropped int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		if !validName(name) {
			continue
		}
		last, err := s.modified(name)
		if err != nil {
			return dropped, fmt.Errorf("logs: %w", err)
		}
		if last.IsZero() || !last.Before(before) {
			continue
		}
		if err := s.dropAll(s.nameDir(name)); err != nil {
			return dropped, err
		}
		dropped++
	}
	return dropped, nil
}

// dropAll drops the store's files in a folder.
func (s *Store) dropAll(dir string) error {
	names, err := fileNames(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if el := s.files[filepath.Join(dir, name)]; el != nil {
			if err := s.drop(el); err != nil {
				return err
			}
		}
	}
	return nil
}
