package runtime

import (
	"context"
	"io"
	"math/rand/v2"
	goruntime "runtime"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"

	"github.com/taskrt/taskrt/runtime/wasi"
	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// guest is the program behind WASI (package wasi). It has no files, it has clocks and randomness of the host's choice
// (SPEC B6), and only a command has an environment and arguments.
var _ wasi.Process = (*guest)(nil)

// Files implements wasi.Process.
func (g *guest) Files() *wasi.Files { return &g.files }

// Stdin is empty, unless the guest is a command.
func (g *guest) Stdin() wasi.Input {
	if g.command == nil {
		return &contentReader{}
	}
	return &g.command.stdin
}

// Output makes standard output the result of a command; the standard output of all others is logged. Standard error
// is always logged.
func (g *guest) Output(to wasi.Stream, p []byte) {
	g.heard()
	switch {
	case to == wasi.Stderr:
		g.stderr.write(p)
	case g.command == nil:
		g.stdout.write(p)
	case appendWithin(&g.result, p, g.attempt.ResultBytes, &g.hasResult) != 0:
		panic(&ResultLimitError{g.attempt.ResultBytes})
	default:
		g.chargeResult()
	}
}

// Args implements wasi.Process.
func (g *guest) Args() []string {
	if g.command == nil {
		return nil
	}
	return g.command.args
}

// Environ implements wasi.Process.
func (g *guest) Environ() []string {
	if g.command == nil {
		return nil
	}
	return g.command.environ
}

// heard notes that the host hears something of the guest. A guest that is heard while it is initialised gets no
// image: an image would not say it again.
func (g *guest) heard() { g.spoke = g.spoke || g.phase == phaseInit }

// initEpoch is the wall clock while a guest is initialised.
var initEpoch = time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC)

// initTick is by how much clocks advance with every look at them while a guest is initialised: a guest that waits for
// a time to come must not wait for ever.
const initTick = time.Microsecond

// Walltime implements wasi.Process.
func (g *guest) Walltime() int64 {
	if g.phase == phaseInit {
		g.initClock += initTick
		return initEpoch.Add(g.initClock).UnixNano()
	}
	return g.clock().UnixNano()
}

// Monotonic begins at 1 ns: a guest may take 0 for "not set".
func (g *guest) Monotonic() int64 {
	if g.phase == phaseInit {
		g.initClock += initTick
		return int64(g.initClock) + 1
	}
	return int64(g.initClock+g.elapsed()) + 1
}

// initialise begins phaseInit. What the guest sees in this phase depends on its module alone, so its image does, too.
func (g *guest) initialise(seed [32]byte) {
	g.phase, g.initClock, g.initRand = phaseInit, 0, rand.NewChaCha8(seed)
	g.fuel.start(g.fuel.limit) // of a trial; an attempt's begins when it does
}

// Wait is the guest's sleep. It ends with the attempt, and passes at once while the guest is initialised.
func (g *guest) Wait(d time.Duration) time.Duration {
	g.alive()
	if d <= 0 {
		return 0
	}
	if g.phase == phaseInit {
		g.initClock += min(d, time.Hour)
		return d
	}
	g.arm()
	begun := time.Now()
	defer func() { g.waited += time.Since(begun) }()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return time.Since(begun)
	case <-g.ctx.Done():
		panic(errKilled)
	}
}

// Random implements wasi.Process.
func (g *guest) Random(p []byte) error {
	source := g.rand
	if g.phase == phaseInit {
		source = g.initRand
	}
	_, err := io.ReadFull(source, p)
	return err
}

// Yield implements wasi.Process.
func (g *guest) Yield() {
	begun := time.Now()
	goruntime.Gosched()
	g.waited += time.Since(begun)
	g.alive()
}

// movedPerUnit is how many bytes that the host moves for a guest cost a unit of fuel: as many as the guest's own bulk
// operations move for a unit (package meter).
const movedPerUnit = 16

// Charge has the guest pay for n bytes, as a check within its own code does.
func (g *guest) Charge(n int) {
	f := &g.fuel
	left := int64(f.counter.Get()) - (int64(n)+movedPerUnit-1)/movedPerUnit
	if g.alive(); left < 0 {
		left = g.tick(left)
	}
	f.counter.Set(uint64(left))
}

// wasiFunctions is all of WASI except what ends a guest.
var wasiFunctions = func() []hostFunction {
	list := make([]hostFunction, len(wasi.Functions))
	for i := range wasi.Functions {
		f := &wasi.Functions[i]
		list[i] = hostFunction{f.Name, f.Params, "i", f.Names, func(g *guest, mem api.Memory, stack []uint64) { f.Call(g, mem, stack) }}
	}
	return list
}()

// instantiateWASI puts WASI into a wazero runtime.
func instantiateWASI(ctx context.Context, rt wazero.Runtime) error {
	b := hostModule(rt, wasi.Module, wasiFunctions)
	// An exit unwinds the guest. It does not close the instance: its image will be restored.
	b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, stack []uint64) {
		panic(sys.NewExitError(uint32(stack[0])))
	}), valueTypes("i"), nil).WithName(procExit).WithParameterNames("rval").Export(procExit)
	return instantiated(ctx, b, wasi.Module)
}

const procExit = "proc_exit"

func wasiSignatures() map[string]wasmbin.FuncType {
	sigs := hostSignatures(wasiFunctions)
	sigs[procExit] = signature("i", "")
	return sigs
}
