// Package built keeps files, per machine, that tests would make anew in every run and always get the same: guests that compilers of other
// languages build, and native code of guests. The name of a file depends on everything that the file is made of, as in Go's own build cache.
// So a change of any of it makes the file anew.
package built

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// unused is how long a file is kept for which nobody asks.
const unused = 14 * 24 * time.Hour

// Recipe is what a file is made of: the compiler with its version, its command line, and the sources.
type Recipe struct {
	Tool    string
	Command []string // paths in it that differ from run to run are left out
	Sources []fs.FS
}

// Once returns what build returns, or what it returned for the same recipe before.
func (r Recipe) Once(build func() ([]byte, error)) ([]byte, error) {
	name, err := r.name()
	if err != nil {
		return nil, err
	}
	dir, err := cacheDir("built")
	if err != nil {
		return build() // no home, no cache
	}
	return once(dir, name, build)
}

// once keeps the file with its digest before it, so that half a file is not taken for a whole one.
func once(dir, name string, build func() ([]byte, error)) ([]byte, error) {
	file := filepath.Join(dir, name)
	if text, err := os.ReadFile(file); err == nil && len(text) > sha256.Size {
		if made := text[sha256.Size:]; sha256.Sum256(made) == [sha256.Size]byte(text) {
			now := time.Now()
			_ = os.Chtimes(file, now, now) // prune would take it sooner
			return made, nil
		}
	}
	made, err := build()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(made)
	if err := write(dir, file, append(sum[:], made...)); err != nil {
		return nil, err
	}
	prune(dir)
	return made, nil
}

// name is a digest of the recipe.
func (r Recipe) name() (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q\n", r.Tool, r.Command)
	for _, source := range r.Sources {
		err := fs.WalkDir(source, ".", func(path string, d fs.DirEntry, err error) error {
			if d != nil && (d.Name() == "target" || d.Name() == "node_modules") {
				return fs.SkipDir // what somebody built there by hand
			}
			if err != nil || d.IsDir() {
				return err
			}
			text, err := fs.ReadFile(source, path)
			fmt.Fprintf(sum, "%q %d\n", path, len(text))
			sum.Write(text)
			return err
		})
		if err != nil {
			return "", err
		}
		fmt.Fprintln(sum, "end")
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// write makes a file in one step: other tests may be writing the same one.
func write(dir, file string, text []byte) error {
	tmp, err := os.CreateTemp(dir, ".making-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if _, err := tmp.Write(text); err != nil {
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}

// prune removes files for which nobody has asked in a long time.
func prune(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > unused {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// CodeDir makes the directory in which native code of guests is kept.
func CodeDir() (string, error) { return cacheDir("code") }

// ShareCode lets a node or worker whose files will be in data share the native code of guests with other tests on this machine
// and with plugintest. Each of them would spend seconds on compiling the same guests. wazero's files are named by the rewritten module,
// so a change of package meter makes them anew.
func ShareCode(data string) error {
	code, err := CodeDir()
	if err != nil {
		return nil //nolint:nilerr // no home: it compiles
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	return os.Symlink(code, filepath.Join(data, "wasm-cache"))
}

// cacheDir makes a private directory of this machine's tests.
func cacheDir(name string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "taskrt", name)
	return dir, os.MkdirAll(dir, 0o700)
}
