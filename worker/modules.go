package worker

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

	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/making"
	"github.com/taskrt/taskrt/worker/stream"
)

// ErrDigest means that the bytes of a module do not match the digest that was asked for.
var ErrDigest = errors.New("worker: module bytes do not have their digest")

var errNotBuiltIn = errors.New("worker: this behavior is not built into this process")

// Waits between tries to get a module.
const (
	assignmentTries = 3 // for one assignment, before it is given back
	firstRetry      = 200 * time.Millisecond
	lastRetry       = time.Minute // for modules to prepare; doubling from firstRetry
)

// modules fetches and compiles modules, each at most once at a time. It does so ahead of use if the leader says so (SPEC B3).
type modules struct {
	w     *Worker
	slots chan struct{} // bounds fetching and compiling

	mu        sync.Mutex
	ready     map[string]Guest
	names     []string // names of ready, sorted; replaced, never changed; nil: not made since the last change
	loading   map[string]*load
	preparing map[string]bool // a goroutine keeps trying

	making making.Making // of those that are not ready
}

// load is one try; result and err are set when done is closed.
type load struct {
	done  chan struct{}
	guest Guest
	err   error
}

func newModules(w *Worker) *modules {
	m := &modules{
		w: w, slots: make(chan struct{}, w.cfg.PrepareWorkers),
		ready: map[string]Guest{}, loading: map[string]*load{}, preparing: map[string]bool{},
	}
	maps.Copy(m.ready, w.cfg.Native)
	return m
}

// digests returns the modules that are compiled here, sorted. Nobody may change the list.
func (m *modules) digests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.names == nil {
		m.names = slices.Sorted(maps.Keys(m.ready))
	}
	return m.names
}

// at returns a module that is ready, or nil.
func (m *modules) at(digest string) Guest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ready[digest]
}

// get returns a module for an assignment; usually the module is ready. get gives up after a few tries. Then the leader is told that the
// module is not ready, and the worker goes on trying by itself.
func (m *modules) get(ctx context.Context, mod stream.Module) (Guest, error) {
	wait := firstRetry
	for try := 1; ; try++ {
		guest, err := m.try(ctx, mod)
		if err == nil || ctx.Err() != nil {
			return guest, err
		}
		if try == assignmentTries {
			m.prepare([]stream.Module{mod})
			return nil, err
		}
		if !idle.For(ctx, wait) {
			return nil, context.Cause(ctx)
		}
		wait *= 2
	}
}

// prepare gets modules in the background until each is ready or the worker stops.
func (m *modules) prepare(mods []stream.Module) {
	if m.w.cfg.Runner == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, mod := range mods {
		if m.preparing[mod.Digest] || m.ready[mod.Digest] != nil || task.Native(mod.Digest) { // native modules are built in, or never ready
			continue
		}
		m.preparing[mod.Digest] = true
		m.w.wg.Go(func() { m.keepTrying(mod) })
	}
}

func (m *modules) keepTrying(mod stream.Module) {
	ctx := m.w.life
	wait := firstRetry
	for logged := ""; ; wait = min(2*wait, lastRetry) {
		_, err := m.try(ctx, mod)
		if err == nil || ctx.Err() != nil {
			break
		}
		if err.Error() != logged { // once per reason
			logged = err.Error()
			m.w.log.Warn("module cannot be prepared; trying again", "module", mod.Digest, "error", err)
		}
		if !idle.For(ctx, wait) {
			break
		}
	}
	m.mu.Lock()
	delete(m.preparing, mod.Digest)
	m.mu.Unlock()
}

// try joins the try that runs, or starts one. The context of the caller does not bound the try: others may
// wait for the same module.
func (m *modules) try(ctx context.Context, mod stream.Module) (Guest, error) {
	m.mu.Lock()
	if guest, ok := m.ready[mod.Digest]; ok {
		m.mu.Unlock()
		return guest, nil
	}
	l := m.loading[mod.Digest]
	if l == nil {
		l = &load{done: make(chan struct{})}
		m.loading[mod.Digest] = l
		m.w.wg.Go(func() { m.run(l, mod) })
	}
	m.mu.Unlock()
	select {
	case <-l.done:
		return l.guest, l.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (m *modules) run(l *load, mod stream.Module) {
	l.guest, l.err = m.load(m.w.life, mod)
	m.mu.Lock()
	delete(m.loading, mod.Digest)
	if l.err == nil {
		m.ready[mod.Digest], m.names = l.guest, nil
	}
	m.mu.Unlock()
	if l.err == nil {
		m.making.Done(mod.Digest)
	} else {
		m.making.Fails(mod.Digest, l.err)
	}
	close(l.done)
	m.nudge()
}

// enters notes a step on the way to a module that is ready.
func (m *modules) enters(mod stream.Module, step stream.Step) {
	m.making.Enters(mod.Digest, step)
	m.nudge()
}

// nudge lets the session tell the leader which modules are ready, and how far the others are.
func (m *modules) nudge() {
	if s := m.w.current(); s != nil {
		s.nudge()
	}
}

func (m *modules) load(ctx context.Context, mod stream.Module) (Guest, error) {
	if task.Native(mod.Digest) || m.w.cfg.Runner == nil {
		return nil, fmt.Errorf("%w: %s", errNotBuiltIn, mod.Digest)
	}
	if guest, ok := m.w.cfg.Runner.Module(mod.Digest); ok {
		return guest, nil
	}
	m.enters(mod, stream.Queued)
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	m.enters(mod, stream.Fetching)
	wasm, err := m.w.cfg.Modules.Fetch(ctx, mod.Digest, mod.Size)
	if err != nil {
		return nil, fmt.Errorf("worker: fetch module %s: %w", mod.Digest, err)
	}
	if sum := sha256.Sum256(wasm); hex.EncodeToString(sum[:]) != mod.Digest {
		return nil, fmt.Errorf("%w: asked for %s, got %x (%d bytes)", ErrDigest, mod.Digest, sum, len(wasm))
	}
	m.enters(mod, stream.Compiling)
	return m.w.cfg.Runner.Load(ctx, mod.Digest, wasm)
}
