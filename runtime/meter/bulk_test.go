package meter

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// filler exports fill and copy: (i32 i32 i32) -> (), one instruction each.
func filler() *asm {
	a := &asm{memories: [][]byte{bin(1, 16, 16)}}
	three := []byte{i32, i32, i32}
	a.export("fill", 0, a.function(three, nil, nil, bin(opLocalGet, 0, opLocalGet, 1, opLocalGet, 2, opMisc, miscMemoryFill, 0)...))
	a.export("copy", 0, a.function(three, nil, nil, bin(opLocalGet, 0, opLocalGet, 1, opLocalGet, 2, opMisc, miscMemoryCopy, 0, 0)...))
	a.export("memory", 2, 0)
	return a
}

// TestLongFillsAndCopies compares fills and copies that are cut into pieces with those that are not: every byte of memory
// afterwards, and the trap, before which nothing may be written. Fuel is what the length costs, also in pieces.
func TestLongFillsAndCopies(t *testing.T) {
	t.Parallel()
	k := &ticker{slice: 1}
	_, cut := instantiate(t, filler().build(), k)
	whole, err := metering(t, features).InstantiateWithConfig(context.Background(), filler().build(), wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	const size, piece = 16 * wasmPage, bulkPiece
	pattern := make([]byte, size)
	for i := range pattern {
		pattern[i] = byte(i ^ i>>8 ^ i>>16)
	}
	starts := []uint32{0, 1, piece - 1, piece + 1, size - piece, size - 1, size, size + 1, 1 << 31, 0xffffffff}
	lengths := []uint32{0, 1, piece - 1, piece, piece + 1, 2 * piece, 2*piece + 17, size - piece, size - 1, size, size + 1, 1 << 31, 0xffffffff, 0xffffffff - piece}
	trapped, ran := 0, 0
	do := func(m api.Module, name string, args ...uint64) ([]byte, string) {
		m.Memory().Write(0, pattern)
		_, err := m.ExportedFunction(name).Call(k.context(), args...)
		after, _ := m.Memory().Read(0, size)
		if err != nil {
			return after, err.Error()[:40]
		}
		return after, ""
	}
	check := func(name string, to, from, n uint32) {
		args := []uint64{uint64(to), uint64(from), uint64(n)}
		want, wantErr := do(whole, name, args...)
		k.used, k.calls = 0, 0
		cut.ExportedGlobal(Fuel).(api.MutableGlobal).Set(0)
		k.armed = 0
		got, gotErr := do(cut, name, args...)
		if gotErr != wantErr || !bytes.Equal(got, want) {
			t.Fatalf("%s %#x %#x %#x: %q, want %q; equal bytes: %v", name, to, from, n, gotErr, wantErr, bytes.Equal(got, want))
		}
		if wantErr != "" {
			trapped++
			return
		}
		ran++
		if used, want := k.total(cut), int64(n/16)+5; used != want {
			t.Fatalf("%s %#x %#x %#x used %d units, want %d", name, to, from, n, used, want)
		}
		if n > piece && k.calls < int((n-1)/piece) {
			t.Fatalf("%s of %d bytes ticked %d times", name, n, k.calls)
		}
	}
	for _, n := range lengths {
		for _, to := range append(slices.Clone(starts), size-n, size-n+1) {
			check("fill", to, 0x5a, n)
			for _, from := range append(slices.Clone(starts), size-n, to-1, to+1, to+piece) {
				check("copy", to, from, n)
			}
		}
	}
	if trapped < 100 || ran < 300 {
		t.Errorf("%d trapped, %d ran", trapped, ran)
	}
}
