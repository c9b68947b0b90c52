package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/codecache"
	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/runtime/memory"
	"github.com/taskrt/taskrt/runtime/wasi"
)

// ErrClosed is what a closed engine answers.
var ErrClosed = errors.New("runtime: the engine is closed")

// Engine compiles and runs modules. All methods may be called from many goroutines.
type Engine struct {
	cfg       Config
	allow     allowed
	cache     *codecache.Cache
	memory    *memory.Budget
	shelf     *shelf
	places    *places
	compiling chan struct{} // has room for Config.CompileWorkers tokens

	stop   context.Context // done: Close was called, with cause ErrClosed
	doStop context.CancelCauseFunc

	// Synctest bubbles, and code outside of them, may share an engine: hence a counter instead of a WaitGroup, and
	// channels only for those that wait.
	mu      sync.Mutex
	modules map[string]*entry   // by digest
	active  int                 // compilations and runs
	guests  map[*guest]struct{} // of the runs among them
	closed  bool
	idle    chan struct{} // made by Close, closed once nothing is active
}

// entry is one module that is being compiled, or is compiled. The engine's lock guards all but done.
type entry struct {
	done   chan struct{} // closed with ready
	ready  bool          // mod or err is set
	mod    *Module
	err    error
	loaded bool // kept until Drop
	users  int  // Loads, Inspects and Runs
}

// New returns an engine. Close it.
func New(cfg Config) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg.withDefaults(), modules: make(map[string]*entry), guests: make(map[*guest]struct{})}
	e.shelf, e.places = newShelf(e.cfg.MemoryBudget), newPlaces()
	e.memory = e.shelf.budget
	e.compiling = make(chan struct{}, e.cfg.CompileWorkers)
	e.stop, e.doStop = context.WithCancelCause(context.Background())
	var err error
	if e.cache, err = codecache.Open(codecache.Config{
		Dir: e.cfg.CacheDir, Limit: e.cfg.CacheBytes, Generation: generation(), Compile: e.cfg.Compile, Logger: e.cfg.Logger,
	}); err != nil {
		return nil, err
	}
	memory.Prepare()
	e.allow = hostInterface()
	return e, nil
}

// hostInterface lists what guests may import.
func hostInterface() allowed {
	allow := allowed{abi.Module: hostSignatures(hostFunctions), wasi.Module: wasiSignatures()}
	for _, c := range capabilityModules {
		allow[c.module] = hostSignatures(c.functions)
	}
	return allow
}

// Close kills what runs, with cause ErrClosed, waits until no guest code runs, and frees everything. If ctx ends
// before, what is still active keeps its memory. Close then returns the ctx's error if guest code is active. A
// compilation cannot be interrupted, but it runs no guest code and may be left to the end of the process. A second
// Close does nothing.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	e.idle = make(chan struct{})
	idle := e.idle
	if e.active == 0 {
		close(idle)
	}
	running := slices.Collect(maps.Keys(e.guests))
	e.mu.Unlock()
	e.doStop(ErrClosed)
	for _, g := range running {
		g.cancel(ErrClosed)
	}

	select {
	case <-idle:
	case <-ctx.Done():
		e.mu.Lock()
		defer e.mu.Unlock()
		if n := len(e.guests); n > 0 {
			return fmt.Errorf("runtime: close: %d guests still run: %w", n, context.Cause(ctx))
		}
		e.cfg.Logger.Info("closed during a compilation, which cannot be interrupted", "active", e.active)
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cfg.fetch.Close()
	var errs []error
	for _, x := range e.modules {
		if x.mod != nil {
			errs = append(errs, x.mod.close(ctx))
		}
	}
	clear(e.modules)
	return errors.Join(errs...)
}

// Digest returns the name of a file: its SHA-256 in lower-case hex.
func Digest(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}

// Load compiles a module and keeps it ready until Drop. A module is compiled once per digest, however many ask for
// it. The file is checked as by Inspect, but without its manifest and, unless Config.KeepImages is set, without
// running any of its code. Errors about the file are *upload.Error.
func (e *Engine) Load(ctx context.Context, digest string, wasm []byte) (*Module, error) {
	if got := Digest(wasm); got != digest {
		return nil, fmt.Errorf("runtime: the file has digest %s, not %s", got, digest)
	}
	x, err := e.acquire(ctx, digest, wasm, true)
	if err != nil {
		return nil, err
	}
	mod := x.mod // before a Drop may take it
	if e.cfg.KeepImages {
		if err := mod.tryOut(ctx, manifest.MaxMemoryBytes); err != nil {
			e.cfg.Logger.Info("a module cannot be initialised, so it has no image", "digest", digest, "err", err)
		}
	}
	e.release(x, digest)
	return mod, nil
}

// Module returns a module that Load has made ready.
func (e *Engine) Module(digest string) (*Module, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x, ok := e.modules[digest]
	if !ok || !x.loaded || x.mod == nil {
		return nil, false
	}
	return x.mod, true
}

// Stats is what an engine does.
type Stats struct {
	Ready, Compiling, Waiting int   // modules; Waiting: for one of Config.CompileWorkers
	Guests                    int   // attempts under way, also those that wait for memory
	Memory, MemoryBudget      int64 // bytes charged to the budget, and the budget
	Idle                      int   // instances that wait for their next attempt
	CacheBytes                int64 // of code and images on disk
}

// Stats tells what the engine does now.
func (e *Engine) Stats() Stats {
	s := Stats{MemoryBudget: e.cfg.MemoryBudget, Memory: e.memory.Used(), CacheBytes: e.cache.Bytes()}
	e.mu.Lock()
	for _, x := range e.modules {
		if x.ready {
			s.Ready++
		} else {
			s.Waiting++
		}
	}
	s.Guests = len(e.guests)
	e.mu.Unlock()
	s.Compiling = min(len(e.compiling), s.Waiting)
	s.Waiting -= s.Compiling
	e.shelf.mu.Lock()
	s.Idle = e.shelf.idle.Len()
	e.shelf.mu.Unlock()
	return s
}

// CacheFault returns why the code that was compiled last is not in the cache; nil: it is there.
func (e *Engine) CacheFault() error { return e.cache.Fault() }

// Drop forgets a module and its cached code. Attempts that run go on; a later Run of the same Module fails.
func (e *Engine) Drop(digest string) {
	e.mu.Lock()
	if x, ok := e.modules[digest]; ok {
		x.loaded = false
		e.dropUnused(x, digest)
	}
	e.mu.Unlock()
	e.cache.Remove(digest)
}

// acquire returns the module's entry, compiled, with one more user.
func (e *Engine) acquire(ctx context.Context, digest string, wasm []byte, load bool) (*entry, error) {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil, ErrClosed
	}
	x, ok := e.modules[digest]
	if !ok {
		x = &entry{done: make(chan struct{})}
		e.modules[digest] = x
		e.active++
		go e.compile(x, digest, wasm)
	}
	x.users++
	x.loaded = x.loaded || load
	ready := x.ready
	e.mu.Unlock()

	if !ready {
		select {
		case <-x.done:
		case <-ctx.Done(): // others may still wait for it; it goes on
			e.release(x, digest)
			return nil, context.Cause(ctx)
		}
	}
	if x.err != nil { // set before done, never again
		e.release(x, digest)
		return nil, x.err
	}
	return x, nil
}

func (e *Engine) release(x *entry, digest string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.releaseLocked(x, digest)
}

func (e *Engine) releaseLocked(x *entry, digest string) {
	x.users--
	e.dropUnused(x, digest)
}

// dropUnused closes a module that nobody needs any more. The caller holds the lock.
func (e *Engine) dropUnused(x *entry, digest string) {
	if x.users > 0 || x.loaded || !x.ready { // not ready: compile will come here
		return
	}
	if e.modules[digest] == x {
		delete(e.modules, digest)
	}
	if x.mod != nil {
		if err := x.mod.close(context.Background()); err != nil {
			e.cfg.Logger.Error("close module", "digest", digest, "err", err)
		}
		x.mod = nil
	}
}

// compile fills x and wakes those who wait for it. A failure is forgotten at once, so that a later try may succeed.
func (e *Engine) compile(x *entry, digest string, wasm []byte) {
	defer e.end()
	mod, err := func() (*Module, error) {
		select {
		case e.compiling <- struct{}{}:
			defer func() { <-e.compiling }()
		case <-e.stop.Done():
			return nil, ErrClosed
		}
		return e.timed(digest, wasm)
	}()
	e.mu.Lock()
	defer e.mu.Unlock()
	x.mod, x.err, x.ready = mod, err, true
	if mod != nil {
		mod.entry = x
	}
	close(x.done)
	if err != nil {
		x.loaded = false
		if e.modules[digest] == x {
			delete(e.modules, digest)
		}
	}
	e.dropUnused(x, digest)
}

// timed makes a module and tells how long that took.
func (e *Engine) timed(digest string, wasm []byte) (*Module, error) {
	begun := time.Now()
	mod, err := e.newModule(digest, wasm)
	done := Compiled{Digest: digest, Took: time.Since(begun), Err: err}
	if mod != nil {
		mod.took, done.Cached = done.Took, mod.cached
	}
	if e.cfg.OnCompile != nil {
		e.cfg.OnCompile(done)
	}
	return mod, err
}

// end counts down what is active.
func (e *Engine) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.endLocked()
}

func (e *Engine) endLocked() {
	if e.active--; e.active == 0 && e.closed {
		close(e.idle)
	}
}
