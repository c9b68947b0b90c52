package blob

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/taskrt/taskrt/internal/strays"
)

// TestPage: pages of any size show every entry once, in order, and say which entries are foreign.
func TestPage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var want []string
	for i := range 50 {
		d, err := s.Put(t.Context(), []byte(fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, d)
	}
	folder := want[0][:2]
	if err := os.WriteFile(filepath.Join(dir, folder, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	misplaced := "00" + want[0][2:]
	if err := os.WriteFile(filepath.Join(dir, folder, misplaced), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := []string{folder + "/notes.txt", folder + "/" + misplaced}
	for _, path := range []string{"./AB/1", "./README", folder + "/dir/1", folder + "/dir/deep/2", folder + "/dir/deep/3"} { // folders do not count
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		foreign = append(foreign, path)
	}
	if err := os.Mkdir(filepath.Join(dir, "lost+found"), 0o700); err != nil {
		t.Fatal(err)
	}
	want = append(want, foreign...)
	slices.SortFunc(want, strays.Compare)
	for _, limit := range []int{1, 2, 7, len(want), len(want) + 1} {
		var got []string
		for after := ""; ; after = got[len(got)-1] {
			page, err := s.Page(after, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page {
				got = append(got, e.Digest)
				if e.Foreign != slices.Contains(foreign, e.Digest) || e.Modified.IsZero() {
					t.Errorf("%+v", e)
				}
			}
			if len(page) < limit {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("limit %d: %q, want %q", limit, got, want)
		}
	}
	listed := 0
	if err := s.List(func(Info) bool { listed++; return true }); err != nil || listed != 50 {
		t.Errorf("listed %d: %v", listed, err)
	}
	if page, err := s.Page("zz", 10); err != nil || len(page) != 0 {
		t.Errorf("behind all: %v, %v", page, err)
	}
}

// TestUnreadable: a store whose folder does not exist, or is not a folder, says neither that it has no files nor that it works.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(dir string) error{
		"gone":   os.RemoveAll,
		"a file": func(dir string) error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)) },
	} {
		dir := filepath.Join(t.TempDir(), "blobs")
		s, err := Open(Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Probe(t.Context()); err != nil {
			t.Errorf("%s: as it was: %v", name, err)
		}
		if err := spoil(dir); err != nil {
			t.Fatal(err)
		}
		if page, err := s.Page("", 10); err == nil {
			t.Errorf("%s: page %v", name, page)
		}
		if err := s.List(func(Info) bool { return true }); err == nil {
			t.Errorf("%s: listed", name)
		}
	}
}
