// Package ctool finds a C compiler that makes WebAssembly, and builds plugins with it, for tests.
package ctool

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Clang returns a clang that compiles and links for wasm32. Without one the test is skipped, but fails where CI is set.
func Clang(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a guest with clang")
	}
	for _, name := range []string{"clang", "clang-16", "clang-19", "clang-18", "clang-17"} {
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
// returns the module. include is the directory of taskrt.h.
func Build(t testing.TB, source, include string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plugin.wasm")
	cmd := exec.CommandContext(t.Context(), Clang(t), "--target=wasm32", "-std=c11", "-O2", "-mbulk-memory", "-nostdlib", "-Wl,--no-entry,--stack-first,--strip-all",
		"-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", include, "-o", file, source)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", source, err, out)
	}
	wasm, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}
