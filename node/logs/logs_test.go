package logs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/task"
)

func key(id string) task.Key { return task.Key{Namespace: "default", ID: id} }

func open(t *testing.T, dir string, max int64) *Store {
	t.Helper()
	s, err := Open(dir, max)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func appendText(t *testing.T, s *Store, id string, token uint64, offset int64, text string) {
	t.Helper()
	if err := s.Append(key(id), token, 1, Piece{Offset: offset, Data: []byte(text)}); err != nil {
		t.Fatal(err)
	}
}

func text(t *testing.T, s *Store, id string) string {
	t.Helper()
	as, err := s.Read(key(id))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, x := range Merge(Position{}, as) {
		b.WriteString(x.Text)
	}
	return b.String()
}

func TestPiecesOfTwoNodesFitTogether(t *testing.T) {
	a, b := open(t, t.TempDir(), 0), open(t, t.TempDir(), 0)
	appendText(t, a, "x01", 7, 0, "one\n")
	appendText(t, a, "x01", 7, 4, "two\n")
	appendText(t, b, "x01", 7, 4, "two\nthree\n") // the worker sends it again to the next leader, with more
	appendText(t, b, "x01", 7, 20, "five\n")
	appendText(t, b, "x01", 9, 0, "again\n")
	la, _ := a.Read(key("x01"))
	lb, _ := b.Read(key("x01"))
	got := Merge(Position{}, lb, la)
	if len(got) != 2 || got[0].Token != 7 || got[1].Token != 9 {
		t.Fatalf("got %+v", got)
	}
	if want := "one\ntwo\nthree\n[6 bytes missing]\nfive\n"; got[0].Text != want {
		t.Errorf("got %q, want %q", got[0].Text, want)
	}
	if got[1].Text != "again\n" {
		t.Errorf("got %q", got[1].Text)
	}
}

func TestSurvivesRestartAndTornTail(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 0)
	appendText(t, s, "x01", 7, 0, "one\n")
	var path string
	for p := range s.files {
		path = p
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte{0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 9, 'h', 'a'}); err != nil {
		t.Fatal(err)
	}
	f.Close()
	s = open(t, dir, 0)
	if got := text(t, s, "x01"); got != "one\n" {
		t.Errorf("got %q", got)
	}
	appendText(t, s, "x01", 7, 4, "two\n")
	if got := text(t, s, "x01"); got != "one\ntwo\n" {
		t.Errorf("after the torn tail: got %q", got)
	}
}

func TestOldestGoFirst(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 3*blockBytes)
	for _, id := range []string{"x01", "x02", "x03"} {
		appendText(t, s, id, 1, 0, id)
	}
	appendText(t, s, "x01", 1, 3, "+") // x02 is now the least recently written
	appendText(t, s, "x04", 1, 0, "x04")
	for id, want := range map[string]string{"x01": "x01+", "x02": "", "x03": "x03", "x04": "x04"} {
		if got := text(t, s, id); got != want {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
	}
	if err := s.Remove(key("x03")); err != nil {
		t.Fatal(err)
	}
	if got := text(t, s, "x03"); got != "" {
		t.Errorf("after Remove: %q", got)
	}
	var files int
	_ = filepath.Walk(dir, func(_ string, fi os.FileInfo, _ error) error {
		if fi.Mode().IsRegular() {
			files++
		}
		return nil
	})
	if files != 2 || s.total != 2*blockBytes {
		t.Errorf("%d files, %d bytes counted", files, s.total)
	}
}

func TestOneAttemptIsBounded(t *testing.T) {
	s := open(t, t.TempDir(), 0)
	chunk := strings.Repeat("x", 64<<10)
	for i := range 40 {
		appendText(t, s, "x01", 1, int64(i*len(chunk)), chunk)
	}
	if n := len(text(t, s, "x01")); n > MaxAttemptBytes || n < MaxAttemptBytes/2 {
		t.Errorf("kept %d bytes", n)
	}
	appendText(t, s, "x02", 1, 0, strings.Repeat("x", MaxAttemptBytes))
	if len(s.files) != 1 || s.order.Len() != 1 {
		t.Errorf("a piece that is too long for any log has left an entry: %d", len(s.files))
	}
	if _, err := os.Stat(s.taskDir(key("x02"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it has left a folder: %v", err)
	}
}

// TestMergeFrom: whoever follows a log gets each byte once, from where it was, also when a node that had pieces is away for a while, and no half
// of a character (SPEC U3).
func TestMergeFrom(t *testing.T) {
	piece := func(offset int64, text string) Piece { return Piece{Offset: offset, Data: []byte(text)} }
	attempt := func(token uint64, ps ...Piece) Attempt {
		return Attempt{Attempt: int64(token), Token: token, Pieces: ps}
	}
	one, two := []Attempt{attempt(7, piece(0, "one\n"), piece(8, "thr\xc3"))}, []Attempt{attempt(7, piece(4, "two\n")), attempt(9, piece(0, "again\n"))}
	for _, c := range []struct {
		from  Position
		lists [][]Attempt
		want  []Text
	}{
		{Position{}, [][]Attempt{one}, []Text{{7, 7, "one\n[4 bytes missing]\nthr", 11}}},
		{Position{}, [][]Attempt{one, two}, []Text{{7, 7, "one\ntwo\nthr", 11}, {9, 9, "again\n", 6}}},
		{Position{7, 4}, [][]Attempt{one, two}, []Text{{7, 7, "two\nthr", 11}, {9, 9, "again\n", 6}}},
		{Position{7, 11}, [][]Attempt{one}, []Text{{7, 7, "", 11}}},
		{Position{7, 11}, [][]Attempt{one, {attempt(7, piece(12, "\xa4e\n"))}}, []Text{{7, 7, "äe\n", 15}}},
		{Position{7, 99}, [][]Attempt{one}, []Text{{7, 7, "", 99}}},
		{Position{8, 0}, [][]Attempt{one, two}, []Text{{9, 9, "again\n", 6}}},
	} {
		if got := Merge(c.from, c.lists...); !slices.Equal(got, c.want) {
			t.Errorf("from %+v: %+v, want %+v", c.from, got, c.want)
		}
	}
}
