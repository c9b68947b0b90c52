package runtime

import (
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/codecache"
	"github.com/taskrt/taskrt/runtime/memory"
	"github.com/taskrt/taskrt/runtime/meter"
	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// pool gives every attempt of a module an instance in which nobody has left anything (SPEC B4): a new instance, or a used instance that was given
// back the module's image.
type pool struct {
	shelf     *shelf
	cache     *codecache.Cache
	log       *slog.Logger
	digest    string
	rt        wazero.Runtime
	compiled  wazero.CompiledModule
	minMemory int64    // bytes
	tables    int64    // bytes that an instance's tables have, or may get
	seed      [32]byte // of the randomness in phaseInit
	globals   []string // mutable ones, by the names of their exports
	// restorable says that memory and globals are all that a guest can change within an instance.
	restorable  bool
	saves       bool        // images are written into the cache, instead of being shared here
	saved       atomic.Bool // the image was written, or cannot be
	readsImages bool        // images are looked for in the cache
	reading     sync.Mutex  // held while the image is read from the cache
	uncached    atomic.Bool // the cache has none

	// The shelf's lock guards the rest.
	image   *image      // nil: none yet, or none any more
	idle    []*instance // the oldest first
	largest int64       // limit of memory that an attempt had: what instances reserve
	stats   InstanceStats
}

// InstanceStats says how often attempts of a module found an instance.
type InstanceStats struct {
	Made   int64 // new instances
	Reused int64 // attempts in an instance that worked before
	Idle   int   // instances that wait
	Image  int64 // bytes of the image they share; 0: there is none
}

// Instances tells how the module's instances are doing.
func (m *Module) Instances() InstanceStats {
	p := m.pool
	p.shelf.mu.Lock()
	defer p.shelf.mu.Unlock()
	stats := p.stats
	stats.Idle = len(p.idle)
	if p.image != nil {
		stats.Image = p.image.Size
	}
	return stats
}

func newPool(m *Module, compiled wazero.CompiledModule, metered *meter.Module) *pool {
	e := m.engine
	p := &pool{
		shelf: e.shelf, cache: e.cache, log: e.cfg.Logger, digest: m.digest, rt: m.rt, compiled: compiled, minMemory: m.minMemory,
		tables: tableBytes(m.parsed, metered.GrowsTables), seed: sha256.Sum256([]byte(m.digest)), saves: e.cfg.KeepImages,
		readsImages: e.cfg.Compile != nil,
	}
	p.restorable = e.shelf.restoring != memory.Never && !metered.WritesTables && !metered.DropsData
	for _, g := range metered.Globals {
		switch g.Type {
		case wasmbin.I32, wasmbin.I64, wasmbin.F32, wasmbin.F64:
			p.globals = append(p.globals, g.Name)
		default: // wazero sets no more than 64 bits, and a reference belongs to its instance
			p.restorable = false
		}
	}
	return p
}

// instance is one wasm instance, used for one attempt at a time.
type instance struct {
	pool    *pool
	mem     *memory.Memory
	image   *image       // whose memory it has; nil: none
	mod     api.Module   // nil: not made yet
	entry   api.Function // of the last attempt, if its call stack has not grown
	fuel    api.MutableGlobal
	globals []api.MutableGlobal
	guest   *guest
	clean   bool          // the guest returned, so its state is known
	single  bool          // it is not used again
	anew    bool          // it must be initialised here
	place   *list.Element // on the shelf
	old     bool          // unused since the last sweep
}

// anonymous lets a module have any number of instances. Nothing of WASI is wazero's: see instantiateWASI.
var anonymous = wazero.NewModuleConfig().WithName("").WithStartFunctions()

// admit waits until there is memory for g, and returns what becomes its instance; the caller calls end. If anew is
// set, the instance must be initialised here.
func (p *pool) admit(g *guest, anew bool) (*instance, error) {
	limit := g.attempt.MemoryBytes
	if !anew {
		if i := p.shelf.take(p, limit); i != nil {
			return i, nil
		}
	}
	g.arm()
	need, reserve := p.shelf.plan(p, limit, anew)
	mem, err := memory.New(g.ctx, p.shelf.budget, memory.Config{
		Initial: need, Limit: limit, Reserve: reserve, Besides: p.tables, More: p.shelf.charge,
	})
	if err != nil {
		return nil, err
	}
	i := &instance{pool: p, mem: mem, anew: anew}
	if !anew {
		i.image = p.shelf.use(p, need)
	}
	return i, nil
}

// begin readies the instance for g: it is initialised, and nothing of others is in it. ctx ends the guest, also while
// it is initialised.
func (i *instance) begin(ctx context.Context, g *guest) error {
	i.guest, i.clean = g, false
	if i.mod != nil {
		i.fuel.Set(0)
		g.fuel.counter = i.fuel
		g.resume(&i.image.State)
		return nil
	}
	g.initialise(i.pool.seed)
	mod, err := i.pool.rt.InstantiateModule(experimental.WithMemoryAllocator(ctx, i.mem), i.pool.compiled, anonymous)
	if err != nil {
		return err
	}
	i.mod = mod
	i.fuel = mod.ExportedGlobal(meter.Fuel).(api.MutableGlobal)
	g.fuel.counter = i.fuel
	if i.pool.restorable {
		i.globals = i.pool.restorableGlobals(mod)
	}
	if i.image != nil {
		return i.image.show(i)
	}
	if !i.anew {
		if done, err := i.cached(); done || err != nil {
			return err
		}
	}
	if init := mod.ExportedFunction(abi.ExportInitialize); init != nil {
		g.follow(i.mem)
		g.enterStack(init, i.mem)
		if err := init.CallWithStack(ctx, nil); err != nil {
			return err
		}
	}
	i.keepImage()
	return nil
}

// keepImage makes the image of an instance that was just initialised, and has the instance share the image's memory.
// An instance that gets no image works once.
func (i *instance) keepImage() {
	p, g := i.pool, i.guest
	if !p.restorable || g.spoke || i.mem.Refused() != memory.NotRefused || i.mod.IsClosed() {
		return
	}
	if p.saves {
		i.save()
		return
	}
	if !p.shelf.wants(p, i.mem.Size()) {
		return
	}
	img, err := i.capture()
	if err != nil {
		p.shelf.budget.Give(i.mem.Size())
		return
	}
	if p.shelf.publish(p, img) {
		i.image = img
		if img.Attach(i.mem) != nil {
			i.single = true // the mapping is as it was: the instance goes on with the memory that it has
		}
	}
}

// run is the attempt. Its call stack is as a new one would be: how deep a guest gets does not depend on who was there
// before.
func (i *instance) run(ctx context.Context, behavior int32) (abi.Outcome, error) {
	if i.guest.command != nil {
		return i.start(ctx)
	}
	entry := i.entry
	if entry == nil {
		entry = i.mod.ExportedFunction(abi.ExportRun)
	}
	i.entry = nil
	size := callStack(entry)
	i.guest.enterStack(entry, i.mem)
	stack := [1]uint64{api.EncodeI32(behavior)}
	if err := entry.CallWithStack(ctx, stack[:]); err != nil {
		return 0, err
	}
	i.clean = true
	if size > 0 && callStack(entry) == size {
		i.entry = entry
	}
	return abi.Outcome(api.DecodeI32(stack[0])), nil
}

func (i *instance) describe(ctx context.Context) error {
	f := i.mod.ExportedFunction(abi.ExportDescribe)
	if f == nil {
		return fmt.Errorf("runtime: no %s", abi.ExportDescribe)
	}
	return f.CallWithStack(ctx, nil)
}

// end ends the use of the instance: it is readied for the next attempt, or closed. The caller must not look at the
// instance afterwards.
func (i *instance) end() {
	reusable := i.clean && i.image != nil && !i.single && i.mem.Reserved() > 0 && !i.mod.IsClosed()
	i.guest, i.clean = nil, false
	if reusable {
		if kept, err := i.image.restore(i); err == nil {
			i.mem.Keep(kept)
			i.pool.shelf.put(i)
			return
		}
	}
	i.close()
	i.pool.shelf.unuse(i.image)
}

// close frees everything but the image.
func (i *instance) close() {
	if i.mod != nil {
		_ = ignoreExit(i.mod.Close(context.Background())) // nothing is lost
	}
	i.mem.Free()
}

// ignoreExit drops the error of closing an instance that a guest has closed itself by ending its process.
func ignoreExit(err error) error {
	var exit *sys.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// close frees what waits. No attempt of the module runs.
func (p *pool) close() { p.shelf.clear(p) }
