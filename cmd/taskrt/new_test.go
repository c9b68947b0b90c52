package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/plugins/plugintest"
)

// squares is the name of the plugins that tests make: no name that a crate, say, may have.
const squares = "square.sum-2"

// newSquares makes a plugin in a directory of its own, whose name has a space in it.
func newSquares(t *testing.T, language string) (dir, taskrt string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "a plugin")
	taskrt, err := exec.LookPath("taskrt") // testscript puts this binary there
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), taskrt, "new", language, squares, "--dir", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir, taskrt
}

// makeSquares builds a plugin whose tests are test.sh, and runs those, also with one that fails.
func makeSquares(t *testing.T, dir string, variables ...string) {
	t.Helper()
	run := func(targets ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "make", append(targets, variables...)...)
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
		if out, err := exec.CommandContext(t.Context(), "sed", "-i", `s/"sum":14/"sum":15/`, filepath.Join(dir, "test.sh")).CombinedOutput(); err != nil {
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

// TestTemplatesPinWhatThisModulePins: a new plugin in Go builds without fetching anything where this module was built, and the
// sums that it comes with are this module's.
func TestTemplatesPinWhatThisModulePins(t *testing.T) {
	for name, own := range map[string]string{"go.mod": "../../go.mod", "go.sum": "../../go.sum"} {
		text, err := fs.ReadFile(templates, path.Join(templatesDir, "go", name+templateSuffix))
		if err != nil {
			t.Fatal(err)
		}
		ours, err := os.ReadFile(own)
		if err != nil {
			t.Fatal(err)
		}
		known := map[string]bool{}
		for line := range strings.Lines(string(ours)) {
			known[pinned(line)] = true
		}
		checked := 0
		for line := range strings.Lines(string(text)) {
			switch fields := strings.Fields(line); {
			case len(fields) < 2 || !strings.Contains(fields[0], ".") || strings.Contains(line, "{{"):
			case !known[pinned(line)]:
				t.Errorf("templates/go/%s%s has %q, which %s has not", name, templateSuffix, line, own)
			default:
				checked++
			}
		}
		if checked < 4 {
			t.Errorf("%s: only %d lines were found", name, checked)
		}
	}
}

// pinned is a line of go.mod or go.sum without what does not pin: space and comments.
func pinned(line string) string {
	line, _, _ = strings.Cut(line, "//")
	return strings.Join(strings.Fields(line), " ")
}

func TestReleaseVersions(t *testing.T) {
	for version, is := range map[string]bool{
		"v1.2.3": true, "v0.1.0-rc1": true, "v1.0.0-beta.2": true, "v0.0.0-20261123020034-d55fbda9c1d2": true,
		"v1.2.4-0.20261123020034-d55fbda9c1d2": true, "v1.2.3-rc1.0.20261123020034-d55fbda9c1d2": true,
		"": false, "(devel)": false, "d55fbda": false, "v1.2.3-dirty": false, "v1.2.3-5-gd55fbda": false, "unknown": false,
		"v0.0.0-20261123020034-d55fbda9c1d2+dirty": false, "v1.2.3 ": false,
	} {
		if releaseVersion.MatchString(version) != is {
			t.Errorf("%q: want %t", version, is)
		}
	}
}
