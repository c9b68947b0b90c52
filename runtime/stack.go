package runtime

import (
	"errors"
	"reflect"
	"unsafe"

	"github.com/tetratelabs/wazero/api"

	"github.com/taskrt/taskrt/runtime/memory"
)

// A guest's calls are on a stack of wazero's. As calls get deeper the stack is replaced by one of twice the size, up
// to 100 MB, and the former one is garbage. So the stack is charged to the guests' memory when the guest ticks, and
// while it is large, ticks come often.
const (
	freeStack = 256 << 10 // bytes that are not charged; likewise of a result
	deepSlice = 250_000   // most units of fuel between two ticks of a guest whose stack is charged
)

// errStackOverBudget unwinds a guest whose stack does not fit into the guests' memory.
var errStackOverBudget = errors.New("no memory for the call stack")

// errResultOverBudget unwinds a guest whose result does not fit.
var errResultOverBudget = errors.New("no memory for the result")

// callStackOf is the call stack of a guest, and what is charged for it.
type callStackOf struct {
	bytes   *[]byte        // nil: unknown
	mem     *memory.Memory // through which it is charged
	charged int64
}

// enterStack notes that f is called next, and that what it needs is charged through m.
func (g *guest) enterStack(f api.Function, m *memory.Memory) {
	if g.memory != nil {
		g.stack.bytes, g.stack.mem = stackField(f), m
	}
}

// chargeStack charges for the stack as it is now, and for the one before it, which was half as large and is garbage.
func (g *guest) chargeStack() {
	if s := &g.stack; s.bytes != nil {
		n := int64(len(*s.bytes))
		g.besides(n+n/2, &s.charged, errStackOverBudget)
	}
}

// chargeResult charges for what the guest has written of its result; the host keeps the result until the attempt has
// ended.
func (g *guest) chargeResult() {
	if g.stack.mem != nil {
		g.besides(int64(cap(g.result)), &g.kept, errResultOverBudget)
	}
}

// besides charges for n bytes that are not the guest's memory, as far as they exceed what is charged for them
// already. A guest that has no room is unwound by err.
func (g *guest) besides(n int64, charged *int64, err error) {
	if n <= freeStack || n <= *charged {
		return
	}
	if !g.stack.mem.More(n - *charged) {
		panic(err)
	}
	*charged = n
}

// leaveStack gives back what was charged.
func (g *guest) leaveStack() {
	if g.kept > 0 {
		g.memory.Give(g.kept)
		g.kept = 0
	}
	if g.stack.charged > 0 {
		g.memory.Give(g.stack.charged)
		g.stack.charged = 0
	}
}

// callStack is the size of a function's call stack in bytes; 0: unknown. The stack grows as a guest recurses and
// never shrinks.
func callStack(f api.Function) int {
	if s := stackField(f); s != nil {
		return len(*s)
	}
	return 0
}

// stackField is where wazero keeps a function's call stack; nil: it is not where it was.
func stackField(f api.Function) *[]byte {
	v := reflect.ValueOf(f)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil
	}
	stack := v.Elem().FieldByName("stack")
	if !stack.IsValid() || stack.Type() != reflect.TypeFor[[]byte]() {
		return nil
	}
	return (*[]byte)(unsafe.Pointer(stack.UnsafeAddr()))
}
