package runtime

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/taskrt/taskrt/runtime/meter"
)

// codeCache keeps native code on disk, one directory per digest. wazero guards its files by a CRC over the code alone;
// a flipped bit in the table of offsets would jump anywhere. So every directory has a file with the SHA-256 of the
// others, looked at before wazero sees them. A directory is made beside its place and renamed into it once complete:
// a crash or another process never leaves half of one.
type codeCache struct {
	dir string // "": no cache
	log *slog.Logger
}

const (
	sumsFile     = "SHA256SUMS"
	makingPrefix = ".making-"
)

func openCodeCache(dir string, log *slog.Logger) (*codeCache, error) {
	c := &codeCache{dir: dir, log: log}
	if dir == "" {
		return c, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("runtime: code cache: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("runtime: code cache: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 { // it was there before: others could write code that we execute
		if err := os.Chmod(dir, 0o700); err != nil {
			return nil, fmt.Errorf("runtime: code cache %s must be private: %w", dir, err)
		}
	}
	c.sweep()
	return c, nil
}

// sweep removes what a crash left half made. Nothing takes an hour to compile: what is younger may be another process's.
func (c *codeCache) sweep() {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		c.log.Warn("code cache is not readable", "err", err)
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), makingPrefix) && time.Since(info.ModTime()) > time.Hour {
			c.removeDir(filepath.Join(c.dir, e.Name()))
		}
	}
}

type compileFunc func(wazero.CompilationCache) (wazero.Runtime, wazero.CompiledModule, error)

// compile calls f with the cached code of digest if there is any that is whole, else with an empty cache, whose content
// it then keeps. Trouble with the cache never fails a compilation.
func (c *codeCache) compile(digest string, f compileFunc) (wazero.Runtime, wazero.CompiledModule, error) {
	if c.dir == "" {
		return f(nil)
	}
	place := c.place(digest)
	if err := verifySums(place); err == nil {
		rt, made, err := c.with(place, f)
		if err == nil {
			return rt, made, nil
		}
		c.log.Warn("cached code is of no use, compiling anew", "digest", digest, "err", err)
	} else if !errors.Is(err, fs.ErrNotExist) {
		c.log.Warn("cached code is damaged, compiling anew", "digest", digest, "err", err)
	}
	c.removeDir(place)

	making, err := c.begin()
	if err != nil {
		c.log.Warn("code cache is not writable", "err", err)
		return f(nil)
	}
	defer os.RemoveAll(making)
	rt, made, err := c.with(making, f)
	if err != nil {
		return f(nil) // the cache's fault (a full disk), or the module's: then this fails too
	}
	if err := keep(making, place); err != nil {
		c.log.Warn("compiled code is not cached", "digest", digest, "err", err)
	}
	return rt, made, nil
}

// begin makes a directory to compile into.
func (c *codeCache) begin() (string, error) {
	if err := os.MkdirAll(c.dir, 0o700); err != nil { // somebody may have deleted it all
		return "", err
	}
	return os.MkdirTemp(c.dir, makingPrefix)
}

// with calls f with a cache in dir. The cache holds the engine that holds the code: it is closed after the runtime.
func (c *codeCache) with(dir string, f compileFunc) (wazero.Runtime, wazero.CompiledModule, error) {
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, nil, err
	}
	rt, made, err := f(cache)
	if err != nil {
		return nil, nil, errors.Join(err, cache.Close(context.Background()))
	}
	return cachedRuntime{rt, cache}, made, nil
}

// cachedRuntime closes its engine, which lives in the cache, with itself.
type cachedRuntime struct {
	wazero.Runtime
	cache wazero.CompilationCache
}

func (r cachedRuntime) Close(ctx context.Context) error {
	return errors.Join(r.Runtime.Close(ctx), r.cache.Close(ctx))
}

// remove forgets the code of digest.
func (c *codeCache) remove(digest string) {
	if c.dir != "" {
		c.removeDir(c.place(digest))
	}
}

// place is the directory of the code of digest: wazero's files tell its versions and flags apart, but not how the module was
// rewritten.
func (c *codeCache) place(digest string) string {
	return filepath.Join(c.dir, fmt.Sprintf("%s-m%d", digest, meter.Version))
}

func (c *codeCache) removeDir(dir string) {
	if err := os.RemoveAll(dir); err != nil {
		c.log.Warn("cached code is not removed", "dir", dir, "err", err)
	}
}

// keep writes the sums of making and moves it to place.
func keep(making, place string) error {
	sums, err := sumFiles(making)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(making, sumsFile), []byte(sums), 0o600); err != nil {
		return err
	}
	if err := os.Rename(making, place); err != nil && !errors.Is(err, fs.ErrExist) {
		return err // exists: another process was faster, with the same content
	}
	return nil
}

func verifySums(dir string) error {
	want, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		return err
	}
	got, err := sumFiles(dir)
	if err != nil {
		return err
	}
	if got != string(want) {
		return errors.New("checksums differ")
	}
	return nil
}

// sumFiles returns one line per file under dir, in a fixed order.
func sumFiles(dir string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	var lines strings.Builder
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == sumsFile {
			return err
		}
		data, err := root.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(data), path)
		return nil
	})
	return lines.String(), err
}
