package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/leash"
)

// TestNear: a change concerns the package of each changed file, also of one in its testdata, and the importers of that package, by their tests
// too; not the importers of importers, nor a package beside them. What is committed after the common past counts, what is ignored does not. Nothing
// concerns nothing, not the package at the root either.
func TestNear(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) {
		t.Helper()
		cmd := leash.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	check := func(base string, only bool, want string) {
		t.Helper()
		got, err := find(dir, base, only)
		if err != nil || !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("after %s, only %v: %q, %v; want %q", base, only, got, err, want)
		}
	}
	write("go.mod", "module m\n\ngo 1.26\n")
	write("low/a.go", "package low\n")
	write("low/testdata/in/a.txt", "a\n")
	write("mid/a.go", "package mid\n\nimport _ \"m/low\"\n")
	write("top/a.go", "package top\n\nimport _ \"m/mid\"\n")
	write("tested/a.go", "package tested\n")
	write("tested/a_test.go", "package tested\n\nimport _ \"m/low\"\n")
	write("beside/a.go", "package beside\n")
	write(".gitignore", "*.out\n")
	run("init", "-q", "-b", "main")
	run("add", ".")
	run("commit", "-q", "-m", "first")
	check("main", false, "")

	write("low/x.out", "")
	check("main", false, "")
	write("low/testdata/in/a.txt", "b\n")
	check("main", false, "m/low m/mid m/tested")
	check("main", true, "m/low")
	run("checkout", "-q", "-b", "work")
	run("commit", "-q", "-a", "-m", "second")
	write("README.md", "of no package\n")
	check("main", false, "m/low m/mid m/tested")
	check("nosuch", false, "")
	write("top/new_test.go", "package top\n")
	check("nosuch", false, "m/top")
	check("main", false, "m/low m/mid m/tested m/top")
	write("root.go", "package m\n")
	run("add", ".")
	run("commit", "-q", "-m", "third")
	check("nosuch", false, "")
}
