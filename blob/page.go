package blob

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/taskrt/taskrt/internal/strays"
)

// Entry is an entry of one of the store's folders.
type Entry struct {
	Info         // Digest of a foreign file is its path below Config.Dir
	Foreign bool // no store has put it there
}

// Page returns up to limit entries behind the entry after, in the order of strays.Compare. If it returns fewer than limit, there are
// no more. Foreign entries are files, however deep they lie. Page reads the names of whole folders, but looks only at the files that it
// returns. It returns an error for a store whose folder cannot be read or is not there; such a store is not an empty store.
func (s *Store) Page(after string, limit int) ([]Entry, error) {
	if err := s.readable(); err != nil {
		return nil, err
	}
	page, err := s.loose(after, limit)
	first := uint64(0)
	if len(after) >= 2 {
		first, _ = strconv.ParseUint(after[:2], 16, 8) // few entries, or none, lie behind a name that is not a digest
	}
	for i := first; i < 256 && len(page) < limit && err == nil; i++ {
		var entries []Entry
		entries, err = s.folder(fmt.Sprintf("%02x", i), after, limit-len(page))
		page = append(page, entries...)
	}
	if err != nil {
		return nil, fmt.Errorf("blob: list: %w", err)
	}
	return page, nil
}

// readable reports whether the folder of all files can be read.
func (s *Store) readable() error {
	d, err := os.Open(s.cfg.Dir)
	if err == nil {
		_, err = d.Readdirnames(1)
		err = errors.Join(err, d.Close())
	}
	if err != nil { // io.EOF too: there is tmp at least
		return diskError("read the folder of blobs", err)
	}
	return nil
}

// looseMark stands before the name of an entry that lies in no folder of files. It sorts before all other names.
const looseMark = "./"

// loose returns the entries that lie beside the folders of files.
func (s *Store) loose(after string, limit int) ([]Entry, error) {
	if after != "" && !strings.HasPrefix(after, looseMark) {
		return nil, nil
	}
	names, err := os.ReadDir(s.cfg.Dir)
	if err != nil {
		return nil, err
	}
	var page []Entry
	for _, f := range names {
		if len(page) >= limit {
			break
		}
		if f.IsDir() && (f.Name() == tmpName || isFolder(f.Name())) {
			continue
		}
		found, err := strays.Files(s.cfg.Dir, looseMark+f.Name(), after, limit-len(page))
		if err != nil {
			return nil, err
		}
		page = append(page, foreign(found)...)
	}
	return page, nil
}

// isFolder reports whether name is the name of a folder of files.
func isFolder(name string) bool {
	n, err := strconv.ParseUint(name, 16, 8)
	return err == nil && name == fmt.Sprintf("%02x", n)
}

func foreign(files []strays.File) (entries []Entry) {
	for _, f := range files {
		entries = append(entries, Entry{Info{f.Path, f.Size, f.Modified}, true})
	}
	return entries
}

// folder returns the entries of a folder behind a name, up to limit of them, in order of their names.
func (s *Store) folder(name, after string, limit int) ([]Entry, error) {
	files, err := os.ReadDir(filepath.Join(s.cfg.Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(files, func(a, b fs.DirEntry) int { return strays.Compare(entryName(name, a), entryName(name, b)) })
	var entries []Entry
	for _, f := range files {
		if len(entries) >= limit {
			break
		}
		if entryName(name, f) != f.Name() {
			found, err := strays.Files(s.cfg.Dir, entryName(name, f), after, limit-len(entries))
			if err != nil {
				return nil, err
			}
			entries = append(entries, foreign(found)...)
			continue
		}
		if strays.Compare(f.Name(), after) <= 0 {
			continue
		}
		fi, err := f.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, Entry{Info: Info{f.Name(), fi.Size(), fi.ModTime()}})
	}
	return entries, nil
}

// entryName returns the digest that a file in a folder has for its name. For another file it returns a path, which sorts before all digests.
func entryName(folder string, f fs.DirEntry) string {
	if !ValidDigest(f.Name()) || f.Name()[:2] != folder || !f.Type().IsRegular() {
		return folder + "/" + f.Name()
	}
	return f.Name()
}
