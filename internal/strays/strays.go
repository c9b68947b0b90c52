// Package strays lists, page by page, files that lie among a program's own files and that the program has not put there, however deep.
package strays

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// File is a file, or anything else that is no folder.
type File struct {
	Path     string // below the root, with slashes
	Size     int64
	Modified time.Time
}

// Compare orders paths as a walk meets them: the content of a folder comes right behind the folder's own place.
func Compare(a, b string) int {
	for i := range min(len(a), len(b)) {
		if x, y := place(a[i]), place(b[i]); x != y {
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(len(a), len(b))
}

func place(c byte) int {
	if c == '/' {
		return 0
	}
	return int(c) + 1
}

// Files returns the file at a path below root, or, if a folder lies there, the files in it. It returns files behind the path after, in the
// order of Compare, up to limit. It does not follow links. A folder that cannot be read counts as one file, because nobody knows what it
// holds. A file that goes meanwhile is not returned.
func Files(root, path, after string, limit int) ([]File, error) {
	w := walk{root: root, after: after, limit: limit}
	if w.passed(path) {
		return nil, nil
	}
	info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(path)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	w.see(path, info)
	return w.found, nil
}

type walk struct {
	root, after string
	limit       int
	found       []File
}

// passed reports whether the file or folder at a path was seen, with everything below it.
func (w *walk) passed(path string) bool {
	return Compare(path, w.after) < 0 && !strings.HasPrefix(w.after, path+"/")
}

func (w *walk) see(path string, info fs.FileInfo) {
	if info.IsDir() && w.folder(path) || Compare(path, w.after) <= 0 || len(w.found) >= w.limit {
		return
	}
	w.found = append(w.found, File{path, info.Size(), info.ModTime()})
}

// folder sees the content of a folder. It returns false if the folder cannot be read.
func (w *walk) folder(path string) bool {
	entries, err := os.ReadDir(filepath.Join(w.root, filepath.FromSlash(path)))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	for _, e := range entries {
		if len(w.found) >= w.limit {
			break
		}
		below := path + "/" + e.Name()
		if w.passed(below) {
			continue
		}
		if info, err := e.Info(); err == nil {
			w.see(below, info)
		}
	}
	return true
}
