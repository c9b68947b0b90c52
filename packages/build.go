package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// target is a system and a processor.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "_" + t.arch }

// targets are the systems for which binaries are made.
var targets = []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

// linux are the targets of packages and images.
func linux() (all []target) {
	for _, t := range targets {
		if t.os == "linux" {
			all = append(all, t)
		}
	}
	return all
}

// work is the directory of what is made on the way.
func (r *release) work(names ...string) string {
	return filepath.Join(append([]string{r.out, ".work"}, names...)...)
}

// program is the file of the binary for a target.
func (r *release) program(t target) string { return r.work(t.String(), "taskrt") }

// environment is what a binary depends on besides the sources and the version of Go. What the machine says of itself is replaced.
func environment(t target) []string {
	return append(os.Environ(), "GOOS="+t.os, "GOARCH="+t.arch, "CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOWORK=off", "GOFIPS140=off")
}

// build makes the binaries, and the pages and completions that the binary describes itself by.
func (r *release) build() error {
	for _, t := range targets {
		if r.binary != "" && t.os == "linux" && t.arch == runtime.GOARCH {
			if err := copyFile(r.program(t), r.binary, 0o755); err != nil {
				return err
			}
			continue
		}
		if r.binary != "" {
			continue // a former version is packaged for this machine alone
		}
		// The version of the tree is in the file VERSION. Without -buildvcs a tree without a repository gives the same bytes.
		err := r.goTool(t, "build", "-tags", "urfave_cli_no_docs", "-trimpath", "-buildvcs=false",
			"-ldflags", "-s -w -buildid= -X main.commit="+r.commit, "-o", r.program(t), "./cmd/taskrt")
		if err != nil {
			return fmt.Errorf("build for %s: %w", t, err)
		}
	}
	return r.manual()
}

// manual makes the manual page. A test of the program writes it, because what writes such pages is left out of the program itself.
func (r *release) manual() error {
	page := r.work("taskrt.1")
	if err := r.goTool(target{runtime.GOOS, runtime.GOARCH}, "test", "./cmd/taskrt", "-count=1", "-run", "^TestManual$", "-man", page); err != nil {
		return fmt.Errorf("the manual page: %w", err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(text); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(page+".gz", b.Bytes(), 0o644)
}

// goTool runs the go command for a target in the repository.
func (r *release) goTool(t target, args ...string) error {
	c := exec.Command("go", args...)
	c.Dir, c.Env, c.Stdout, c.Stderr = r.root, environment(t), os.Stdout, os.Stderr
	return c.Run()
}

// built are the targets whose binaries are there.
func (r *release) built(among []target) (all []target) {
	for _, t := range among {
		if _, err := os.Stat(r.program(t)); err == nil {
			all = append(all, t)
		}
	}
	return all
}

func copyFile(to, from string, mode os.FileMode) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, b, mode)
}
