package runtime

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// compiles makes the echo guest ready on a new engine and returns what OnCompile was told.
func compiles(t *testing.T, cfg Config) Compiled {
	t.Helper()
	told := make(chan Compiled, 8)
	cfg.OnCompile = func(c Compiled) { told <- c }
	e := newEngine(t, cfg)
	m := load(t, e, guestFile(t, "echo"))
	load(t, e, guestFile(t, "echo")) // it is ready: nothing happens
	if out := m.Run(t.Context(), Attempt{Params: []byte("hello")}, &fakeHost{}); string(out.Result) != "hello" {
		t.Fatalf("got %+v", out)
	}
	if len(told) != 1 {
		t.Fatalf("OnCompile was told %d times", len(told))
	}
	c := <-told
	if c.Digest != m.Digest() || c.Took <= 0 || c.Took != m.ReadyTime() || c.Err != nil {
		t.Errorf("told %+v of a module that took %v", c, m.ReadyTime())
	}
	return c
}

// TestRestartCompilesNothing: a node that starts again compiles nothing.
func TestRestartCompilesNothing(t *testing.T) {
	dir := t.TempDir()
	if compiles(t, Config{CacheDir: dir}).Cached {
		t.Error("code came from an empty cache")
	}
	for range 3 {
		if !compiles(t, Config{CacheDir: dir}).Cached {
			t.Error("compiled again after a restart")
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if compiles(t, Config{CacheDir: dir}).Cached {
		t.Error("code came from a cache that was deleted")
	}
	if compiles(t, Config{}).Cached {
		t.Error("code came from no cache")
	}
}

func TestRefusedModuleIsTold(t *testing.T) {
	var told []Compiled
	e := newEngine(t, Config{OnCompile: func(c Compiled) { told = append(told, c) }})
	wasm := []byte("\x00asm")
	if _, err := e.Load(t.Context(), Digest(wasm), wasm); err == nil {
		t.Fatal("half a header is a module")
	}
	if len(told) != 1 || told[0].Err == nil || told[0].Cached {
		t.Errorf("told %+v", told)
	}
}

// old makes a directory of the cache with size bytes, which was last used age ago.
func old(t *testing.T, dir, name string, size int, age time.Duration) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "code"), make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	when := time.Now().Add(-age)
	if err := os.Chtimes(path, when, when); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), "-")
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

// TestCacheOfOtherVersions: code of another version is never looked at, and is removed after a week.
func TestCacheOfOtherVersions(t *testing.T) {
	dir := t.TempDir()
	old(t, dir, "a-m2", 1, 8*24*time.Hour)
	old(t, dir, "b-m2", 1, 6*24*time.Hour)
	old(t, dir, "c-"+generation(), 1, 30*24*time.Hour)
	digest := Digest(guestFile(t, "echo"))
	old(t, dir, digest+"-wazerov0.0.1-linux-amd64-m1-f1", 1, time.Hour)
	if compiles(t, Config{CacheDir: dir}).Cached {
		t.Error("code of another version was used")
	}
	if got, want := names(t, dir), strings.Join([]string{digest, digest, "b", "c"}, " "); got != want {
		t.Errorf("the cache holds %s, want %s", got, want)
	}
	newEngine(t, Config{CacheDir: dir}).Drop(digest)
	if got := names(t, dir); got != "b c" {
		t.Errorf("after a drop the cache holds %s", got)
	}
}

// TestCacheIsBounded: what was not used for the longest time is removed first, and no more than must be.
func TestCacheIsBounded(t *testing.T) {
	dir := t.TempDir()
	const size = 100_000
	old(t, dir, "a-"+generation(), size, time.Hour)
	old(t, dir, "b-"+generation(), size, 3*time.Hour)
	old(t, dir, "c-m2", size, 2*time.Hour)
	e := newEngine(t, Config{CacheDir: dir, CacheBytes: 3 * size})
	if got := names(t, dir); got != "a b c" || e.cache.Bytes() != 3*size {
		t.Fatalf("a full cache holds %s, %d bytes", got, e.cache.Bytes())
	}
	m := load(t, e, guestFile(t, "echo"))
	if got, want := names(t, dir), m.Digest()+" a c"; got != want && got != "a c "+m.Digest() {
		t.Errorf("after one more the cache holds %s, want %s", got, want)
	}
	if n := e.cache.Bytes(); n <= 2*size || n > 3*size {
		t.Errorf("the cache counts %d bytes", n)
	}

	// A hit is a use.
	place := filepath.Join(dir, m.Digest()+"-"+generation())
	when := time.Now().Add(-5 * time.Hour)
	if err := os.Chtimes(place, when, when); err != nil {
		t.Fatal(err)
	}
	if !compiles(t, Config{CacheDir: dir, CacheBytes: 3 * size}).Cached {
		t.Error("not cached any more")
	}
	if info, err := os.Stat(place); err != nil || time.Since(info.ModTime()) > time.Hour {
		t.Errorf("the use of code is not noted: %v, %v", info.ModTime(), err)
	}
}
