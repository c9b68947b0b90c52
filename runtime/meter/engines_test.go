package meter

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/tetratelabs/wazero"
)

// TestEnginesAgree: what wazero's compiler makes of generated modules, tail calls included, does what its interpreter
// does, which shares nothing with it but the validation. What a node executes is the compiler's.
func TestEnginesAgree(t *testing.T) {
	t.Parallel()
	tails := 0
	for seed := range uint64(400) {
		g := generate(seed, 77, false)
		wasm := g.build()
		if bytes.Contains(wasm, []byte{opReturnCall}) {
			tails++
		}
		what := fmt.Sprintf("seed %d", seed)
		compiler := newLane(t, what, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(features), wasm, 1e9)
		interpreter := newLane(t, what, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features), wasm, 1e9)
		for round := range 2 * len(g.sigs) {
			name, args := g.round(round)
			compiled, interpreted := compiler.outcome(name, args, 0, g.steps), interpreter.outcome(name, args, 0, g.steps)
			if compiled != interpreted {
				t.Fatalf("seed %d: call %d of %s%x: compiled gives\n%s\ninterpreted gives\n%s", seed, round, name, args, compiled, interpreted)
			}
		}
	}
	if tails < 100 {
		t.Errorf("only %d modules have tail calls", tails)
	}
}
