package corpus

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// heading is that of a version in CHANGELOG.md.
var heading = regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+)$`)

// TestEveryReleaseIsThere: each version that was released has its corpus (SPEC C9). A version is released when
// CHANGELOG.md has it and VERSION has gone on.
func TestEveryReleaseIsThere(t *testing.T) {
	changes, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	now, err := os.ReadFile("../../VERSION")
	if err != nil {
		t.Fatal(err)
	}
	current := strings.TrimSuffix(strings.TrimSpace(string(now)), "-dev")
	var want, got []string
	for _, m := range heading.FindAllStringSubmatch(string(changes), -1) {
		if m[1] != current {
			want = append(want, m[1])
		}
	}
	for _, v := range versions(t) {
		got = append(got, v.Version)
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("there are corpora of %v, and %v are released (docs/versions.md says how to make one)", got, want)
	}
}

func versions(t *testing.T) []Version {
	t.Helper()
	all, err := Versions()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRead: a corpus with a file too few, too many, or another one is none.
func TestRead(t *testing.T) {
	good := fstest.MapFS{
		ListFile:       {Data: []byte(`{"version":"1","directories":[{"name":"d","packed":"` + Sum([]byte("x")) + `","exports":[{"namespace":"n","sha256":"` + Sum([]byte("y")) + `"}]}]}`)},
		"d.tar.gz":     {Data: []byte("x")},
		"d-n.jsonl.gz": {Data: []byte("y")},
	}
	if v, err := Read(good); err != nil || v.Directories[0].String() != "1/d" {
		t.Fatalf("%v, %v", v, err)
	}
	for want, file := range map[string]fstest.MapFS{
		"d.tar.gz is missing":             {"d.tar.gz": nil},
		"does not name more":              {"more": {}},
		"d-n.jsonl.gz has the digest 59":  {"d-n.jsonl.gz": {Data: []byte("z")}},
		"corpus.json: unexpected end of":  {ListFile: {}},
		"open corpus.json: file does not": {ListFile: nil},
	} {
		bad := fstest.MapFS{}
		for _, from := range []fstest.MapFS{good, file} {
			for name, f := range from {
				if bad[name] = f; f == nil {
					delete(bad, name)
				}
			}
		}
		if _, err := Read(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestPack: what is packed comes back as it was; equal directories give equal bytes.
func TestPack(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	large := bytes.Repeat([]byte{0}, 300_000)
	large[70_000] = 1
	for name, text := range map[string][]byte{"a/b/small": []byte("x"), "a/large": large, "left/out": nil, "zeros": large[:65_000]} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(from, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	skip := func(name string) bool { return name == "left" }
	packed, err := Pack(from, skip)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Pack(from, skip); err != nil || !bytes.Equal(again, packed) {
		t.Errorf("packed again it differs, %v", err)
	}
	d := &Directory{Name: "d", contents: fstest.MapFS{"d.tar.gz": {Data: packed}}}
	if err := d.Unpack(to); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{"a/b/small": []byte("x"), "a/large": large, "zeros": large[:65_000]} {
		f, err := os.Open(filepath.Join(to, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(f)
		f.Close()
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes, %v", name, len(got), err)
		}
	}
	if _, err := os.Stat(filepath.Join(to, "left")); err == nil {
		t.Error("what was left out is there")
	}
	if err := d.Unpack(to); err == nil {
		t.Error("it is unpacked over what is there")
	}
}
