// Package rusttool finds a Rust toolchain that compiles for WebAssembly, and builds plugins with it, for tests. The first toolchain on
// the PATH need not be able to: rustup's toolchain has the target only where somebody added it.
package rusttool

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/built"
	"github.com/taskrt/taskrt/internal/leash"
	"github.com/taskrt/taskrt/plugins/sdk"
)

// target is what plugins are compiled for.
const target = "wasm32-unknown-unknown"

// Env returns the environment in which `cargo build --target wasm32-unknown-unknown` works, with build output of its own.
// Without such a toolchain the test is skipped, but fails where CI is set.
func Env(t testing.TB) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a guest with the Rust toolchain")
	}
	env, err := find(append(filepath.SplitList(os.Getenv("PATH")), "/usr/bin"))
	switch {
	case err != nil && os.Getenv("CI") != "":
		t.Fatal(err)
	case err != nil:
		t.Skip(err)
	}
	return append(env, "CARGO_TARGET_DIR="+t.TempDir(), "CARGO_NET_OFFLINE=true")
}

// Build builds the plugin in a directory, relative to the test's directory, and returns the module.
func Build(t testing.TB, dir string) []byte {
	t.Helper()
	env := Env(t)
	args := []string{"build", "--release", "--target", target}
	version, err := Command(t, env, "rustc", "-Vv").Output()
	if err != nil {
		t.Fatal(err)
	}
	linker := valueOf(env, "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER")
	wasm, err := built.Recipe{Tool: string(version) + linker, Command: args, Sources: []fs.FS{os.DirFS(dir), sdk.Rust()}}.Once(func() ([]byte, error) {
		cmd := Command(t, env, "cargo", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, out)
		}
		made, err := filepath.Glob(filepath.Join(valueOf(env, "CARGO_TARGET_DIR"), target, "release", "*.wasm"))
		if err != nil || len(made) != 1 {
			return nil, fmt.Errorf("it made %v, want one module", made)
		}
		return os.ReadFile(made[0])
	})
	if err != nil {
		t.Fatalf("cargo build in %s: %v", dir, err)
	}
	return wasm
}

// Command is exec.CommandContext for a program that is looked up on the PATH of env.
func Command(t testing.TB, env []string, name string, args ...string) *exec.Cmd {
	t.Helper()
	for _, dir := range filepath.SplitList(valueOf(env, "PATH")) {
		if file, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			cmd := leash.CommandContext(t.Context(), file, args...)
			cmd.Env = env
			return cmd
		}
	}
	t.Fatalf("%s is not on the PATH", name)
	return nil
}

// find returns the process's environment, changed so that cargo uses a compiler with the target: the first one in the directories.
func find(dirs []string) ([]string, error) {
	for _, dir := range dirs {
		rustc, cargo := filepath.Join(dir, "rustc"), filepath.Join(dir, "cargo")
		if _, err := exec.LookPath(cargo); err != nil || !hasTarget(rustc) {
			continue
		}
		env := slices.DeleteFunc(os.Environ(), func(v string) bool {
			name, _, _ := strings.Cut(v, "=")
			return name == "PATH" || name == "RUSTC" || name == "RUSTDOC" || name == "RUSTFLAGS" || strings.HasPrefix(name, "CARGO_") && name != "CARGO_HOME"
		})
		env = append(env, "PATH="+strings.Join(append([]string{dir}, dirs...), string(filepath.ListSeparator)))
		linker, err := linkerOf(rustc, dirs)
		if linker != "" {
			env = append(env, "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER="+linker)
		}
		return env, err
	}
	return nil, fmt.Errorf("no Rust toolchain has the target %s: rustup target add %s, or Debian's rustc cargo libstd-rust-dev-wasm32 lld", target, target)
}

func hasTarget(rustc string) bool {
	dir, err := leash.Command(rustc, "--print", "target-libdir", "--target", target).Output()
	if err != nil {
		return false
	}
	std, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "libstd-*.rlib"))
	return err == nil && len(std) > 0
}

// linkerOf returns the linker to name to cargo; "" where the compiler finds its own, rust-lld. Debian's is a link into a
// package that need not be installed.
func linkerOf(rustc string, dirs []string) (string, error) {
	for _, dir := range dirs {
		if _, err := exec.LookPath(filepath.Join(dir, "rust-lld")); err == nil {
			return "", nil
		}
	}
	if root, err := leash.Command(rustc, "--print", "sysroot").Output(); err == nil {
		own, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "lib/rustlib/*/bin/rust-lld"))
		if err == nil && len(own) > 0 {
			return "", nil
		}
	}
	for _, dir := range dirs {
		found, err := filepath.Glob(filepath.Join(dir, "wasm-ld*"))
		if err == nil && len(found) > 0 {
			return found[len(found)-1], nil
		}
	}
	return "", fmt.Errorf("%s has no linker for %s: Debian's lld has one", rustc, target)
}

func valueOf(env []string, name string) (value string) {
	for _, v := range env { // the last one counts
		if rest, ok := strings.CutPrefix(v, name+"="); ok {
			value = rest
		}
	}
	return value
}
