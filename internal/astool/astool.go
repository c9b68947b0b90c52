// Package astool builds plugins in AssemblyScript, for tests. The compiler comes from npm by the SDK's lock file, once per machine.
package astool

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/taskrt/taskrt/internal/built"
	"github.com/taskrt/taskrt/internal/leash"
	"github.com/taskrt/taskrt/internal/npm"
	"github.com/taskrt/taskrt/plugins/sdk"
)

// Build builds the plugin in a directory, relative to the test's directory, and returns the module. The directory is copied before.
func Build(t testing.TB, dir string) []byte {
	t.Helper()
	modules := Modules(t)
	version, err := leash.Command("node", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	tool := string(version) + filepath.Base(filepath.Dir(modules)) // which names the lock file's content
	wasm, err := built.Recipe{Tool: tool, Sources: []fs.FS{os.DirFS(dir), sdk.AssemblyScript()}}.Once(func() ([]byte, error) {
		return compile(t.Context(), modules, dir, t.TempDir())
	})
	if err != nil {
		t.Fatalf("asc in %s: %v", dir, err)
	}
	return wasm
}

// compile builds a copy of the directory in work.
func compile(ctx context.Context, modules, dir, work string) ([]byte, error) {
	if err := os.CopyFS(work, os.DirFS(dir)); err != nil {
		return nil, err
	}
	if err := link(modules, filepath.Join(work, "node_modules")); err != nil {
		return nil, err
	}
	cmd := leash.CommandContext(ctx, "node", filepath.Join(modules, "assemblyscript", "bin", "asc.js"), "--config", "asconfig.json")
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	made, err := filepath.Glob(filepath.Join(work, "*.wasm"))
	if err != nil || len(made) != 1 {
		return nil, fmt.Errorf("it made %v, want one module", made)
	}
	return os.ReadFile(made[0])
}

// link makes a directory node_modules of the installed packages and this repository's SDK.
func link(modules, to string) error {
	err := os.RemoveAll(to) // what somebody installed there by hand
	if err == nil {
		err = os.CopyFS(filepath.Join(to, "@taskrt", "sdk"), sdk.AssemblyScript())
	}
	for _, name := range []string{"assemblyscript", "binaryen", "long"} {
		if err == nil {
			err = os.Symlink(filepath.Join(modules, name), filepath.Join(to, name))
		}
	}
	return err
}

// Modules returns a directory node_modules with the packages of the SDK's lock file. It must not be changed. Without node and npm the
// test is skipped, but fails where CI is set.
func Modules(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a guest with the AssemblyScript compiler")
	}
	switch err := npm.Missing(); {
	case err != nil && os.Getenv("CI") != "":
		t.Fatal(err)
	case err != nil:
		t.Skip(err)
	}
	dir, err := installed()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

var installed = sync.OnceValues(func() (string, error) { return npm.Install("assemblyscript", sdk.AssemblyScript()) })
