package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWrite: a directory has the whole site, and nothing of a former one.
func TestWrite(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "docs")
	if err := os.MkdirAll(out, 0o700); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(out, "old.html")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(out, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"index.html", "errors.html", "search.html", "search-index.js", "docs.css", "llms.txt", "errors.md"} {
		if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("what was there before: %v", err)
	}
}
