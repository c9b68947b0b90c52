package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/astool"
	"github.com/taskrt/taskrt/plugins/plugintest"
)

// TestNewAssemblyScript makes a plugin in AssemblyScript, which builds and whose tests pass, and looks at its module.
func TestNewAssemblyScript(t *testing.T) {
	const name = "square.sum-2"
	astool.Modules(t) // node and npm are there, and what npm ci needs is in its cache
	dir := filepath.Join(t.TempDir(), "a plugin")
	taskrt, err := exec.LookPath("taskrt") // testscript puts this binary there
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), taskrt, "new", "assemblyscript", name, "--dir", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "make", append(args, "TASKRT="+taskrt)...)
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
	m := plugintest.Load(t, filepath.Join(dir, name+".wasm"))
	t.Run("result", func(t *testing.T) {
		r := m.Run(t, name, &plugintest.Host{Params: []byte(`{"n":100}`)})
		r.WantResult(t, `{"sum":338350}`)
		if r.PeakMemory > 2<<20 {
			t.Errorf("%d bytes of memory", r.PeakMemory)
		}
	})
	t.Run("bad params", func(t *testing.T) {
		m.Run(t, name, &plugintest.Host{Params: []byte(`{"n":-1}`)}).WantError(t, "bad_params", false)
	})
	t.Run("cancel", func(t *testing.T) {
		h := &plugintest.Host{Params: []byte(`{"n":100000}`), OnBeat: plugintest.AtBeat(2, plugintest.Cancel)}
		m.Run(t, name, h).WantKind(t, plugintest.Cancelled)
	})
	t.Run("the worker shuts down, another one goes on", func(t *testing.T) {
		h := &plugintest.Host{Params: []byte(`{"n":100000}`), OnBeat: plugintest.AtBeat(4, plugintest.Draining)}
		m.Run(t, name, h).WantKind(t, plugintest.Yielded)
		m.Run(t, name, h).WantResult(t, `{"sum":333338333350000}`)
		if len(h.Beats) != 10 {
			t.Errorf("%d heartbeats: a piece was computed twice", len(h.Beats))
		}
	})
	t.Run("killed anywhere", func(t *testing.T) {
		m.CheckResume(t, name, &plugintest.Host{Params: []byte(`{"n":100000}`)}, 5)
	})
	t.Run("a test that fails", func(t *testing.T) {
		if out, err := exec.CommandContext(t.Context(), "sed", "-i", `s/"sum":14/"sum":15/`, filepath.Join(dir, "test.sh")).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if out, err := run("test"); err == nil || !strings.Contains(out, "FAILED") {
			t.Errorf("make test: %v\n%s", err, out)
		}
	})
}
