// Package astool builds plugins in AssemblyScript, for tests. The compiler comes from npm by the SDK's lock file, once per machine.
package astool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/taskrt/taskrt/internal/built"
	"github.com/taskrt/taskrt/internal/leash"
	"github.com/taskrt/taskrt/plugins/sdk"
)

// Build builds the plugin in a directory, relative to that of the test, and returns the module. The directory is copied before.
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
	switch err := missing(); {
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

// missing says which program is not there.
func missing() error {
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%w: Debian's nodejs and npm, or https://nodejs.org", err)
		}
	}
	return nil
}

var installed = sync.OnceValues(install)

// install runs `npm ci`, unless a test on this machine has done so for the same lock file.
func install() (modules string, err error) {
	sum := sha256.New()
	files := map[string][]byte{}
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := fs.ReadFile(sdk.AssemblyScript(), name)
		if err != nil {
			return "", err
		}
		files[name] = text
		sum.Write(text)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "taskrt")
	dir := filepath.Join(cache, "assemblyscript-"+hex.EncodeToString(sum.Sum(nil)[:8]))
	modules = filepath.Join(dir, "node_modules")
	if _, err := os.Stat(modules); err == nil {
		return modules, nil
	}
	if err := os.MkdirAll(cache, 0o777); err != nil {
		return "", err
	}
	made, err := os.MkdirTemp(cache, "npm-*") // of this process alone: another may be installing, too
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(made)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(made, name), text, 0o666); err != nil {
			return "", err
		}
	}
	cmd := leash.Command("npm", "ci", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = made
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	if err := os.Rename(made, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return modules, nil
}
