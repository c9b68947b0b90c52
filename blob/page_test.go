package blob

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestPage: pages of any size show everything once, in order, and tell what is foreign.
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
	want = append(want, foreign...)
	slices.Sort(want)
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
	if page, err := s.Page("zz", 10); err != nil || len(page) != 0 {
		t.Errorf("behind all: %v, %v", page, err)
	}
}
