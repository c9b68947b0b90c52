package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// generate runs the program and reads what it made.
func generate(t *testing.T, args ...string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	var out bytes.Buffer
	if err := run(append(args, "-dir", dir), &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	listed, err := os.ReadFile(filepath.Join(dir, "files.json"))
	if err != nil || string(listed)+"\n" != out.String() {
		t.Fatalf("files.json %s, printed %s: %v", listed, &out, err)
	}
	var refs map[string]map[string]string
	if err := json.Unmarshal(listed, &refs); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for name, ref := range refs {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("sha256:%x", sha256.Sum256(text)); ref["$blob"] != want {
			t.Errorf("%s is %s, files.json says %s", name, want, ref)
		}
		files[name] = string(text)
	}
	return files
}

func TestSameFlagsSameBytes(t *testing.T) {
	a, b := generate(t, "-rows", "1000", "-files", "3"), generate(t, "-rows", "1000", "-files", "3")
	other := generate(t, "-rows", "1000", "-files", "3", "-seed", "2")
	if len(a) != 3 {
		t.Fatalf("%d files", len(a))
	}
	id := 0
	for _, name := range []string{"part-000.tsv", "part-001.tsv", "part-002.tsv"} {
		if a[name] != b[name] {
			t.Errorf("%s differs", name)
		}
		if a[name] == other[name] {
			t.Errorf("%s is the same with another seed", name)
		}
		for line := range strings.Lines(a[name]) {
			id++
			if f := strings.Split(line, "\t"); len(f) != 6 || f[0] != fmt.Sprint(id) {
				t.Fatalf("row %d is %q", id, line)
			}
		}
	}
	if id != 1000 {
		t.Errorf("%d rows", id)
	}
}

// TestBadRow: it is the only difference.
func TestBadRow(t *testing.T) {
	good := generate(t, "-rows", "100", "-files", "2")
	bad := generate(t, "-rows", "100", "-files", "2", "-bad", "part-001.tsv:17")
	if good["part-000.tsv"] != bad["part-000.tsv"] {
		t.Error("part-000.tsv differs")
	}
	a, b := strings.Split(good["part-001.tsv"], "\n"), strings.Split(bad["part-001.tsv"], "\n")
	for i := range a {
		if same := a[i] == b[i]; same != (i != 16) {
			t.Errorf("row %d: %q, %q", i+1, a[i], b[i])
		}
	}
	if f := strings.Split(b[16], "\t"); f[3] != "n/a" {
		t.Errorf("%q", f)
	}
}

func TestFlagsThatMakeNoSense(t *testing.T) {
	for _, args := range [][]string{
		{}, {"-dir", t.TempDir(), "more"}, {"-dir", t.TempDir(), "-files", "0"}, {"-dir", t.TempDir(), "-rows", "-1"},
		{"-dir", t.TempDir(), "-rows", "10", "-bad", "part-000.tsv"}, {"-dir", t.TempDir(), "-rows", "10", "-bad", "part-000.tsv:0"},
		{"-dir", t.TempDir(), "-rows", "10", "-files", "2", "-bad", "part-000.tsv:6"}, {"-dir", t.TempDir(), "-rows", "10", "-bad", "part-008.tsv:1"},
	} {
		if err := run(args, io.Discard, io.Discard); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}
