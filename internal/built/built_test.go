package built

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"
)

func TestOnce(t *testing.T) {
	dir := t.TempDir()
	builds := 0
	build := func() ([]byte, error) { builds++; return []byte("module"), nil }
	want := func(n int) {
		t.Helper()
		made, err := once(dir, "name", build)
		if err != nil || string(made) != "module" || builds != n {
			t.Fatalf("%q, %v after %d builds, want %d", made, err, builds, n)
		}
	}
	want(1)
	want(1)
	if err := os.Truncate(filepath.Join(dir, "name"), 35); err != nil { // a crash
		t.Fatal(err)
	}
	want(2)
	broken := errors.New("broken")
	for range 2 { // what fails is not kept
		if _, err := once(dir, "other", func() ([]byte, error) { return nil, broken }); !errors.Is(err, broken) {
			t.Error(err)
		}
	}
	old := time.Now().Add(-unused - time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "name"), old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := once(dir, "third", build); err != nil {
		t.Fatal(err)
	}
	want(4) // it was pruned
}

// TestName: whatever a module is made of names it.
func TestName(t *testing.T) {
	file := func(name, text string) fstest.MapFS { return fstest.MapFS{name: {Data: []byte(text)}} }
	seen := map[string]int{}
	for i, r := range []Recipe{
		{},
		{Tool: "cc 1"},
		{Tool: "cc 2"},
		{Tool: "cc 1", Command: []string{"-O2"}},
		{Tool: "cc 1", Command: []string{"-O", "2"}},
	} {
		for j, more := range [][]fstest.MapFS{
			{}, {file("a", "b")}, {file("a", "c")}, {file("d/a", "b")}, {file("a", "b"), file("c", "d")}, {file("a", "b"), {}},
			{{"a": {Data: []byte("b")}, "c": {Data: []byte("d")}}},
		} {
			for _, source := range more {
				r.Sources = append(r.Sources, source)
			}
			name, err := r.name()
			if err != nil {
				t.Fatal(err)
			}
			if at, ok := seen[name]; ok {
				t.Errorf("recipes %d and %d have the same name", at, 100*i+j)
			}
			seen[name] = 100*i + j
			r.Sources = nil
			if again, _ := r.name(); j > 0 && again == name {
				t.Error("sources do not count")
			}
		}
	}
}

func TestShareCode(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var codes []string
	for _, name := range []string{"n1", "n2"} {
		data := filepath.Join(t.TempDir(), name, "data")
		if err := ShareCode(data); err != nil {
			t.Fatal(err)
		}
		code, err := filepath.EvalSymlinks(filepath.Join(data, "wasm-cache"))
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, code)
		if info, err := os.Stat(code); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v", info, err)
		}
	}
	if codes[0] != codes[1] {
		t.Error(codes)
	}
}
