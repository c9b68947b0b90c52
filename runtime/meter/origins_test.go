package meter

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// codeOf is the content of a module's code section.
func codeOf(t testing.TB, wasm []byte) []byte {
	t.Helper()
	m, err := wasmbin.Parse(wasm)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range m.Sections {
		if s.ID == wasmbin.SectionCode {
			return wasm[s.Start:s.End]
		}
	}
	return nil
}

// TestOrigins: what was copied is the same byte, in every function of generated modules, and origins never go back.
func TestOrigins(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		wasm := generate(seed, 5, false).build()
		m, err := Rewrite(wasm)
		if err != nil {
			t.Fatal(err)
		}
		o, err := FindOrigins(wasm)
		if err != nil {
			t.Fatal(err)
		}
		plain, metered := codeOf(t, wasm), codeOf(t, m.Wasm)
		copied, last := 0, uint32(0)
		for i, s := range o.spans {
			end := uint32(len(metered))
			if i+1 < len(o.spans) {
				end = o.spans[i+1].at
			}
			if end < s.at || o.Of(s.at) < last {
				t.Fatalf("seed %d: span %d begins at %d, from %d after %d, ends at %d", seed, i, s.at, s.from, last, end)
			}
			last = o.Of(s.at)
			if i+1 == len(o.spans) || s.from+end-s.at != o.spans[i+1].from {
				continue // behind it the next function begins, or an instruction that was replaced
			}
			n := end - s.at
			for k := range n {
				if s.copied && metered[s.at+k] != plain[o.Of(s.at+k)] {
					t.Fatalf("seed %d: byte %d of span %d differs", seed, k, i)
				}
				copied++
			}
		}
		if copied < len(plain)/2 {
			t.Errorf("seed %d: %d of %d bytes are found again", seed, copied, len(plain))
		}
	}
}

// TestTrapsNameTheirPlace: a trap in metered code, deep in loops and calls, is told as its place in the guest's own code.
func TestTrapsNameTheirPlace(t *testing.T) {
	t.Parallel()
	loop := bin(opI32Const, 3, opLocalSet, 0, opLoop, emptyBlock, opLocalGet, 0, opI32Const, 1, opI32Sub, opLocalTee, 0, opBrIf, 0, opEnd)
	trapsAt(t, false, loop)
	// Exceptions are lowered first: what a trap names has been moved twice.
	trapsAt(t, true, join(loop, bin(opBlock, emptyBlock, opTryTable, emptyBlock, 1, catchEverything, 0, opThrow, 0, opEnd, opEnd), loop))
}

// trapsAt looks at a trap whose two frames have some code around it.
func trapsAt(t *testing.T, tagged bool, around []byte) {
	t.Helper()
	a := &asm{memories: [][]byte{bin(0, 1)}}
	a.custom = []custom{{".debug_info", nil, 11}, {".debug_line", nil, 11}}
	if tagged {
		a.tag()
	}
	inner := a.function([]byte{i32}, nil, nil, join(around, bin(opI32Const, 0x7f, 0x28, 2, 0, opDrop), around)...) // a load out of bounds
	a.export("run", 0, a.function([]byte{i32}, nil, nil, join(around, bin(opI32Const, 9, opCall, inner), around)...))
	wasm := a.build()
	m, err := Rewrite(wasm)
	if err != nil || !m.Debug {
		t.Fatal(m, err)
	}
	o, err := FindOrigins(wasm)
	if err != nil {
		t.Fatal(err)
	}
	rt := metering(t, features)
	k := &ticker{slice: 1e9}
	instance, err := rt.InstantiateWithConfig(k.context(), m.Wasm, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	_, err = instance.ExportedFunction("run").Call(k.context(), 3)
	var places []byte
	for _, found := range regexp.MustCompile(`0x([0-9a-f]+): w:1`).FindAllStringSubmatch(errorText(err), -1) {
		offset, err := strconv.ParseUint(found[1], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, codeOf(t, wasm)[o.Of(uint32(offset))])
	}
	if tagged { // between the host and the guest's function is one that was added
		places = places[:min(len(places), 2)]
	}
	if string(places) != string([]byte{0x28, opCall}) {
		t.Errorf("the places have opcodes %x, want those of load and call: %v", places, err)
	}
	if err := instance.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func errorText(err error) string {
	if err == nil {
		err = errors.New("no error")
	}
	return err.Error()
}
