package strays

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestFiles: pages of any size show every file once, in order, and no folder.
func TestFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	want := []string{"x/a/1", "x/a/b/c/2", "x/a/z", "x/a-b", "x/a.b/3", "x/link", "x/z"}
	for _, path := range want {
		file := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if path == "x/link" {
			if err := os.Symlink(filepath.Join(root, "x", "a"), file); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(file, []byte(path), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "x", "empty", "too"), 0o700); err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(want, Compare) {
		t.Fatal("the order of the test")
	}
	for limit := 1; limit <= len(want)+1; limit++ {
		var got []string
		for after := ""; ; after = got[len(got)-1] {
			fs, err := Files(root, "x", after, limit)
			if err != nil || len(fs) > limit {
				t.Fatalf("%d files, %v", len(fs), err)
			}
			for _, f := range fs {
				got = append(got, f.Path)
				if f.Modified.IsZero() || f.Path != "x/link" && f.Size != int64(len(f.Path)) {
					t.Errorf("%+v", f)
				}
			}
			if len(fs) < limit {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("limit %d: %q, want %q", limit, got, want)
		}
	}
	for path, want := range map[string]int{"x/z": 1, "x/empty": 0, "nothing": 0} {
		if fs, err := Files(root, path, "", 10); err != nil || len(fs) != want {
			t.Errorf("%s: %v, %v", path, fs, err)
		}
	}
}
