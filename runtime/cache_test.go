package runtime

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// echoes runs the echo guest on a new engine with this cache.
func echoes(t *testing.T, dir string) {
	t.Helper()
	e, err := New(Config{CacheDir: dir, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	m := load(t, e, guestFile(t, "echo"))
	if out := m.Run(t.Context(), Attempt{Params: []byte("hello")}, &fakeHost{}); string(out.Result) != "hello" {
		t.Fatalf("got %+v", out)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// cached returns the files of the cache.
func cached(t *testing.T, dir string) map[string]time.Time {
	t.Helper()
	files := map[string]time.Time{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var info fs.FileInfo
			info, err = d.Info()
			files[path] = info.ModTime()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestCacheIsUsedAndPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "code")
	echoes(t, dir)
	first := cached(t, dir)
	if len(first) != 2 {
		t.Fatalf("the cache holds %v, want code and sums", first)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	echoes(t, dir)
	for path, when := range cached(t, dir) {
		if !first[path].Equal(when) {
			t.Errorf("%s was written again", path)
		}
	}

	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	echoes(t, dir)
	if info, err = os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("a directory that others may read stays so: %v, %v", info.Mode(), err)
	}
}

// TestCacheDamaged: any flipped bit, in any file, leads to compiling anew and a whole cache after it.
func TestCacheDamaged(t *testing.T) {
	dir := t.TempDir()
	echoes(t, dir)
	for path := range cached(t, dir) {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		step := max(1, len(whole)/20)
		for i := 0; i < len(whole); i += step {
			damaged := append([]byte(nil), whole...)
			damaged[i] ^= 0x40
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			echoes(t, dir)
			if now, err := os.ReadFile(path); err != nil || string(now) == string(damaged) {
				t.Fatalf("%s, byte %d: the damaged file is still there (%v)", filepath.Base(path), i, err)
			}
		}
		for _, n := range []int{0, len(whole) / 2, len(whole) - 1} {
			if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
				t.Fatal(err)
			}
			echoes(t, dir)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		echoes(t, dir)
	}
}

func TestCacheDeleted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "code")
	e := newEngine(t, Config{CacheDir: dir})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	m := load(t, e, guestFile(t, "echo"))
	if len(cached(t, dir)) == 0 {
		t.Error("the cache was not made anew")
	}
	if out := m.Run(t.Context(), Attempt{Params: []byte("x")}, &fakeHost{}); string(out.Result) != "x" {
		t.Errorf("got %+v", out)
	}
	e.Drop(m.Digest())
	echoes(t, dir)
}

func TestDropRemovesCachedCode(t *testing.T) {
	dir := t.TempDir()
	e := newEngine(t, Config{CacheDir: dir})
	m := load(t, e, guestFile(t, "echo"))
	if len(cached(t, dir)) == 0 {
		t.Fatal("nothing is cached")
	}
	e.Drop(m.Digest())
	if left := cached(t, dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestCacheSweepsWhatACrashLeft(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"old", "young"} {
		if err := os.Mkdir(filepath.Join(dir, ".making-"+name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(filepath.Join(dir, ".making-old"), old, old); err != nil {
		t.Fatal(err)
	}
	echoes(t, dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".making-") {
			left = append(left, e.Name())
		}
	}
	if len(left) != 1 || left[0] != ".making-young" {
		t.Errorf("left: %v", left)
	}
}

func TestCacheThatIsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Config{CacheDir: path}); err == nil {
		t.Error("a file serves as cache directory")
	}
}
