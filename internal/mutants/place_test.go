package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSabotageFindsByName: what counts is the declaration's name and the fragment's tokens, wherever the file lies and however
// it is laid out. A fragment that is not there exactly once is refused, not replaced somewhere.
func TestSabotageFindsByName(t *testing.T) {
	t.Parallel()
	const (
		plain = "package p\n\nfunc (m *machine[T]) grow(n int) {\n\tif n > 1 {\n\t\tm.size += n\n\t}\n}\n\nfunc grow(n int) { m.size += n }\n\nconst limit, other = 4, 5\n"
		moved = "package p\n\n// grow is now here.\nfunc (m machine) grow(by int, n int) {\n\tif n >\n\t\t1 { // more than one\n\t\tm.size += n /* at once */\n\t}\n\tm.size++\n}\n\nconst (\n\tlimit = 4\n\tother = 4\n)\n"
		twice = "package p\n\nfunc (m machine) grow(n int) { if n > 1 { m.size += n }; if n > 1 { m.size += n } }\n"
	)
	block := mutant{In: "machine.grow", Old: "if n > 1 { m.size += n }", New: "m.size += n"}
	for _, c := range []struct {
		name, text string
		m          mutant
		want, err  string
	}{
		{"as written", plain, block, "{\n\tm.size += n\n}", ""},
		{"laid out anew, with comments", moved, block, "{\n\tm.size += n\n\tm.size++\n}", ""},
		{"a line's end is a semicolon", moved, mutant{In: "machine.grow", Old: "{ m.size += n; }; m.size++", New: "{ }"}, "1 { }\n}", ""},
		{"a function, not the method", plain, mutant{In: "grow", Old: "m.size += n", New: "m.size -= n"}, "func grow(n int) { m.size -= n }", ""},
		{"one of two constants", moved, mutant{In: "limit", Old: "4", New: "3"}, "limit = 3\n\tother = 4", ""},
		{"a constant with its keyword", plain, mutant{In: "limit", Old: "const limit, other = 4", New: "var limit, other = 4"}, "\nvar limit, other = 4, 5", ""},
		{"twice", twice, block, "", "occurs 2 times"},
		{"half of a token", plain, mutant{In: "grow", Old: "m.siz", New: "m.ton"}, "", "occurs 0 times"},
		{"in another function alone", plain, mutant{In: "grow", Old: "n > 1", New: "n > 2"}, "", "occurs 0 times"},
		{"no such function", plain, mutant{In: "machine.shrink", Old: "n", New: "m"}, "", "declares no machine.shrink"},
		{"nothing", plain, mutant{In: "grow", Old: " ", New: "m"}, "", "occurs 0 times"},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"any.go": c.text, "beside.go": "package p\n\nvar x = 4\n", "any_test.go": plain} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c.m.Dir = dir
		file, text, err := newSources().sabotage(c.m)
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", c.name, err, c.err)
			}
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case filepath.Base(file) != "any.go" || !strings.Contains(text, c.want):
			t.Errorf("%s: %s:\n%s", c.name, file, text)
		}
	}
}
