package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRunbook: docs/operate.md is found by what one sees. So each message on a "Seen:" line is in the product's code, and each command of the
// page is one of the product's.
func TestRunbook(t *testing.T) {
	page, err := os.ReadFile("../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	code := productCode(t)
	seen := 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "Seen:") {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(line, -1) {
			seen++
			if text := strings.TrimSuffix(strings.TrimSuffix(m[1], "_sum"), "_count"); !strings.Contains(code, text) {
				t.Errorf("nothing in the product says %q", m[1])
			}
		}
	}
	if seen < 20 {
		t.Errorf("the page names %d messages: are they still on lines that begin with Seen: ?", seen)
	}
	commands := 0
	for _, m := range regexp.MustCompile(`taskrt ([a-z]+) ([a-z-]+)`).FindAllStringSubmatch(string(page), -1) {
		c := testApp().Command(m[1])
		if c == nil {
			continue // a word of a sentence
		}
		if commands++; len(c.Subcommands) > 0 && c.Command(m[2]) == nil {
			t.Errorf("there is no command %q", m[0])
		}
	}
	if commands < 20 {
		t.Errorf("the page names %d commands", commands)
	}
}

// productCode returns all Go files that are no tests.
func productCode(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." && path != "../..":
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := os.ReadFile(path)
		b.Write(file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
