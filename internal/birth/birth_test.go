package birth

import (
	"os"
	"path/filepath"
	"testing"
)

// TestOf: a file keeps its mark over writes, renames and being opened again. A copy, and a file that takes its place, have another one.
func TestOf(t *testing.T) {
	dir := t.TempDir()
	of := func(name string) Mark {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		m, err := Of(f)
		if err != nil || m == "" {
			t.Fatalf("%q %v", m, err)
		}
		return m
	}
	first := of("a")
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	if again := of("b"); again != first {
		t.Errorf("%s, and then %s", first, again)
	}
	if copied := of("a"); copied == first {
		t.Errorf("another file has the mark %s, too", first)
	}
	f, err := os.Open(filepath.Join(dir, "b"))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := Of(f); err == nil {
		t.Error("a closed file has a mark")
	}
}
