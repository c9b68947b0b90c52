package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/taskrt/taskrt/internal/leash"
)

// program is a guest of runtime/meter's benchmark: LANGUAGE.wasm in the folder bench, made of the files in
// bench/LANGUAGE. Other versions of a compiler give other bytes: only the one that is named makes and checks the file.
type program struct {
	language string
	packages string   // of Debian, with the compiler
	needs    []string // files of those packages
	version  []string // command that shows the version …
	want     string   // … and what it says
	command  []string // the module's name and the sources follow
}

// programs returns the guests of the benchmark. goVersion is what GO_VERSION says.
func programs(goVersion string) []program {
	return []program{
		{
			language: "c",
			packages: "clang-16 lld-16",
			needs:    []string{"/usr/bin/wasm-ld-16"},
			version:  []string{"clang-16", "--version"},
			want:     "Debian clang version 16.0.6 (15~deb12u1)\n",
			command: strings.Fields("clang-16 --target=wasm32 -std=c17 -O2 -Wall -Wextra -Werror -nostdlib -ffreestanding" +
				" -Wl,--no-entry -Wl,--strip-all -o"),
		},
		{
			language: "go",
			version:  []string{"go", "version"},
			want:     "go version " + goVersion + " ",
			command:  []string{"go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o"},
		},
		{
			language: "rust",
			packages: "rustc libstd-rust-dev-wasm32 lld-16",
			needs:    []string{"/usr/bin/wasm-ld-16", "/usr/lib/rustlib/wasm32-unknown-unknown/lib"},
			version:  []string{"/usr/bin/rustc", "--version"}, // not another one of the PATH, which has no library for wasm
			want:     "rustc 1.63.0\n",
			command: strings.Fields("/usr/bin/rustc --edition 2021 --crate-type cdylib --crate-name bench" +
				" --target wasm32-unknown-unknown -Clinker=wasm-ld-16 -Clinker-flavor=wasm-ld" +
				" -Copt-level=3 -Clto=fat -Cpanic=abort -Ccodegen-units=1 -Cstrip=symbols -o"),
		},
	}
}

// missing tells why the program cannot be compiled here to the committed bytes, if so.
func (p program) missing() error {
	for _, file := range p.needs {
		if _, err := os.Stat(file); err != nil {
			return err
		}
	}
	out, err := leash.Command(p.version[0], p.version[1:]...).Output()
	if err == nil && !bytes.HasPrefix(out, []byte(p.want)) {
		err = fmt.Errorf("%s is not %q", p.version[0], strings.TrimSpace(p.want))
	}
	return err
}

// compile returns the wasm that the program's sources give.
func (p program) compile(dir string) ([]byte, error) {
	tmp, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	out := filepath.Join(tmp, p.language+".wasm")
	args := append(slices.Clone(p.command), out)
	if p.language == "go" {
		args = append(args, "./go")
	} else {
		sources, err := p.sources(dir)
		if err != nil {
			return nil, err
		}
		args = append(args, sources...)
	}
	cmd := leash.Command(args[0], args[1:]...)
	cmd.Dir = dir
	// Nothing of the caller's environment may get into the file.
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOEXPERIMENT=", "GOWASM=", "GOWORK=off", "CGO_ENABLED=0", "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", p.language, err, text)
	}
	return os.ReadFile(out)
}

// sources returns the program's files, from dir.
func (p program) sources(dir string) ([]string, error) {
	files, err := os.ReadDir(filepath.Join(dir, p.language))
	var names []string
	for _, f := range files {
		names = append(names, p.language+"/"+f.Name())
	}
	return names, err
}

// buildBench makes, or checks, the guests of the benchmark. SHA256SUMS of their folder is over sources and modules: without
// the compiler a source that changed is still noticed, as long as nobody writes new sums without it.
func buildBench(dir, goVersion string, check bool, stdout io.Writer) error {
	recorded, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var sums bytes.Buffer
	for _, p := range programs(goVersion) {
		missing := p.missing()
		if missing == nil {
			wasm, err := p.compile(dir)
			if err != nil {
				return err
			}
			if err := put(filepath.Join(dir, p.language+".wasm"), wasm, check); err != nil {
				return err
			}
		}
		files, err := p.sources(dir)
		if err != nil {
			return err
		}
		lines, err := sum(dir, append(files, p.language+".wasm"))
		if err != nil {
			return err
		}
		if missing != nil && !bytes.Contains(recorded, lines) {
			return fmt.Errorf("%s/%s is not what SHA256SUMS says, and cannot be made here: %w (apt-get install %s)", dir, p.language, missing, p.packages)
		}
		if missing != nil {
			fmt.Fprintf(stdout, "%s/%s.wasm: only checksums are checked: %v\n", dir, p.language, missing)
		}
		sums.Write(lines)
	}
	return put(filepath.Join(dir, sumsFile), sums.Bytes(), check)
}

// sum returns the lines that sha256sum would write in dir.
func sum(dir string, names []string) ([]byte, error) {
	var lines bytes.Buffer
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(data), name)
	}
	return lines.Bytes(), nil
}
