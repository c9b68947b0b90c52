package meter

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/tetratelabs/wazero"
)

// TestEnginesAgree: what wazero's compiler makes of generated modules, tail calls included, does what its interpreter does, which shares
// nothing with it but the validation. What a node executes is the compiler's.
func TestEnginesAgree(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	tails := 0
	for seed := range uint64(400) {
		g := generate(seed, 77, false)
		wasm := g.build()
		if bytes.Contains(wasm, []byte{opReturnCall}) {
			tails++
		}
		lanes := make([]*lane, 2)
		for i, config := range []wazero.RuntimeConfig{wazero.NewRuntimeConfigCompiler(), wazero.NewRuntimeConfigInterpreter()} {
			rt := wazero.NewRuntimeWithConfig(ctx, config.WithCoreFeatures(features))
			defer rt.Close(ctx)
			importTick(t, rt)
			k := &ticker{slice: 1e9}
			m, err := rt.InstantiateWithConfig(k.context(), wasm, wazero.NewModuleConfig().WithName(""))
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			lanes[i] = &lane{fmt.Sprint(i), k, m}
		}
		for round := range 2 * len(g.sigs) {
			name, args := g.round(round)
			compiled, interpreted := lanes[0].outcome(name, args, 0, g.steps), lanes[1].outcome(name, args, 0, g.steps)
			if compiled != interpreted {
				t.Fatalf("seed %d: call %d of %s%x: compiled gives\n%s\ninterpreted gives\n%s", seed, round, name, args, compiled, interpreted)
			}
		}
	}
	if tails < 100 {
		t.Errorf("only %d modules have tail calls", tails)
	}
}
