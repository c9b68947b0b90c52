package runtime

import (
	"bytes"
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/meter"
)

// hostFunction is one function of import module taskrt_v1. params and results are written i for i32, I for i64.
type hostFunction struct {
	name            string
	params, results string
	names           []string // of the params, for stack traces
	call            func(g *guest, mem api.Memory, stack []uint64)
}

// hostFunctions is the whole of abi.Module (abi/README.md).
var hostFunctions = []hostFunction{
	{abi.FuncLen, "i", "i", []string{"ch"}, lenOf((*guest).input)},
	{abi.FuncRead, "iiii", "i", []string{"ch", "ptr", "off", "n"}, readOf((*guest).input)},
	{abi.FuncWrite, "iii", "i", []string{"ch", "ptr", "n"}, hostWrite},
	{abi.FuncLog, "iii", "", []string{"level", "ptr", "n"}, hostLog},
	{abi.FuncBeat, "II", "i", []string{"done", "total"}, hostBeat},
	{abi.FuncSignals, "", "i", nil, hostSignals},
	{abi.FuncClock, "i", "I", []string{"id"}, hostClock},
	{abi.FuncCall, "iii", "i", []string{"op", "ptr", "n"}, hostCall},
}

// instantiateHost puts a module of the host into a wazero runtime.
func instantiateHost(ctx context.Context, rt wazero.Runtime, module string, functions []hostFunction) error {
	return instantiated(ctx, hostModule(rt, module, functions), module)
}

// hostModule begins a module of host functions.
func hostModule(rt wazero.Runtime, module string, functions []hostFunction) wazero.HostModuleBuilder {
	b := rt.NewHostModuleBuilder(module)
	for _, f := range functions {
		call := f.call
		b.NewFunctionBuilder().
			WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, mod api.Module, stack []uint64) {
				call(called(ctx, mod), mod.Memory(), stack)
			}), valueTypes(f.params), valueTypes(f.results)).
			WithName(f.name).WithParameterNames(f.names...).
			Export(f.name)
	}
	return b
}

func instantiated(ctx context.Context, b wazero.HostModuleBuilder, module string) error {
	if _, err := b.Instantiate(ctx); err != nil {
		return fmt.Errorf("runtime: host module %s: %w", module, err)
	}
	return nil
}

// called returns the guest that calls a host function, if it may go on.
func called(ctx context.Context, mod api.Module) *guest {
	g := guestOf(ctx)
	g.alive()
	if g.fuel.counter == nil { // by a start section: there is no instance yet
		g.fuel.counter = mod.ExportedGlobal(meter.Fuel).(api.MutableGlobal)
	}
	return g
}

func valueTypes(s string) []api.ValueType {
	ts := make([]api.ValueType, len(s))
	for i := range s {
		ts[i] = api.ValueTypeI32
		if s[i] == 'I' {
			ts[i] = api.ValueTypeI64
		}
	}
	return ts
}

// view returns guest memory [ptr, ptr+n), or ends the guest. The view must not outlive the host call.
func view(mem api.Memory, fn string, ptr, n uint32) []byte {
	b, ok := mem.Read(ptr, n)
	if !ok {
		panic(&PointerError{Func: fn, Ptr: ptr, Len: n, MemorySize: mem.Size()})
	}
	return b
}

// given is view for what the guest gives the host; the guest pays for it.
func (g *guest) given(mem api.Memory, fn string, ptr, n uint32) []byte {
	b := view(mem, fn, ptr, n)
	g.Charge(len(b))
	return b
}

func status(e abi.Errno) uint64 { return uint64(uint32(e)) }

// lenOf returns the function len of an input that of finds by the first argument.
func lenOf(of func(g *guest, number int32) (content, abi.Errno)) func(*guest, api.Memory, []uint64) {
	return func(g *guest, _ api.Memory, stack []uint64) {
		c, errno := of(g, int32(stack[0]))
		if errno == 0 {
			errno = c.len()
		}
		stack[0] = status(errno)
	}
}

// readOf returns the function read of such an input.
func readOf(of func(g *guest, number int32) (content, abi.Errno)) func(*guest, api.Memory, []uint64) {
	return func(g *guest, mem api.Memory, stack []uint64) {
		to := view(mem, abi.FuncRead, uint32(stack[1]), uint32(stack[3]))
		c, errno := of(g, int32(stack[0]))
		if errno == 0 {
			errno = c.read(to, uint32(stack[2]))
			g.Charge(max(0, int(errno)))
		}
		stack[0] = status(errno)
	}
}

func hostWrite(g *guest, mem api.Memory, stack []uint64) {
	ch := abi.Channel(int32(stack[0]))
	from := g.given(mem, abi.FuncWrite, uint32(stack[1]), uint32(stack[2]))
	n := abi.Errno(len(from))
	if errno := g.output(ch, from); errno != 0 {
		n = errno
	}
	stack[0] = status(n)
}

func hostLog(g *guest, mem api.Memory, stack []uint64) {
	msg := g.given(mem, abi.FuncLog, uint32(stack[1]), uint32(stack[2]))
	level := min(max(int(int32(stack[0])), abi.LogTrace), abi.LogError)
	g.heard()
	g.arm()
	g.log.write(level, msg)
}

func hostBeat(g *guest, _ api.Memory, stack []uint64) {
	done, total := int64(stack[0]), int64(stack[1])
	switch {
	case g.phase != phaseRun:
		stack[0] = status(abi.EDENIED)
	case done < 0 || total < 0:
		stack[0] = status(abi.EINVAL)
	default:
		g.arm()
		g.beaten()
		stack[0] = uint64(uint32(g.signals(g.host.Beat(done, total, g.note))))
	}
}

func hostSignals(g *guest, _ api.Memory, stack []uint64) {
	if g.phase != phaseRun {
		stack[0] = 0
		return
	}
	stack[0] = uint64(uint32(g.signals(g.host.Signals())))
}

func hostClock(g *guest, _ api.Memory, stack []uint64) {
	var v int64
	switch id := int32(stack[0]); {
	case id < abi.ClockWall || id > abi.ClockMonotonic:
		v = int64(abi.ENOSYS)
	case g.phase != phaseRun:
		v = int64(abi.EDENIED)
	case id == abi.ClockWall:
		v = g.clock().UnixMilli()
	case id == abi.ClockDeadline:
		v = g.left().Milliseconds()
	default:
		v = int64(g.elapsed())
	}
	stack[0] = uint64(v)
}

func hostCall(g *guest, mem api.Memory, stack []uint64) {
	payload := g.given(mem, abi.FuncCall, uint32(stack[1]), uint32(stack[2]))
	op := abi.Op(int32(stack[0]))
	switch most := g.maxPayload(op); {
	case most == 0:
		g.response = nil
		stack[0] = status(abi.ENOSYS)
	case g.phase != phaseRun:
		stack[0] = status(abi.EDENIED)
	default:
		if int64(len(payload)) <= most {
			payload = bytes.Clone(payload)
		} // else it is refused: no need to copy
		stack[0] = status(g.call(op, payload))
	}
}
