package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/rusttool"
	"github.com/taskrt/taskrt/plugins/plugintest"
)

// TestNewRust makes a plugin in Rust, whose tests pass and which builds, with nothing fetched, and looks at its module.
func TestNewRust(t *testing.T) {
	const name = "square.sum-2" // no name that a crate may have
	env := rusttool.Env(t)
	dir := filepath.Join(t.TempDir(), "a plugin")
	taskrt, err := exec.LookPath("taskrt") // testscript puts this binary there
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), taskrt, "new", "rust", name, "--dir", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := func(program string, args ...string) string {
		cmd := rusttool.Command(t, append(env, "TASKRT="+taskrt, "RUSTFLAGS=-D warnings", "LC_ALL=C"), program, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", program, args, err, out)
		}
		return string(out)
	}
	if out := run("make", "test"); !strings.Contains(out, "4 passed") || strings.Contains(out, "was not run") {
		t.Errorf("make test ran not all:\n%s", out)
	}
	if out := run("make"); !strings.Contains(out, "up to date") {
		t.Errorf("make builds what is built:\n%s", out)
	}
	m := plugintest.Load(t, filepath.Join(dir, name+".wasm"))
	t.Run("result", func(t *testing.T) {
		r := m.Run(t, name, &plugintest.Host{Params: []byte(`{"n":100}`)})
		r.WantResult(t, `{"sum":338350}`)
		if r.PeakMemory > 4<<20 {
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
}
