package logs

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/strays"
)

// TestAttemptsAreBounded: a task's last attempts keep their logs, however many attempts came before.
func TestAttemptsAreBounded(t *testing.T) {
	s := open(t, t.TempDir(), 0)
	for token := range uint64(3 * MaxAttempts) {
		if err := s.Append(key("x01"), token+1, 1, Piece{Data: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	as, err := s.Read(key("x01"))
	if err != nil {
		t.Fatal(err)
	}
	if len(as) != MaxAttempts || as[0].Token != 2*MaxAttempts+1 || s.total != MaxAttempts*blockBytes {
		t.Errorf("%d attempts from token %d, %d bytes", len(as), as[0].Token, s.total)
	}
}

// TestPage: pages of any size show the logs of every task once and in order, and they mark foreign files.
func TestPage(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 0)
	var want []string
	for i := range 40 {
		id := "x" + strconv.Itoa(100+i)
		appendText(t, s, id, 1, 0, id)
		want = append(want, Name(key(id)))
	}
	folder := want[0][:2]
	if err := os.WriteFile(filepath.Join(dir, folder, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, folder, "dir", "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	foreign := []string{folder + "/notes.txt", folder + "/dir/deep/1", folder + "/dir/deep/2"}
	for _, path := range foreign {
		if err := os.WriteFile(filepath.Join(dir, path), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want = append(want, foreign...)
	slices.SortFunc(want, strays.Compare)
	for _, limit := range []int{1, 3, len(want), len(want) + 1} {
		var got []string
		for after := ""; ; after = got[len(got)-1] {
			page, err := s.Page(after, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page {
				got = append(got, e.Name)
				if e.Foreign != slices.Contains(foreign, e.Name) || e.Modified.IsZero() {
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
}

// TestDropBefore: young logs stay, and so do files that the store has not put there.
func TestDropBefore(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 0)
	now := time.Now()
	for _, id := range []string{"old", "young", "mixed"} {
		appendText(t, s, id, 1, 0, id)
	}
	appendText(t, s, "mixed", 2, 0, "mixed")
	age := func(id, file string) {
		if err := os.Chtimes(filepath.Join(s.taskDir(key(id)), file), now, now.Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	age("old", "1-1")
	age("mixed", "1-1")
	foreign := filepath.Join(s.taskDir(key("old")), "foreign")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(foreign, now, now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	names := []string{Name(key("old")), Name(key("young")), Name(key("mixed")), Name(key("none")), "../../etc", "xx"}
	n, err := s.DropBefore(names, now.Add(-time.Minute))
	if err != nil || n != 1 {
		t.Errorf("dropped %d, %v", n, err)
	}
	if text(t, s, "old") != "" || text(t, s, "young") != "young" || text(t, s, "mixed") == "" {
		t.Errorf("old %q, young %q, mixed %q", text(t, s, "old"), text(t, s, "young"), text(t, s, "mixed"))
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error(err)
	}
	again := open(t, dir, blockBytes) // it evicts logs; foreign files do not count and stay
	if _, err := os.Stat(foreign); err != nil || again.total > blockBytes {
		t.Error(err, again.total)
	}
}
