package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// debugFlags make modules that say where their code is from, by names that do not depend on where they were made.
var debugFlags = strings.Fields("--target=wasm32 -std=c17 -g -O1 -Wall -Wextra -Werror -Wno-infinite-recursion -nostdlib -ffreestanding" +
	" -fdebug-compilation-dir=. -Wl,--no-entry -Wl,--export-memory -o")

// buildDebug makes, or checks, the guests in C. errs are those that are not up to date.
func buildDebug(dir string, check bool, stdout io.Writer) (errs []error, err error) {
	sources, err := filepath.Glob(filepath.Join(dir, "*.c"))
	if err != nil {
		return nil, err
	}
	if missing := programs("")[0].missing(); missing != nil {
		fmt.Fprintf(stdout, "%s/*.c: only checksums are checked: %v\n", dir, missing)
		return nil, nil
	}
	tmp, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	for _, source := range sources {
		out := filepath.Join(tmp, "out.wasm")
		cmd := exec.Command("clang-16", append(debugFlags, out, filepath.Base(source))...)
		cmd.Dir = dir
		if text, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", source, err, text)
		}
		wasm, err := os.ReadFile(out)
		if err != nil {
			return nil, err
		}
		base := strings.TrimSuffix(source, ".c")
		if wasm, err = withManifest(wasm, base+".json"); err != nil {
			return nil, err
		}
		errs = append(errs, put(base+".wasm", wasm, check))
	}
	return errs, nil
}
