package rusttool

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// toolchain makes a directory with programs that look like a toolchain, and returns it.
func toolchain(t *testing.T, withTarget bool, more ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range append([]string{"cargo", "rustc"}, more...) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho "+dir+"\n"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if withTarget {
		if err := os.WriteFile(filepath.Join(dir, "libstd-0123.rlib"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFind(t *testing.T) {
	t.Setenv("RUSTC", "/another/rustc")
	t.Setenv("RUSTFLAGS", "-C opt-level=0")
	without, with, linkers := toolchain(t, false), toolchain(t, true), toolchain(t, false, "wasm-ld-16")
	env, err := find([]string{"/nosuch", without, with, linkers})
	if err != nil {
		t.Fatal(err)
	}
	if path := valueOf(env, "PATH"); !strings.HasPrefix(path, with+":") || !strings.Contains(path, without) {
		t.Errorf("PATH is %s", path)
	}
	const linker = "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER"
	if got := valueOf(env, linker); got != filepath.Join(linkers, "wasm-ld-16") {
		t.Errorf("the linker is %q", got)
	}
	if valueOf(env, "RUSTC") != "" || valueOf(env, "RUSTFLAGS") != "" {
		t.Error("the environment has another compiler or other flags")
	}

	env, err = find([]string{with, linkers, toolchain(t, false, "rust-lld")})
	if err != nil || valueOf(env, linker) != "" {
		t.Errorf("with a linker of its own: %q, %v", valueOf(env, linker), err)
	}
	if _, err := find([]string{with}); err == nil || !strings.Contains(err.Error(), "has no linker") {
		t.Errorf("without a linker: %v", err)
	}
	if _, err := find([]string{without, linkers}); err == nil || !strings.Contains(err.Error(), "rustup target add") {
		t.Errorf("without the target: %v", err)
	}
}
