package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// target is a system and a processor.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "_" + t.arch }

// targets are those that binaries are made for.
var targets = []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

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
	return nil
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
