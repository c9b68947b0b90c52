// Package ctool finds a C compiler that makes WebAssembly, and builds plugins with it, for tests.
package ctool

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/taskrt/taskrt/plugins/sdk"
)

// Clang returns a clang that compiles and links for wasm32. Without one the test is skipped, but fails where CI is set.
func Clang(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a guest with clang")
	}
	for _, name := range []string{"clang-16", "clang", "clang-19", "clang-18", "clang-17"} {
		if clang, err := exec.LookPath(name); err == nil && links(t, clang) {
			return clang
		}
	}
	const missing = "no clang links for wasm32: Debian's clang-16 and lld-16 do"
	if os.Getenv("CI") != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

func links(t testing.TB, clang string) bool {
	dir := t.TempDir()
	source := filepath.Join(dir, "empty.c")
	if err := os.WriteFile(source, []byte("void _initialize(void) {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(t.Context(), clang, "--target=wasm32", "-nostdlib", "-Wl,--no-entry", "-o", filepath.Join(dir, "empty.wasm"), source).Run() == nil
}

// Build builds the plugin of a C file, relative to the directory of the test, by the command line of plugins/sdk/c/README.md, and
// returns the module.
func Build(t testing.TB, source string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plugin.wasm")
	cmd := exec.CommandContext(t.Context(), Clang(t), "--target=wasm32", "-std=c11", "-O2", "-mbulk-memory", "-nostdlib", "-Wl,--no-entry,--stack-first,--strip-all",
		"-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", Header(t), "-o", file, Source(t, source))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", source, err, out)
	}
	wasm, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// Header returns a directory with taskrt.h as a new plugin gets it.
func Header(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, sdk.C()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Source reads a C file and what lies beside it: the cache of `go test` knows of files that a test reads itself, not of those that a
// compiler does. It returns the file's name.
func Source(t testing.TB, file string) string {
	t.Helper()
	beside, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*.[ch]"))
	if err != nil || len(beside) == 0 {
		t.Fatalf("%s is not there (%v)", file, err)
	}
	for _, name := range beside {
		if _, err := os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return file
}
