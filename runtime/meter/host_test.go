package meter

import (
	"context"
	"errors"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// ticker is the host's side of metering: it gives the guest slice units at a time.
type ticker struct {
	slice int64
	limit int   // of calls; 0: none
	calls int   // of tick
	armed int64 // what the counter was set to last
	used  int64 // before that
}

var errStopped = errors.New("stopped by tick")

type tickerKey struct{}

// context returns a context under which guests are served by k.
func (k *ticker) context() context.Context {
	return context.WithValue(context.Background(), tickerKey{}, k)
}

// tick is the imported function.
func tick(ctx context.Context, stack []uint64) {
	k := ctx.Value(tickerKey{}).(*ticker)
	k.used += k.armed - int64(stack[0])
	k.armed = k.slice
	k.calls++
	if k.limit > 0 && k.calls > k.limit {
		k.armed = int64(stack[0]) // the counter stays as it is
		panic(errStopped)
	}
	stack[0] = uint64(k.armed)
}

// total returns what a module has used since it was instantiated.
func (k *ticker) total(m api.Module) int64 {
	return k.used + k.armed - int64(m.ExportedGlobal(Fuel).Get())
}

// metering makes a runtime with the module that metered guests import from.
func metering(t testing.TB, features api.CoreFeatures) wazero.Runtime {
	t.Helper()
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(features))
	t.Cleanup(func() { rt.Close(ctx) })
	importTick(t, rt)
	return rt
}

func importTick(t testing.TB, rt wazero.Runtime) {
	t.Helper()
	i64 := []api.ValueType{api.ValueTypeI64}
	_, err := rt.NewHostModuleBuilder(Import).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(tick), i64, i64).Export(Tick).Instantiate(context.Background())
	if err != nil {
		t.Fatal(err)
	}
}
