package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/runtime/memory"
	"github.com/taskrt/taskrt/runtime/upload"
)

// Inspected is what is known of an upload.
type Inspected struct {
	Digest       string // lower-case hex SHA-256 of the file
	Size         int64
	Manifest     manifest.Manifest
	ManifestJSON []byte // canonical
	Version      string // lower-case hex SHA-256 over digest and manifest (SPEC B2)
}

// Limits of the sandbox in which guest code runs at upload. The fuel is enough for about a second of computing,
// whatever the machine, so that a busy machine refuses nothing; the time limit is for guests that sleep.
const (
	describeFuel    = 2_000_000_000
	describeTimeout = time.Minute
	describeLog     = 16 << 10
)

// Inspect checks a file, from cheap to dear: size, header, sections, imports, exports, manifest, capabilities,
// compilation, one trial instance. It keeps nothing but cached code. The manifest is given, else in the module's
// custom section, else what taskrt_describe writes, else made of defaults and name. name names the one behavior of a
// module; a module of several behaviors refuses a name. What is wrong with the file is an *upload.Error.
func (e *Engine) Inspect(ctx context.Context, wasm []byte, given *manifest.Manifest, name string) (*Inspected, error) {
	if size := int64(len(wasm)); size > e.cfg.MaxModuleBytes {
		return nil, upload.Oversized(size, e.cfg.MaxModuleBytes)
	}
	parsed, err := parse(wasm)
	if err != nil {
		return nil, err
	}
	if err := checkModule(parsed, e.allow); err != nil {
		return nil, err
	}
	found, err := givenManifest(given, parsed.Custom(abi.SectionManifest))
	if err != nil {
		return nil, err
	}
	if found != nil { // else it is looked for below: that needs the code
		if err := found.SetName(name); err != nil {
			return nil, err
		}
	}
	in := &Inspected{Digest: Digest(wasm), Size: int64(len(wasm))}
	x, err := e.acquire(ctx, in.Digest, wasm, false)
	if err != nil {
		return nil, err
	}
	defer e.release(x, in.Digest)
	if found == nil {
		if found, err = x.mod.describe(ctx, name); err != nil {
			return nil, err
		}
	}
	if err := checkRequired(parsed, found); err != nil {
		return nil, err
	}
	if err := fits(found, x.mod.minMemory); err != nil {
		return nil, err
	}
	if err := x.mod.trial(ctx, found); err != nil {
		return nil, err
	}
	if in.ManifestJSON, err = found.Canonical(); err != nil {
		return nil, fmt.Errorf("runtime: manifest: %w", err)
	}
	in.Manifest = *found
	in.Version = Version(in.Digest, in.ManifestJSON)
	return in, nil
}

// Version names a version of a module's behaviors (SPEC B2).
func Version(digest string, manifestJSON []byte) string {
	h := sha256.New()
	h.Write([]byte(digest))
	h.Write([]byte{'\n'})
	h.Write(manifestJSON)
	return hex.EncodeToString(h.Sum(nil))
}

// givenManifest returns the manifest given at upload, else the one in the module's custom section, else nil.
func givenManifest(given *manifest.Manifest, sections [][]byte) (*manifest.Manifest, error) {
	switch {
	case given != nil:
		text, err := given.Canonical()
		if err != nil {
			return nil, upload.Errorf(upload.BadManifest, "", "%v", err)
		}
		return manifest.Parse(text)
	case len(sections) > 1:
		return nil, upload.Errorf(upload.BadManifest, "section "+abi.SectionManifest, "there are %d of them", len(sections))
	case len(sections) == 1:
		return manifest.Parse(sections[0])
	}
	return nil, nil
}

// fits checks every behavior's memory limit against the memory that the module begins with.
func fits(m *manifest.Manifest, minMemory int64) error {
	for i := range m.Behaviors {
		if s := m.Settings(i); minMemory > s.MemoryBytes {
			return memoryLimit(fmt.Sprintf("behaviors[%d].limits.memory_bytes", i), uint64(minMemory)>>16, s.MemoryBytes)
		}
	}
	return nil
}

// describe asks the module for its manifest; a module without one gets defaults.
func (m *Module) describe(ctx context.Context, name string) (*manifest.Manifest, error) {
	found := &manifest.Manifest{Schema: manifest.SchemaVersion, Behaviors: []manifest.Behavior{{}}}
	if _, ok := m.parsed.Export(abi.ExportDescribe); ok {
		text, err := m.probe(ctx, upload.DescribeFailed, max(manifest.DefaultMemoryBytes, m.minMemory), func(ctx context.Context, g *guest, i *instance) error {
			g.phase = phaseDescribe
			return i.describe(ctx)
		})
		if err != nil {
			return nil, err
		}
		if len(text) > 0 {
			if found, err = manifest.Parse(text); err != nil {
				return nil, err
			}
		}
	}
	return found, found.SetName(name)
}

// trial makes one instance, with the smallest memory that any behavior has.
func (m *Module) trial(ctx context.Context, found *manifest.Manifest) error {
	memory := int64(manifest.MaxMemoryBytes)
	for i := range found.Behaviors {
		memory = min(memory, found.Settings(i).MemoryBytes)
	}
	return m.tryOut(ctx, memory)
}

// tryOut makes one instance, which may have so many bytes of memory.
func (m *Module) tryOut(ctx context.Context, memory int64) error {
	_, err := m.probe(ctx, upload.TrialFailed, memory, func(context.Context, *guest, *instance) error { return nil })
	return err
}

// probe runs guest code of an upload in a sandbox that is thrown away. It returns what the guest wrote to the
// manifest channel.
func (m *Module) probe(
	ctx context.Context, code upload.Code, memory int64, f func(context.Context, *guest, *instance) error,
) ([]byte, error) {
	a := Attempt{MemoryBytes: memory, LogBytes: describeLog, RunTimeout: describeTimeout}.withDefaults()
	g := newGuest(ctx, m, &m.engine.cfg, a, discard{})
	defer g.cancel(nil)
	if !m.enter(g) {
		return nil, ErrClosed
	}
	defer m.leave(g)
	defer g.timers.stop()
	g.fuel.start(describeFuel)
	out := m.probeIn(g, f)
	switch out.Kind {
	case Succeeded:
		return g.manifest, nil
	case Killed:
		return nil, out.Cause
	}
	what := "a trial instance"
	if code == upload.DescribeFailed {
		what = abi.ExportDescribe
	}
	return nil, upload.Errorf(code, "", "%s failed: %s: %s", what, out.Code, out.Message)
}

func (m *Module) probeIn(g *guest, f func(context.Context, *guest, *instance) error) Outcome {
	i, err := m.pool.admit(g, true)
	switch {
	case err != nil && g.ctx.Err() != nil:
		return g.killed("while it waited for memory")
	case errors.Is(err, memory.ErrOverBudget):
		return g.outOfMemory(memory.OverBudget, err.Error())
	case err != nil:
		return Outcome{Kind: Killed, Cause: err}
	}
	defer i.end()
	if err := i.begin(g.ctx, g); err != nil {
		return g.ended(err, i.mem)
	}
	if err := f(g.ctx, g, i); err != nil {
		return g.ended(err, i.mem)
	}
	return Outcome{Kind: Succeeded}
}

// discard is the host of guest code that runs for no task.
type discard struct{}

func (discard) Beat(int64, int64, []byte) abi.Signals    { return 0 }
func (discard) Signals() abi.Signals                     { return 0 }
func (discard) Checkpoint(context.Context, []byte) error { return ErrDenied }
func (discard) Log(int, []byte)                          {}

func (discard) Call(context.Context, abi.Op, []byte) ([]byte, error) { return nil, ErrDenied }
