package runtime

import (
	"context"
	"io"
	"math/rand/v2"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"
)

// sandbox is everything that the guests in an instance get through WASI: no files, clocks and
// randomness of the host's choice (SPEC B6), no environment and no arguments but a command's. It serves whoever is the guest when it is called.
func (i *instance) sandbox() wazero.ModuleConfig {
	return wazero.NewModuleConfig().
		WithName("").
		WithStartFunctions().
		WithStdin(guestReader(func() io.Reader { return i.guest.standardInput() })).
		WithStdout(guestWriter(func() io.Writer { return i.guest.heard().standardOutput() })).
		WithStderr(guestWriter(func() io.Writer { return &i.guest.heard().stderr })).
		WithWalltime(func() (int64, int32) { return i.guest.walltime() }, sys.ClockResolution(time.Microsecond)).
		WithNanotime(func() int64 { return i.guest.nanotime() }, 1).
		WithNanosleep(func(ns int64) { i.guest.sleep(ns) }).
		WithRandSource(guestReader(func() io.Reader { return i.guest }))
}

type guestWriter func() io.Writer

func (w guestWriter) Write(p []byte) (int, error) { return w().Write(p) }

type guestReader func() io.Reader

func (r guestReader) Read(p []byte) (int, error) { return r().Read(p) }

// heard notes that the host hears something of the guest.
func (g *guest) heard() *guest {
	g.touched = g.touched || g.phase == phaseInit
	return g
}

// initEpoch is the wall clock while a guest is initialised.
var initEpoch = time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC)

// initTick is by how much clocks advance with every look at them while a guest is initialised: one that waits for a time to
// come must not wait for ever.
const initTick = time.Microsecond

func (g *guest) walltime() (sec int64, nsec int32) {
	now := g.clock()
	if g.phase == phaseInit {
		g.initClock += initTick
		now = initEpoch.Add(g.initClock)
	}
	return now.Unix(), int32(now.Nanosecond())
}

// nanotime begins at 1 ns: a guest may take 0 for "not set".
func (g *guest) nanotime() int64 {
	if g.phase == phaseInit {
		g.initClock += initTick
		return int64(g.initClock) + 1
	}
	return int64(g.initClock+g.elapsed()) + 1
}

// initialise begins phaseInit: what the guest sees in it depends on its module alone, so that its image does.
func (g *guest) initialise(seed [32]byte) {
	g.phase, g.initClock, g.initRand = phaseInit, 0, rand.NewChaCha8(seed)
}

// keepsNothing are the functions of WASI that leave no trace in the host's side of an instance. All others may: they close,
// renumber or change file descriptors. Flags of descriptors are not kept: standard streams have none (Go's package os sets them
// in every guest).
var keepsNothing = map[string]bool{
	"args_get": true, "args_sizes_get": true, "environ_get": true, "environ_sizes_get": true, "clock_res_get": true,
	"clock_time_get": true, "fd_fdstat_get": true, "fd_fdstat_set_flags": true, "fd_filestat_get": true, "fd_prestat_dir_name": true,
	"fd_prestat_get": true, "fd_read": true, "fd_write": true, "poll_oneoff": true, "proc_exit": true, "random_get": true,
	"sched_yield": true,
}

// noticeTouches has the functions of a host module mark guests that call one which may leave a trace.
func noticeTouches(ctx context.Context) context.Context {
	return experimental.WithFunctionListenerFactory(ctx, touches{})
}

type touches struct{}

func (touches) NewFunctionListener(def api.FunctionDefinition) experimental.FunctionListener {
	if keepsNothing[def.Name()] {
		return nil
	}
	return experimental.FunctionListenerFunc(
		func(ctx context.Context, _ api.Module, _ api.FunctionDefinition, _ []uint64, _ experimental.StackIterator) {
			guestOf(ctx).touched = true
		})
}
