package codecache

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
)

// Config of a Cache.
type Config struct {
	// Dir is the cache's directory; "": there is no cache, and every module is compiled where it is needed.
	Dir string
	// Limit bounds all files together, in bytes; what was not used for the longest time goes first.
	Limit int64
	// Generation names all that native code depends on beside the module. It is part of the names of files.
	Generation string
	// Compile, if set, has another process put the code of a module into the cache, which this one only reads.
	Compile func(ctx context.Context, digest string, size int64) error
	Logger  *slog.Logger
}

// Cache keeps native code on disk, in one directory for each module. Images of modules lie beside the directories. The
// time of modification of a directory or an image is when it was last used.
type Cache struct {
	cfg Config

	mu    sync.Mutex
	size  int64 // bytes, as far as this process knows: others may share the cache
	fault error // why the code that was compiled last is not kept; nil: it is
}

// Fault returns why the code that was compiled last is not kept, for a process whose only task is to keep it; nil: it is kept.
func (c *Cache) Fault() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fault
}

func (c *Cache) note(fault error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = fault
}

const (
	sumsFile     = "SHA256SUMS"
	makingPrefix = ".making-"
	// foreignAge is how long code of other versions is kept unused: an upgrade may be taken back, and nodes that are
	// upgraded one by one may share a cache (taskrt dev).
	foreignAge = 7 * 24 * time.Hour
)

// Prepare makes the directory of a cache, for a process that cannot make it: the wall around it names the directory (SPEC A10).
func Prepare(dir string) error {
	if dir == "" {
		return nil
	}
	if err := makePrivate(dir); err != nil {
		return fmt.Errorf("runtime: code cache: %w", err)
	}
	return nil
}

// Used notes that the code and the image of digest are in use, for a process that only reads the cache. Else prune would take them sooner.
func Used(dir, digest string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // the next look finds it; the cache may be deleted at any time
	}
	now := time.Now()
	for _, e := range entries {
		if digest != "" && strings.HasPrefix(e.Name(), digest+"-") {
			_ = os.Chtimes(filepath.Join(dir, e.Name()), now, now)
		}
	}
}

// Open returns a cache, and makes its directory unless another process fills it.
func Open(cfg Config) (*Cache, error) {
	c := &Cache{cfg: cfg}
	if cfg.Dir == "" || cfg.Compile != nil {
		return c, nil
	}
	err := makePrivate(cfg.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) { // those two: somebody is deleting it
		return nil, fmt.Errorf("runtime: code cache: %w", err)
	}
	c.prune()
	return c, nil
}

// makePrivate makes dir. If dir was there, it takes the rights of others away: they could write code that we execute.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("it must be private: %w", err)
	}
	return nil
}

// prune removes what a crash left half made and what other versions left behind. Of the rest it removes what was not
// used for the longest time, until the limit is kept. Half made files that are younger than an hour may be another
// process's: nothing takes an hour to compile.
func (c *Cache) prune() {
	entries, err := os.ReadDir(c.cfg.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.cfg.Logger.Warn("code cache is not readable", "err", err)
		return
	}
	type kept struct {
		path string
		used time.Time
		size int64
	}
	var all []kept
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil { // somebody else removed it
			continue
		}
		path, age := filepath.Join(c.cfg.Dir, e.Name()), time.Since(info.ModTime())
		switch {
		case strings.HasPrefix(e.Name(), makingPrefix):
			if age > time.Hour {
				c.removeDir(path)
			}
		case !strings.HasSuffix(e.Name(), "-"+c.cfg.Generation) && age > foreignAge:
			c.removeDir(path)
		default:
			size := Size(path)
			all, total = append(all, kept{path, info.ModTime(), size}), total+size
		}
	}
	slices.SortFunc(all, func(a, b kept) int { return a.used.Compare(b.used) })
	for _, k := range all {
		if total <= c.cfg.Limit {
			break
		}
		c.removeDir(k.path)
		total -= k.size
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size = total
}

// grown counts what was kept, and prunes if that is too much.
func (c *Cache) grown(n int64) {
	c.mu.Lock()
	c.size += n
	over := c.size > c.cfg.Limit
	c.mu.Unlock()
	if over {
		c.prune()
	}
}

// Bytes returns the size of the cache, as far as this process knows it.
func (c *Cache) Bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}

// Size returns the bytes of the files below dir; what cannot be read counts nothing.
func Size(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // it may vanish at any time
		}
		if info, err := d.Info(); err == nil {
			n += info.Size()
		}
		return nil
	})
	return n
}

// compileFunc compiles a module, with a cache of wazero's that may be nil.
type compileFunc func(wazero.CompilationCache) (wazero.Runtime, wazero.CompiledModule, error)

// Compile calls f with the cached code of digest, if there is any and it is whole, else with an empty cache, whose
// content is then kept. cached says that nothing was compiled. Trouble with the cache never fails a compilation.
func (c *Cache) Compile(digest string, f compileFunc) (rt wazero.Runtime, made wazero.CompiledModule, cached bool, err error) {
	if c.cfg.Dir == "" {
		rt, made, err = f(nil)
		return rt, made, false, err
	}
	place := c.place(digest)
	if err := verifySums(place); err == nil {
		rt, made, cached, err := c.reuse(place, f)
		if err == nil {
			return rt, made, cached, nil
		}
		c.cfg.Logger.Warn("cached code is of no use, compiling anew", "digest", digest, "err", err)
	} else if !errors.Is(err, fs.ErrNotExist) {
		c.cfg.Logger.Warn("cached code is damaged, compiling anew", "digest", digest, "err", err)
	}
	c.removeDir(place)

	making, err := c.begin()
	if err != nil {
		c.cfg.Logger.Warn("code cache is not writable", "err", err)
		c.note(err)
		rt, made, err = f(nil)
		return rt, made, false, err
	}
	defer os.RemoveAll(making)
	rt, made, err = c.with(making, f)
	if err != nil {
		c.note(err)
		rt, made, err = f(nil) // the cache's fault (a full disk), or the module's: then this fails too
		return rt, made, false, err
	}
	if err := keep(making, place); err != nil {
		c.cfg.Logger.Warn("compiled code is not cached", "digest", digest, "err", err)
		c.note(err)
	} else {
		c.note(nil)
		c.grown(Size(place))
	}
	return rt, made, false, nil
}

// reuse calls f with the code in place. wazero may find no code for this machine's CPU there, and add it.
func (c *Cache) reuse(place string, f compileFunc) (wazero.Runtime, wazero.CompiledModule, bool, error) {
	rt, made, added, err := c.open(place, f)
	if err != nil {
		return nil, nil, false, err
	}
	if added != 0 {
		if err := seal(place); err != nil {
			c.cfg.Logger.Warn("compiled code is not cached", "dir", place, "err", err)
		}
		c.grown(added)
	}
	return rt, made, added == 0, nil
}

// open calls f with the code in place. added is how many bytes wazero has put there.
func (c *Cache) open(place string, f compileFunc) (rt wazero.Runtime, made wazero.CompiledModule, added int64, err error) {
	before := Size(place)
	if rt, made, err = c.with(place, f); err != nil {
		return nil, nil, 0, err
	}
	now := time.Now()
	_ = os.Chtimes(place, now, now) // prune would take it sooner; it may also have been deleted
	return rt, made, Size(place) - before, nil
}

// begin makes a directory to compile into.
func (c *Cache) begin() (string, error) {
	if err := makePrivate(c.cfg.Dir); err != nil { // somebody may have deleted it all
		return "", err
	}
	return os.MkdirTemp(c.cfg.Dir, makingPrefix)
}

// with calls f with a cache in dir. The cache holds the engine that holds the code: it is closed after the runtime.
func (c *Cache) with(dir string, f compileFunc) (wazero.Runtime, wazero.CompiledModule, error) {
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

// cachedRuntime closes its engine, which lives in the cache, when it is closed.
type cachedRuntime struct {
	wazero.Runtime
	cache wazero.CompilationCache
}

func (r cachedRuntime) Close(ctx context.Context) error {
	return errors.Join(r.Runtime.Close(ctx), r.cache.Close(ctx))
}

// Remove forgets the code of digest, the code of other versions, too.
func (c *Cache) Remove(digest string) {
	if c.cfg.Dir == "" {
		return
	}
	entries, err := os.ReadDir(c.cfg.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.cfg.Logger.Warn("code cache is not readable", "err", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), digest+"-") {
			path := filepath.Join(c.cfg.Dir, e.Name())
			c.grown(-Size(path))
			c.removeDir(path)
		}
	}
}

// place is the directory of the code of digest.
func (c *Cache) place(digest string) string {
	return filepath.Join(c.cfg.Dir, digest+"-"+c.cfg.Generation)
}

func (c *Cache) removeDir(dir string) {
	if err := os.RemoveAll(dir); err != nil {
		c.cfg.Logger.Warn("cached code is not removed", "dir", dir, "err", err)
	}
}

// keep seals making and moves it to place.
func keep(making, place string) error {
	if err := seal(making); err != nil {
		return err
	}
	if err := os.Rename(making, place); err != nil && !errors.Is(err, fs.ErrExist) {
		return err // exists: another process was faster, with the same content
	}
	return nil
}

// seal writes the sums of dir. After a crash in between the sums are wrong, and the code is compiled again.
func seal(dir string) error {
	sums, err := sumFiles(dir)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, sumsFile), []byte(sums), 0o600)
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
