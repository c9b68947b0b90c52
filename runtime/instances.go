package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/meter"
)

// instances gives every attempt an instance whose memory nobody has used (SPEC B4). How it comes by one is its own
// affair: anew each time, or reset from an image.
type instances interface {
	// get returns an instance that is initialised and working for g. ctx ends the guest, also while it initialises.
	// After an error nothing is left of it, except mem, which is always the caller's to free.
	get(ctx context.Context, g *guest, mem *linearMemory) (instance, error)
}

// instance is one wasm instance, used for one attempt.
type instance interface {
	run(ctx context.Context, behavior int32) (abi.Outcome, error)
	describe(ctx context.Context) error
	// done ends the use of the instance.
	done(ctx context.Context)
}

// freshInstances makes a new instance per attempt.
type freshInstances struct {
	rt       wazero.Runtime
	compiled wazero.CompiledModule
}

var _ instances = (*freshInstances)(nil)

func (f *freshInstances) get(ctx context.Context, g *guest, mem *linearMemory) (instance, error) {
	g.phase = phaseInit
	mod, err := f.rt.InstantiateModule(experimental.WithMemoryAllocator(ctx, mem), f.compiled, sandbox(g))
	if err != nil {
		return nil, err
	}
	g.fuel.counter = mod.ExportedGlobal(meter.Fuel).(api.MutableGlobal)
	if init := mod.ExportedFunction(abi.ExportInitialize); init != nil {
		if err := init.CallWithStack(ctx, nil); err != nil {
			return nil, errors.Join(err, ignoreExit(mod.Close(ctx)))
		}
	}
	return &freshInstance{mod: mod}, nil
}

// sandbox is everything a guest gets through WASI: no files, no environment, no arguments, clocks and randomness of the
// host's choice (SPEC B6).
func sandbox(g *guest) wazero.ModuleConfig {
	wall := func() (int64, int32) {
		now := g.clock()
		return now.Unix(), int32(now.Nanosecond())
	}
	// Monotonic time begins at 1 ns: a guest may take 0 for "not set".
	mono := func() int64 { return int64(g.elapsed()) + 1 }
	return wazero.NewModuleConfig().
		WithName("").
		WithStartFunctions().
		WithStdout(g.stdout).
		WithStderr(g.stderr).
		WithWalltime(wall, sys.ClockResolution(time.Microsecond)).
		WithNanotime(mono, 1).
		WithNanosleep(g.sleep).
		WithRandSource(g)
}

type freshInstance struct{ mod api.Module }

func (i *freshInstance) run(ctx context.Context, behavior int32) (abi.Outcome, error) {
	stack := [1]uint64{api.EncodeI32(behavior)}
	if err := i.mod.ExportedFunction(abi.ExportRun).CallWithStack(ctx, stack[:]); err != nil {
		return 0, err
	}
	return abi.Outcome(api.DecodeI32(stack[0])), nil
}

func (i *freshInstance) describe(ctx context.Context) error {
	f := i.mod.ExportedFunction(abi.ExportDescribe)
	if f == nil {
		return fmt.Errorf("runtime: no %s", abi.ExportDescribe)
	}
	return f.CallWithStack(ctx, nil)
}

func (i *freshInstance) done(ctx context.Context) { _ = ignoreExit(i.mod.Close(ctx)) }

// ignoreExit drops the error of closing what a guest has closed itself by ending its process.
func ignoreExit(err error) error {
	var exit *sys.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}
