package meter_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/taskrt/taskrt/runtime/meter"
)

// loop is (module (func (export "run") (loop (br 0)))).
const loop = "\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x07\x07\x01\x03run\x00\x00\x0a\x09\x01\x07\x00\x03\x40\x0c\x00\x0b\x0b"

// A host gives its guest slices of fuel, and ends it when its budget is spent.
func Example() {
	ctx := context.Background()
	metered, err := meter.Rewrite([]byte(loop))
	if err != nil {
		fmt.Println(err)
		return
	}
	const slice, budget = 1_000_000, 10_000_000
	var armed, used int64 // what the counter was set to last, and what was used before
	errSpent := errors.New("out of fuel")
	tick := func(_ context.Context, stack []uint64) {
		left := int64(stack[0]) // below zero
		used += armed - left
		armed = min(slice, budget-used)
		if armed < 0 { // or cancelled, or too late
			armed = left // which the counter still holds
			panic(errSpent)
		}
		stack[0] = uint64(armed)
	}

	rt := wazero.NewRuntime(ctx)
	defer rt.Close(ctx)
	i64 := []api.ValueType{api.ValueTypeI64}
	_, err = rt.NewHostModuleBuilder(meter.Import).
		NewFunctionBuilder().WithGoFunction(api.GoFunc(tick), i64, i64).Export(meter.Tick).Instantiate(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	guest, err := rt.Instantiate(ctx, metered.Wasm)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = guest.ExportedFunction("run").Call(ctx)
	left := int64(guest.ExportedGlobal(meter.Fuel).Get())
	fmt.Println(errors.Is(err, errSpent), used+armed-left, guest.IsClosed())
	// Output: true 10000001 false
}
