package meter

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
)

// TestExceptionsAreNotReady holds what the refusal of exceptions rests on (RATIONALE.md): in wazero's compiled code a handler sees the locals
// as they were before the try_table. If this fails, that is mended: look at the other reasons again.
func TestExceptionsAreNotReady(t *testing.T) {
	t.Parallel()
	a := &asm{}
	a.function([]byte{i32}, []byte{i32}, nil, bin(
		opI32Const, 1, opLocalSet, 0,
		opBlock, emptyBlock, 0x1f, emptyBlock, 1, 0x02, 0, // try_table (catch_all 0)
		opI32Const, 42, opLocalSet, 0,
		0x08, 0, // throw 0
		opEnd, opEnd,
		opLocalGet, 0)...)
	a.export("run", 0, 0)
	tag := a.signature(nil, nil)
	a.tags = [][]byte{join([]byte{0}, num(tag))}
	if _, err := Rewrite(a.build()); err == nil {
		t.Error("exceptions are not refused")
	}
	results := make([]uint64, 2)
	for i, config := range []wazero.RuntimeConfig{wazero.NewRuntimeConfigCompiler(), wazero.NewRuntimeConfigInterpreter()} {
		ctx := context.Background()
		rt := wazero.NewRuntimeWithConfig(ctx, config.WithCoreFeatures(features|experimental.CoreFeaturesExceptionHandling))
		defer rt.Close(ctx)
		m, err := rt.Instantiate(ctx, a.build())
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.ExportedFunction("run").Call(ctx, 7)
		if err != nil {
			t.Fatal(err)
		}
		results[i] = got[0]
	}
	if results[0] != 1 || results[1] != 42 {
		t.Errorf("compiled %d, interpreted %d: exceptions may be ready now", results[0], results[1])
	}
}
