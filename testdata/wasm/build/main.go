// Command build makes the hand-written guests in testdata/wasm: for every NAME.wat it runs wat2wasm (Debian package
// wabt), for every NAME.c and NAME.cc the clang of Debian 12, with debug information, and for exceptions Binaryen (npm install binaryen@132,
// BINARYEN=node_modules/.bin); it adds NAME.json, if there is one, as custom section
// taskrt.manifest, and writes NAME.wasm. SHA256SUMS is written over every .wasm of the folder, also those that come from elsewhere.
// The compilers are deterministic, so that
//
//	go run ./testdata/wasm/build -check
//
// can tell whether the committed files are what their sources say; without wat2wasm it checks SHA256SUMS alone. The guests
// of runtime/meter's benchmark, in testdata/wasm/bench, are made of C, Go and Rust in the same way (bench.go).
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/internal/leash"
	"github.com/taskrt/taskrt/runtime/wasmbin"
)

const sumsFile = "SHA256SUMS"

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	flags.SetOutput(stderr)
	check := flags.Bool("check", false, "change nothing, fail if a file is not up to date")
	dir := flags.String("dir", "testdata/wasm", "folder of the guests")
	if flags.Parse(args) != nil {
		return 2
	}
	if err := build(*dir, *check, stdout); err != nil {
		fmt.Fprintln(stderr, "build:", err)
		return 1
	}
	return 0
}

func build(dir string, check bool, stdout io.Writer) error {
	sources, err := filepath.Glob(filepath.Join(dir, "*.wat"))
	if err != nil {
		return err
	}
	_, missing := exec.LookPath("wat2wasm")
	if missing != nil && !check {
		return fmt.Errorf("%w (apt-get install wabt)", missing)
	}
	if missing != nil {
		fmt.Fprintln(stdout, "wat2wasm is not installed: only checksums are checked")
		sources = nil
	}
	var errs []error
	for _, source := range sources {
		wasm, err := assemble(source)
		if err != nil {
			return err
		}
		errs = append(errs, put(strings.TrimSuffix(source, ".wat")+".wasm", wasm, check))
	}
	compiled, err := buildDebug(dir, check, stdout)
	if err != nil {
		return err
	}
	errs = append(errs, compiled...)
	files, err := filepath.Glob(filepath.Join(dir, "*.wasm"))
	if err != nil {
		return err
	}
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	sums, err := sum(dir, files)
	if err != nil {
		return err
	}
	errs = append(errs, put(filepath.Join(dir, sumsFile), sums, check))
	goVersion, err := os.ReadFile(filepath.Join(dir, "GO_VERSION"))
	if err != nil {
		return err
	}
	errs = append(errs, buildBench(filepath.Join(dir, "bench"), strings.TrimSpace(string(goVersion)), check, stdout))
	return errors.Join(errs...)
}

// put writes a file, or checks that it is there with this content.
func put(path string, content []byte, check bool) error {
	old, err := os.ReadFile(path)
	switch {
	case err == nil && bytes.Equal(old, content):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case check:
		return fmt.Errorf("%s is not up to date: go run ./testdata/wasm/build", path)
	}
	return os.WriteFile(path, content, 0o644)
}

func assemble(source string) ([]byte, error) {
	out, err := os.CreateTemp("", "*.wasm")
	if err != nil {
		return nil, err
	}
	defer os.Remove(out.Name())
	if err := out.Close(); err != nil {
		return nil, err
	}
	if text, err := leash.Command("wat2wasm", "--enable-tail-call", "--enable-extended-const", source, "-o", out.Name()).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", source, err, text)
	}
	wasm, err := os.ReadFile(out.Name())
	if err != nil {
		return nil, err
	}
	return withManifest(wasm, strings.TrimSuffix(source, ".wat")+".json")
}

// withManifest adds a manifest, if the file is there.
func withManifest(wasm []byte, file string) ([]byte, error) {
	manifest, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return wasm, nil
	} else if err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, manifest); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return wasmbin.AppendCustom(wasm, abi.SectionManifest, compact.Bytes()), nil
}
