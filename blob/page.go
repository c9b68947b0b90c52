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
// folders that it needs whole, so that a page costs what is in them.
func (s *Store) Page(after string, limit int) ([]Entry, error) {
	first := uint64(0)
	if len(after) >= 2 {
		first, _ = strconv.ParseUint(after[:2], 16, 8) // behind what is no name there is little, or nothing
	}
	var page []Entry
	for i := first; i < 256 && len(page) < limit; i++ {
		entries, err := s.folder(fmt.Sprintf("%02x", i), after)
		if err != nil {
			return nil, fmt.Errorf("blob: list: %w", err)
		}
		page = append(page, entries[:min(len(entries), limit-len(page))]...)
	}
	return page, nil
}

// folder returns what is in a folder behind a name.
func (s *Store) folder(name, after string) ([]Entry, error) {
	names, err := os.ReadDir(filepath.Join(s.cfg.Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, e := range names {
		foreign := !ValidDigest(e.Name()) || e.Name()[:2] != name || !e.Type().IsRegular()
		entry := Entry{Info: Info{Digest: e.Name()}, Foreign: foreign}
		if foreign {
			entry.Digest = name + "/" + e.Name() // before all digests of the folder
		}
		if entry.Digest <= after {
			continue
		}
		fi, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		entry.Size, entry.Modified = fi.Size(), fi.ModTime()
		entries = append(entries, entry)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Digest, b.Digest) })
	return entries, nil
}
