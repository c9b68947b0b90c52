package runtime

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/taskrt/taskrt/runtime/memory"
	"github.com/taskrt/taskrt/runtime/meter"
)

// errOutOfFuel unwinds a guest that has used up its limit.
var errOutOfFuel = errors.New("out of fuel")

// Slices of fuel: a guest computes for about sliceTime between two looks of the host. Shorter slices would cost more.
// Longer slices would hold up the garbage collector, which waits for guests as for everything else, and the end of a
// guest that is to be killed.
const (
	sliceTime  = time.Millisecond
	firstSlice = 100_000
	leastSlice = 10_000
	mostSlice  = 4_000_000
	touchSlice = 4_000 // while much of the guest's memory may be untouched: some thousand pages at most
)

// gauge is the host's side of a guest's fuel counter (package meter). It belongs to the goroutine that runs the guest.
type gauge struct {
	counter api.MutableGlobal // in the guest; nil before there is an instance
	limit   int64             // units; 0: none
	given   int64             // since start: what was used and what is left in counter
	slice   int64
	last    time.Time // when the guest went on after its last tick
}

// start begins to count anew: the counter is empty, so the guest's first piece of code ticks.
func (f *gauge) start(limit int64) {
	f.limit, f.given, f.last = limit, 0, time.Time{}
	f.slice = max(f.slice, firstSlice)
	if f.counter != nil {
		f.counter.Set(0)
	}
}

// used is how many units the guest has used since start. A guest that ended as out of fuel has used exactly its
// limit: the piece that was too much did not run.
func (f *gauge) used() int64 {
	if f.counter == nil {
		return 0
	}
	used := f.given - int64(f.counter.Get())
	if f.limit > 0 {
		used = min(used, f.limit)
	}
	return used
}

// tick is called by the guest with what is left, which is below 0. It returns what the guest may use until the next
// tick, or unwinds the guest. Where the limit ends does not depend on how the slices were cut.
func (g *guest) tick(left int64) int64 {
	f := &g.fuel
	if f.counter != nil {
		f.counter.Set(uint64(left)) // for used, should the guest end here
	}
	g.alive()
	used := f.given - left
	if f.limit > 0 && used > f.limit {
		panic(errOutOfFuel)
	}
	g.busy()
	m := g.follows
	short := m != nil && m.Untouched()
	switch {
	case f.last.IsZero():
		f.last = time.Now() // the first slice, which is all that most attempts need
	case short && m.Later():
	default:
		g.arm()
		paused := time.Now()
		goruntime.Gosched() // or a guest on every CPU would keep everything else waiting (docs/architecture.md#gosched-in-tick)
		now := time.Now()
		g.waited += now.Sub(paused)
		g.alive()
		if short {
			m.Touch()
		} else {
			f.adapt(now.Sub(f.last))
		}
		f.last = now
		g.chargeStack()
	}
	next := f.slice
	if g.stack.charged > 0 {
		next = min(next, deepSlice)
	}
	if short {
		next = min(next, touchSlice)
	}
	if f.limit > 0 {
		next = min(next, f.limit-used)
	}
	f.given = used + next
	return next
}

// follow begins to follow what the guest touches of its memory.
func (g *guest) follow(m *memory.Memory) {
	g.follows = m
	m.Follow()
}

// adapt brings the next slice nearer to sliceTime: upwards by steps, because code that was cheap may become dear;
// downwards at once.
func (f *gauge) adapt(took time.Duration) {
	switch {
	case took < sliceTime/2:
		f.slice = min(2*f.slice, mostSlice)
	case took > 2*sliceTime:
		f.slice = max(int64(float64(f.slice)*float64(sliceTime)/float64(took)), leastSlice)
	}
}

// outOfFuel is the outcome of a guest that has used up its limit.
func (g *guest) outOfFuel() Outcome {
	return Outcome{
		Kind: Failed, Class: ClassExhausted, Code: CodeOutOfFuel, Details: g.trapDetails(nil),
		Message: fmt.Sprintf("over the limit of %d units of fuel", g.fuel.limit),
	}
}

// instantiateMeter puts the host's side of metering into a wazero runtime.
func instantiateMeter(ctx context.Context, rt wazero.Runtime) error {
	_, err := rt.NewHostModuleBuilder(meter.Import).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(func(ctx context.Context, stack []uint64) {
			stack[0] = uint64(guestOf(ctx).tick(int64(stack[0])))
		}), valueTypes("I"), valueTypes("I")).
		WithName(meter.Tick).WithParameterNames("left").
		Export(meter.Tick).
		Instantiate(ctx)
	if err != nil {
		return fmt.Errorf("runtime: host module %s: %w", meter.Import, err)
	}
	return nil
}
