package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/meter"
	"github.com/taskrt/taskrt/runtime/upload"
	"github.com/taskrt/taskrt/runtime/wasi"
	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// Module is a compiled module, ready to run. It has a wazero runtime of its own: unloading is closing it, and no guest
// can name another's exports.
type Module struct {
	engine    *Engine
	digest    string
	parsed    *wasmbin.Module
	command   bool  // run by _start (SPEC B5)
	minMemory int64 // bytes
	rt        wazero.Runtime
	pool      *pool
	entry     *entry
	cached    bool          // its code came from the cache
	took      time.Duration // to make it ready
}

// Digest returns the module's name.
func (m *Module) Digest() string { return m.digest }

// ReadyTime returns how long this process took to compile the module, or to get it from the cache.
func (m *Module) ReadyTime() time.Duration { return m.took }

// newModule checks and compiles a file. The caller bounds how many do so at a time.
func (e *Engine) newModule(digest string, wasm []byte) (*Module, error) {
	if int64(len(wasm)) > e.cfg.MaxModuleBytes {
		return nil, upload.Oversized(int64(len(wasm)), e.cfg.MaxModuleBytes)
	}
	parsed, err := parse(wasm)
	if err != nil {
		return nil, err
	}
	if err := checkModule(parsed, e.allow); err != nil {
		return nil, err
	}
	m := &Module{engine: e, digest: digest, parsed: parsed, command: isCommand(parsed)}
	m.minMemory = int64(parsed.Memories[0].Min) * wasmbin.PageSize
	metered, err := meter.Rewrite(parsed.BoundTables())
	if err != nil {
		return nil, asUploadError(err)
	}
	var compiled wazero.CompiledModule
	made := func(cache wazero.CompilationCache) (wazero.Runtime, wazero.CompiledModule, error) {
		return compile(cache, metered, parsed)
	}
	if e.cfg.Compile != nil {
		m.rt, compiled, err = e.cache.Read(e.stop, digest, int64(len(wasm)), made)
		m.cached = true
	} else {
		m.rt, compiled, m.cached, err = e.cache.Compile(digest, made)
	}
	if err != nil {
		return nil, compileError(err)
	}
	m.pool = newPool(m, compiled, metered)
	return m, nil
}

// compileError refuses a module for what the compiler says. A process that compiles for this engine (Config.Compile)
// may have refused the module itself: its code and its limit stay.
func compileError(err error) error {
	if _, refused := errors.AsType[*upload.Error](err); refused {
		return err
	}
	return upload.Errorf(upload.CompileFailed, "", "%v", err)
}

// coreFeatures are the features of WebAssembly that metered modules may use: those beyond 2.0 that wazero implements
// as specified. Exceptions are not among them: the meter lowers them (RATIONALE.md).
const coreFeatures = api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExtendedConst

// tableBytes is what the tables of an instance take: their largest size if code grows them. A small sum counts as
// nothing.
func tableBytes(m *wasmbin.Module, grow bool) int64 {
	const element, free = 8, 64 << 10
	n := uint64(0)
	for _, t := range m.Tables {
		size := t.Min
		if grow {
			size = wasmbin.MaxTableElements
			if t.HasMax {
				size = min(size, max(t.Min, t.Max))
			}
		}
		n += size * element
	}
	if n <= free {
		return 0
	}
	return int64(n)
}

// compile makes a wazero runtime with one guest module and the host modules that it imports from. cache may be nil.
func compile(cache wazero.CompilationCache, metered *meter.Module, parsed *wasmbin.Module) (rt wazero.Runtime, made wazero.CompiledModule, err error) {
	ctx := context.Background()
	cfg := wazero.NewRuntimeConfig(). // codeFlags counts these settings
						WithCoreFeatures(coreFeatures).
						WithCloseOnContextDone(false). // metering ends computing guests, and costs less (DESIGN.md)
						WithDebugInfoEnabled(metered.Debug)
	if cache != nil {
		cfg = cfg.WithCompilationCache(cache)
	}
	fresh := wazero.NewRuntimeWithConfig(ctx, cfg)
	defer func() {
		// The compiler sees bytes of strangers: a bug in it must not end the node.
		if p := recover(); p != nil {
			err = fmt.Errorf("the compiler panicked: %v", p)
		}
		if err != nil {
			rt, made, err = nil, nil, errors.Join(err, fresh.Close(ctx))
		}
	}()
	compiled, err := fresh.CompileModule(ctx, metered.Wasm)
	if err != nil {
		return nil, nil, err
	}
	if err := instantiateMeter(ctx, fresh); err != nil {
		return nil, nil, err
	}
	if parsed.ImportsFrom(abi.Module) {
		if err := instantiateHost(ctx, fresh, abi.Module, hostFunctions); err != nil {
			return nil, nil, err
		}
	}
	for _, c := range capabilityModules {
		if parsed.ImportsFrom(c.module) {
			if err := instantiateHost(ctx, fresh, c.module, c.functions); err != nil {
				return nil, nil, err
			}
		}
	}
	if parsed.ImportsFrom(wasi.Module) {
		if err := instantiateWASI(ctx, fresh); err != nil {
			return nil, nil, err
		}
	}
	return fresh, compiled, nil
}

// close frees everything. Nothing of the module runs.
func (m *Module) close(ctx context.Context) error {
	m.pool.close()
	return m.rt.Close(ctx)
}

// enter keeps the module open until leave, and has Close end the guest. It returns false if the module was dropped
// and closed, or the engine is closed.
func (m *Module) enter(g *guest) bool {
	e := m.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || m.entry.mod != m {
		return false
	}
	m.entry.users++
	e.active++
	e.guests[g] = struct{}{}
	return true
}

func (m *Module) leave(g *guest) {
	e := m.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.guests, g)
	e.releaseLocked(m.entry, m.digest)
	e.endLocked()
}
