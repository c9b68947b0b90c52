package blob

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Entry is what lies in one of the store's folders.
type Entry struct {
	Info         // Digest is the path below Config.Dir of what is foreign
	Foreign bool // no store has put it there
}

// Page returns up to limit entries in order of their names, those behind the given one; fewer: these are all. It reads the
// names of whole folders, but looks only at the files that it returns.
func (s *Store) Page(after string, limit int) ([]Entry, error) {
	first := uint64(0)
	if len(after) >= 2 {
		first, _ = strconv.ParseUint(after[:2], 16, 8) // behind what is no name there is little, or nothing
	}
	var page []Entry
	for i := first; i < 256 && len(page) < limit; i++ {
		entries, err := s.folder(fmt.Sprintf("%02x", i), after, limit-len(page))
		if err != nil {
			return nil, fmt.Errorf("blob: list: %w", err)
		}
		page = append(page, entries...)
	}
	return page, nil
}

// folder returns what is in a folder behind a name, up to limit entries in order of their names.
func (s *Store) folder(name, after string, limit int) ([]Entry, error) {
	files, err := os.ReadDir(filepath.Join(s.cfg.Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	type found struct {
		Entry
		file fs.DirEntry
	}
	var all []found
	for _, f := range files {
		e := found{Entry{Info: Info{Digest: f.Name()}}, f}
		e.Foreign = !ValidDigest(f.Name()) || f.Name()[:2] != name || !f.Type().IsRegular()
		if e.Foreign {
			e.Digest = name + "/" + f.Name() // before all digests of the folder
		}
		if e.Digest > after {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b found) int { return cmp.Compare(a.Digest, b.Digest) })
	var entries []Entry
	for _, e := range all {
		if len(entries) == limit {
			break
		}
		fi, err := e.file.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		e.Size, e.Modified = fi.Size(), fi.ModTime()
		entries = append(entries, e.Entry)
	}
	return entries, nil
}
