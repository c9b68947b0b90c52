package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/ctool"
	"github.com/taskrt/taskrt/internal/leash"
	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// watched is a dev cluster that watches a plugin's directory.
type watched struct {
	t    *testing.T
	d    *daemon
	path string // of taskrt
	dir  string
}

func startWatching(t *testing.T, dir string) *watched {
	t.Helper()
	path, err := exec.LookPath("taskrt") // testscript.Main put it there
	if err != nil {
		t.Fatal(err)
	}
	d, err := startDaemon([]string{path, "dev", "--nodes", "1", "--http", "127.0.0.1:0", "--watch", dir}, t.TempDir(), []string{"TASKRT=" + path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.kill)
	return &watched{t, d, path, dir}
}

// says waits for lines that begin so, one after the other; one that ends in a line's end is the whole line. It returns the last one.
func (w *watched) says(starts ...string) (line string) {
	w.t.Helper()
	var seen []string
	end := time.After(patience)
	for _, start := range starts {
		for found := false; !found; {
			select {
			case line = <-w.d.more:
				seen = append(seen, line)
				found = strings.HasPrefix(line+"\n", start)
			case <-end:
				w.t.Fatalf("it does not say %q but:\n%s\n%s", start, strings.Join(seen, "\n"), w.d.log())
			}
		}
	}
	return line
}

func (w *watched) write(name string, content []byte) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), content, 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *watched) submit(args ...string) {
	w.t.Helper()
	args = append([]string{"submit"}, append(args, "--wait", "--server", w.d.url)...)
	if out, err := leash.CommandContext(w.t.Context(), w.path, args...).CombinedOutput(); err != nil {
		w.t.Fatalf("%v\n%s", err, out)
	}
}

// attempts is how often a task has run.
func (w *watched) attempts(id string) (n int) {
	w.t.Helper()
	out, err := leash.CommandContext(w.t.Context(), w.path, "get", id, "--server", w.d.url, "-o", "json").Output()
	var got struct{ Task struct{ Attempt int } }
	if err != nil || json.Unmarshal(out, &got) != nil {
		w.t.Fatalf("%v\n%s", err, out)
	}
	return got.Task.Attempt
}

// TestDevWatch: what changes in a plugin's directory is built, tested, pushed and tried, and what does not build or pass is not pushed.
func TestDevWatch(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	echo, err := os.ReadFile("../../testdata/wasm/echo.wasm")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	makefile := "plugin.wasm: module\n\tcp module plugin.wasm\n.PHONY: test\ntest:\n\ttest ! -e broken\n"
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte(makefile), 0o644); err != nil {
		t.Fatal(err)
	}
	w := startWatching(t, dir)
	w.says("make: *** No rule to make target 'module'", "it does not build: nothing is pushed")
	w.write("module", echo)
	w.says("built plugin.wasm", "pushed echo as version ", "no task yet that could run again: taskrt submit echo --params …")
	w.submit("echo", "--id", "one", "--params", `"x"`)
	w.write("module", wasmbin.AppendCustom(echo, "other", []byte("bytes")))
	w.says("pushed echo as version ", "one again: SUCCESS\n", `  result "x", as before`, "  fuel   ", "  memory ")
	if got := w.attempts("one"); got != 2 {
		t.Errorf("%d attempts", got)
	}
	w.write("broken", nil)
	w.says("  make: *** [Makefile:5: test] Error 1", "its tests fail: nothing is pushed")
	if err := os.Remove(filepath.Join(dir, "broken")); err != nil {
		t.Fatal(err)
	}
	w.says("the module is the same as before")
	if code := w.d.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestDevWatchOfANewPlugin: a plugin as `taskrt new` makes it is built by its own Makefile, and what a change costs is said.
func TestDevWatchOfANewPlugin(t *testing.T) {
	t.Parallel()
	ctool.Clang(t)
	dir := filepath.Join(t.TempDir(), "squares")
	path, err := exec.LookPath("taskrt")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := leash.CommandContext(t.Context(), path, "new", "c", "squares", "--dir", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w := startWatching(t, dir)
	w.says("built squares.wasm", "pushed squares as version ", "no task yet")
	w.submit("squares", "--id", "task", "--params", `{"n":100}`)
	source, err := os.ReadFile(filepath.Join(dir, "main.c"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("main.c", []byte(strings.Replace(string(source), "PIECE = 10000", "PIECE = 10", 1)))
	cost := w.says("built squares.wasm", "pushed squares as version ", "task again: SUCCESS\n", `  result {"sum":338350}, as before`, "  fuel   ")
	if !regexp.MustCompile(`^  fuel   \d+, before \d+ \(\+\d+\.\d %\)$`).MatchString(cost) {
		t.Errorf("of more heartbeats it says %q", cost)
	}
	w.write("main.c", []byte("this is no C\n"))
	w.says("it does not build")
}
