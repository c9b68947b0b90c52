package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/leash"
	"github.com/taskrt/taskrt/plugins/plugintest"
)

// squares is the name of the plugins that tests make. A crate, for example, could not have this name.
const squares = "square.sum-2"

// newSquares makes a plugin in a directory of its own, whose name has a space in it.
func newSquares(t *testing.T, language string) (dir, taskrt string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "a plugin")
	taskrt, err := exec.LookPath("taskrt") // testscript puts this binary there
	if err != nil {
		t.Fatal(err)
	}
	if out, err := leash.CommandContext(t.Context(), taskrt, "new", language, squares, "--dir", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir, taskrt
}

// makeSquares builds a plugin whose tests are test.sh, and runs these tests, also with one that fails.
func makeSquares(t *testing.T, dir string, variables ...string) {
	t.Helper()
	run := func(targets ...string) (string, error) {
		cmd := leash.CommandContext(t.Context(), "make", append(targets, variables...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(); err != nil {
		t.Fatalf("make: %v\n%s", err, out)
	}
	if out, err := run("test"); err != nil || strings.Count(out, "ok ") != 8 {
		t.Fatalf("make test: %v\n%s", err, out)
	}
	if out, err := run(); err != nil || !strings.Contains(out, "up to date") {
		t.Errorf("make builds what is built: %v\n%s", err, out)
	}
	t.Run("a test that fails", func(t *testing.T) {
		if out, err := leash.CommandContext(t.Context(), "sed", "-i", `s/"sum":14/"sum":15/`, filepath.Join(dir, "test.sh")).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if out, err := run("test"); err == nil || !strings.Contains(out, "FAILED") {
			t.Errorf("make test: %v\n%s", err, out)
		}
	})
}

// wantSquares looks at a new plugin's module: a result within so many bytes of memory, and every way to end and to go on.
func wantSquares(t *testing.T, dir string, memory int64) {
	t.Helper()
	m := plugintest.Load(t, filepath.Join(dir, squares+".wasm"))
	t.Run("result", func(t *testing.T) {
		r := m.Run(t, squares, &plugintest.Host{Params: []byte(`{"n":100}`)})
		r.WantResult(t, `{"sum":338350}`)
		if r.PeakMemory > memory {
			t.Errorf("%d bytes of memory", r.PeakMemory)
		}
	})
	t.Run("bad params", func(t *testing.T) {
		m.Run(t, squares, &plugintest.Host{Params: []byte(`{"n":-1}`)}).WantError(t, "bad_params", false)
	})
	t.Run("cancel", func(t *testing.T) {
		h := &plugintest.Host{Params: []byte(`{"n":100000}`), OnBeat: plugintest.AtBeat(2, plugintest.Cancel)}
		m.Run(t, squares, h).WantKind(t, plugintest.Cancelled)
	})
	t.Run("the worker shuts down, another one goes on", func(t *testing.T) {
		h := &plugintest.Host{Params: []byte(`{"n":100000}`), OnBeat: plugintest.AtBeat(4, plugintest.Draining)}
		m.Run(t, squares, h).WantKind(t, plugintest.Yielded)
		m.Run(t, squares, h).WantResult(t, `{"sum":333338333350000}`)
		if len(h.Beats) != 10 {
			t.Errorf("%d heartbeats: a piece was computed twice", len(h.Beats))
		}
	})
	t.Run("killed anywhere", func(t *testing.T) {
		m.CheckResume(t, squares, &plugintest.Host{Params: []byte(`{"n":100000}`)}, 5)
	})
}
