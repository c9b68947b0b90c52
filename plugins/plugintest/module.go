package plugintest

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/taskrt/taskrt/internal/built"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/manifest"
)

// TB is the part of testing.TB that this package needs.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(func())
	Context() context.Context
	TempDir() string
}

// Module is a compiled module. Tests may run it at the same time, each with a Host of its own.
type Module struct {
	mod *runtime.Module
	in  *runtime.Inspected
}

// Config says which module to test, where a file alone does not say it.
type Config struct {
	Wasm     []byte // the module
	Manifest []byte // JSON; wins over the module's own; nil: the module's own
	Name     string // name for the behavior of a module without a manifest
}

// Load reads, checks and compiles a module, as a cluster does after `taskrt push`. The module is closed when the test ends.
func Load(t TB, file string) *Module {
	t.Helper()
	wasm, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("plugintest: %v", err)
	}
	return New(t, Config{Wasm: wasm})
}

// New is Load for a module that is not in a file, or whose manifest is given apart.
func New(t TB, c Config) *Module {
	t.Helper()
	fail := func(err error) {
		if err != nil {
			t.Fatalf("plugintest: %v", err)
		}
	}
	var given *manifest.Manifest
	if c.Manifest != nil {
		var err error
		given, err = manifest.Parse(c.Manifest)
		fail(err)
	}
	engine, err := runtime.New(runtime.Config{Logger: slog.New(slog.DiscardHandler), CheckChild: checkChild, CacheDir: codeCache()})
	fail(err)
	ctx := context.WithoutCancel(t.Context()) // which is done before Cleanup
	t.Cleanup(func() { fail(engine.Close(ctx)) })
	m := &Module{}
	m.mod, err = engine.Load(ctx, runtime.Digest(c.Wasm), c.Wasm)
	fail(err)
	m.in, err = engine.Inspect(ctx, c.Wasm, given, c.Name)
	fail(err)
	return m
}

// codeCache is the folder that keeps the native code of modules for the next test: a Go plugin takes seconds to compile.
func codeCache() string {
	dir, err := built.CodeDir()
	if err != nil {
		return "" // it compiles every time
	}
	return dir
}

// BuildGo builds the Go plugin in a directory, relative to the directory of the test, and returns the file. A test that begins with
// BuildGo never tests an older source. The first build takes seconds; a build with nothing changed takes less than one.
func BuildGo(t TB, dir string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "plugin.wasm")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", file, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("plugintest: go build in %s: %v\n%s", dir, err, out)
	}
	return file
}

// Manifest returns the module's manifest as canonical JSON.
func (m *Module) Manifest() []byte { return m.in.ManifestJSON }

// Check returns the error with which a submit of these params would be refused: no such behavior, more than limits.params_bytes,
// or params that do not match params_schema.
func (m *Module) Check(behavior string, params []byte) error {
	s, err := m.settings(behavior)
	if err != nil {
		return err
	}
	return s.CheckParams(params)
}

// UnknownBehaviorError names a behavior that a module does not have.
type UnknownBehaviorError struct {
	Name  string
	Known []string
}

func (e *UnknownBehaviorError) Error() string {
	return "the module has no behavior " + e.Name + ", but " + strings.Join(e.Known, ", ")
}

func (m *Module) settings(behavior string) (*manifest.Settings, error) {
	unknown := &UnknownBehaviorError{Name: behavior}
	for i := range m.in.Manifest.Behaviors {
		s := m.in.Manifest.Settings(i)
		if s.Name == behavior {
			return &s, nil
		}
		unknown.Known = append(unknown.Known, s.Name)
	}
	return nil, unknown
}

// Run runs one attempt of a behavior to its end. If a submit would refuse the params, the test fails.
func (m *Module) Run(t TB, behavior string, h *Host) Result {
	t.Helper()
	s, err := m.settings(behavior)
	if err != nil {
		t.Fatalf("plugintest: %v", err)
	}
	params, err := h.wholeParams()
	if err == nil {
		err = s.CheckParams(params)
	}
	if err != nil {
		t.Fatalf("plugintest: a submit would be refused: %v", err)
	}
	ctx, kill := context.WithCancelCause(t.Context())
	defer kill(nil)
	a, err := h.attempt(s, m.in.Version, params)
	if err != nil {
		t.Fatalf("plugintest: %v", err)
	}
	run := &attempt{Host: h, kill: kill, grace: s.CancelGrace}
	defer run.end()
	run.tell(h.Signals)
	out := m.mod.Run(ctx, a, run)
	if a.Fuel == h.KillAtFuel {
		out = killedAtFuel(out)
	}
	return h.ended(runtime.Judge(s, out))
}

// CheckResume runs a behavior once to its end. Then it runs the behavior kills times more, each time killed at another point of its
// computation and run again from the last checkpoint. The test fails unless each of these ends as the first run did. h is
// given to the first attempt of each; it is not changed.
//
// CheckResume finds checkpoints that cannot be read back, checkpoints that are saved before the work that they tell of is done, and
// results that count something twice.
func (m *Module) CheckResume(t TB, behavior string, h *Host, kills int) {
	t.Helper()
	begin := func() *Host {
		c := *h
		c.Beats, c.Saved, c.Notes, c.Logs = nil, nil, nil, nil
		return &c
	}
	whole := m.Run(t, behavior, begin())
	whole.WantKind(t, Succeeded)
	for i := range int64(kills) {
		c := begin()
		c.KillAtFuel = whole.Fuel/int64(kills+1)*(i+1) + 1
		r := m.Run(t, behavior, c)
		at, saved := c.KillAtFuel, len(c.Saved)
		if c.KillAtFuel = 0; r.Kind == Killed {
			r = m.Run(t, behavior, c)
		}
		if r.Kind != Succeeded || !sameJSON(r.Result, whole.Result) {
			t.Fatalf("plugintest: killed after %d units of fuel, with %d checkpoints, the next attempt ended with\n%v\nand without a kill\n%v",
				at, saved, r, whole)
		}
	}
}
