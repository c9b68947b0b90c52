// Package ctool finds a C compiler that makes WebAssembly, and builds plugins with it, for tests.
package ctool

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/taskrt/taskrt/internal/built"
	"github.com/taskrt/taskrt/internal/leash"
	"github.com/taskrt/taskrt/plugins/sdk"
)

// Clang returns a clang that compiles and links for wasm32. Without one the test is skipped, but fails where CI is set.
func Clang(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a guest with clang")
	}
	if clang := found(); clang != "" {
		return clang
	}
	const missing = "no clang links for wasm32: Debian's clang-16 and lld-16 do"
	if os.Getenv("CI") != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// found is the first clang that links; "" if there is none.
var found = sync.OnceValue(func() string {
	for _, name := range []string{"clang-16", "clang", "clang-19", "clang-18", "clang-17"} {
		if clang, err := exec.LookPath(name); err == nil && links(clang) {
			return clang
		}
	}
	return ""
})

func links(clang string) bool {
	dir, err := os.MkdirTemp("", "clang")
	if err != nil {
		return false
	}
	defer os.RemoveAll(dir)
	cmd := leash.Command(clang, "--target=wasm32", "-nostdlib", "-Wl,--no-entry", "-o", filepath.Join(dir, "empty.wasm"), "-x", "c", "-")
	cmd.Stdin = strings.NewReader("void _initialize(void) {}\n")
	return cmd.Run() == nil
}

// Build builds the plugin of a C file, relative to the directory of the test, by the command line of plugins/sdk/c/README.md, and
// returns the module.
func Build(t testing.TB, source string) []byte {
	t.Helper()
	args := []string{"--target=wasm32", "-std=c11", "-O2", "-mbulk-memory", "-nostdlib", "-Wl,--no-entry,--stack-first,--strip-all",
		"-Wall", "-Wextra", "-Wpedantic", "-Werror"}
	clang := Clang(t)
	recipe := built.Recipe{Tool: version(clang), Command: append(args[:len(args):len(args)], filepath.Base(source)), Sources: []fs.FS{os.DirFS(filepath.Dir(source)), sdk.C()}}
	wasm, err := recipe.Once(func() ([]byte, error) {
		file := filepath.Join(t.TempDir(), "plugin.wasm")
		cmd := leash.CommandContext(t.Context(), clang, append(args, "-I", Header(t), "-o", file, Source(t, source))...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, out)
		}
		return os.ReadFile(file)
	})
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	return wasm
}

// version is what compiler and linker say about themselves.
func version(clang string) string {
	said, _ := leash.Command(clang, "--version").Output()
	linker, _ := leash.Command(clang, "--target=wasm32", "-print-prog-name=wasm-ld").Output()
	more, _ := leash.Command(strings.TrimSpace(string(linker)), "--version").Output()
	return string(said) + string(more)
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

// Source reads a C file and the files beside it, and returns its name. The cache of `go test` knows of files that a test reads itself,
// but not of files that a compiler reads.
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
