package rebuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/internal/leash"
	"github.com/taskrt/taskrt/internal/terminal"
)

// build builds and tests the plugin, and returns the file of its module. What goes wrong is printed.
func (w *Watcher) build(ctx context.Context) (file string, err error) {
	for _, target := range [][]string{nil, {"test"}} {
		if err := w.make(ctx, target...); err != nil {
			return "", err
		}
	}
	file, size, err := newest(w.Dir)
	if err == nil {
		w.say("built %s (%s), tests passed\n", filepath.Base(file), show.Bytes(size))
	}
	return file, err
}

// environment is this process's own, without what a make above it tells its children: the one below is nobody's child.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "MAKEFLAGS=") || strings.HasPrefix(v, "MAKELEVEL=") || strings.HasPrefix(v, "MFLAGS=")
	})
}

// Env returns what the Makefile of a plugin should know: this program, by which it tests the module.
func Env() []string {
	if own, err := os.Executable(); err == nil && os.Getenv("TASKRT") == "" {
		return []string{"TASKRT=" + own}
	}
	return nil
}

var (
	errBuild = errors.New("it does not build: nothing is pushed")
	errTests = errors.New("its tests fail: nothing is pushed")
)

// make runs make, and prints the end of what it says if it fails.
func (w *Watcher) make(ctx context.Context, target ...string) error {
	var said tail
	all, err := leash.New() // compilers and tests end with this process, and when ctx ends
	if err != nil {
		return err
	}
	defer all.Kill()
	defer context.AfterFunc(ctx, all.Kill)()
	cmd := leash.Command("make", target...)
	all.Tie(cmd)
	cmd.Dir, cmd.Stdout, cmd.Stderr = w.Dir, &said, &said
	cmd.Env, cmd.WaitDelay = append(environment(), w.Env...), time.Second
	err = cmd.Run()
	var failed *exec.ExitError
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case !errors.As(err, &failed):
		return fmt.Errorf("make: %w", err)
	}
	w.say("%s\n", terminal.Lines(strings.TrimRight(string(said.bytes()), "\n")))
	if target == nil {
		return errBuild
	}
	return errTests
}

// newest returns the module that was built last.
func newest(dir string) (file string, size int64, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.wasm"))
	if err != nil {
		return "", 0, err
	}
	var at time.Time
	for _, name := range files {
		if info, err := os.Stat(name); err == nil && (file == "" || info.ModTime().After(at)) {
			file, size, at = name, info.Size(), info.ModTime()
		}
	}
	if file == "" {
		return "", 0, fmt.Errorf("make left no .wasm in %s", dir)
	}
	return file, size, nil
}

const maxSaid = 16 << 10 // bytes of what make says that are shown

// tail keeps the end of what is written.
type tail struct{ buf bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	t.buf.Write(p)
	if more := t.buf.Len() - 2*maxSaid; more > 0 {
		t.buf.Next(more + maxSaid)
	}
	return len(p), nil
}

// bytes returns the end, from the beginning of a line on.
func (t *tail) bytes() []byte {
	b := t.buf.Bytes()
	if len(b) <= maxSaid {
		return b
	}
	b = b[len(b)-maxSaid:]
	return b[bytes.IndexByte(b, '\n')+1:]
}
