package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/taskrt/taskrt/internal/leash"
)

// debugFlags make modules that say where their code is from, by names that do not depend on where they were made.
var debugFlags = strings.Fields("--target=wasm32 -g -O1 -Wall -Wextra -Werror -Wno-infinite-recursion -nostdlib -ffreestanding" +
	" -fdebug-compilation-dir=. -Wl,--no-entry -Wl,--export-memory -o")

// What makes exceptions as they were standardised of those that clang 16 makes: Binaryen, in the folder that the variable BINARYEN names.
// On the PATH clang would find it as well, and run it over everything.
var (
	binaryen      = strings.Fields(filepath.Join(os.Getenv("BINARYEN"), "wasm-opt") + " --enable-exception-handling --enable-reference-types --enable-multivalue -g --translate-to-exnref")
	binaryenWants = "wasm-opt version 132 (version_132)\n"
)

// buildDebug makes, or checks, the guests in C and C++. errs are those that are not up to date.
func buildDebug(dir string, check bool, stdout io.Writer) (errs []error, err error) {
	sources, err := filepath.Glob(filepath.Join(dir, "*.c*"))
	if err != nil {
		return nil, err
	}
	if missing := programs("")[0].missing(); missing != nil {
		fmt.Fprintf(stdout, "%s/*.c, *.cc: only checksums are checked: %v\n", dir, missing)
		return nil, nil
	}
	tmp, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	out := filepath.Join(tmp, "out.wasm")
	for _, source := range sources {
		switch filepath.Ext(source) {
		case ".c":
			err = command(dir, append([]string{"clang-16", "-std=c17"}, append(debugFlags, out, filepath.Base(source))...))
		case ".cc":
			if version, _ := leash.Command(binaryen[0], "--version").Output(); string(version) != binaryenWants {
				fmt.Fprintf(stdout, "%s: only its checksum is checked: %s is not %q\n", source, binaryen[0], strings.TrimSpace(binaryenWants))
				continue
			}
			err = command(dir, append([]string{"clang++-16", "-fwasm-exceptions", "-fno-rtti"}, append(debugFlags, out, filepath.Base(source))...))
			if err == nil {
				err = command(dir, append(binaryen, out, "-o", out))
			}
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		wasm, err := os.ReadFile(out)
		if err != nil {
			return nil, err
		}
		base := strings.TrimSuffix(source, filepath.Ext(source))
		if wasm, err = withManifest(wasm, base+".json"); err != nil {
			return nil, err
		}
		errs = append(errs, put(base+".wasm", wasm, check))
	}
	return errs, nil
}

func command(dir string, args []string) error {
	cmd := leash.Command(args[0], args[1:]...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, text)
	}
	return nil
}
