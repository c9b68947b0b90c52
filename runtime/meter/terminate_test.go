package meter

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// endless are guests that never return by themselves.
func endless() map[string]*asm {
	page := [][]byte{bin(0, 1)}
	end := func(code ...byte) *asm {
		a := &asm{memories: page, tables: [][]byte{bin(funcref, 1, 4, 4)}}
		a.export("run", 0, a.function(nil, nil, []byte{i32}, code...))
		return a
	}
	mutual := func(op byte) *asm { // without a loop
		a := &asm{}
		a.function([]byte{i32}, nil, nil, bin(opLocalGet, 0, op, 1)...)
		a.function([]byte{i32}, nil, nil, bin(opLocalGet, 0, op, 0)...)
		a.export("run", 0, a.function(nil, nil, nil, bin(opI32Const, 0, op, 0)...))
		return a
	}
	exponential := &asm{} // 2^1000 calls, at a depth of 1000
	exponential.function([]byte{i32}, nil, nil, bin(opLocalGet, 0, 0x45, opIf, emptyBlock, opReturn, opEnd,
		opLocalGet, 0, opI32Const, 1, opI32Sub, opCall, 0, opLocalGet, 0, opI32Const, 1, opI32Sub, opCall, 0)...)
	exponential.export("run", 0, exponential.function(nil, nil, nil, bin(opI32Const, 0xe8, 0x07, opCall, 0)...))
	indirect := &asm{tables: [][]byte{bin(funcref, 0, 1)}}
	indirect.elements = [][]byte{bin(0, opI32Const, 0, opEnd, 1, 0)}
	indirect.export("run", 0, indirect.function(nil, nil, nil, bin(opI32Const, 0, opReturnCallIndirect, 0, 0)...))
	tailOnce := &asm{} // in a loop that nothing branches to
	tailOnce.function(nil, nil, nil, bin(opLoop, emptyBlock, opReturnCall, 0, opEnd)...)
	tailOnce.export("run", 0, tailOnce.function(nil, nil, nil, bin(opCall, 0)...))
	throwing := func(code ...byte) *asm {
		a := &asm{memories: page}
		a.tag()
		a.export("run", 0, a.function(nil, nil, nil, code...))
		return a
	}
	return map[string]*asm{
		"thrown and caught": throwing(bin(opLoop, emptyBlock, opBlock, emptyBlock, opTryTable, emptyBlock, 1, 2, 0, opThrow, 0, opEnd, opEnd, opBr, 0, opEnd)...),
		"caught by a loop":  throwing(bin(opLoop, emptyBlock, opTryTable, emptyBlock, 1, 0, 0, 0, opThrow, 0, opEnd, opEnd)...),
		"in each handler":   throwing(bin(opBlock, emptyBlock, opTryTable, emptyBlock, 1, 2, 0, opCall, 0, opEnd, opEnd, opReturnCall, 0)...),
		"tail in loop":      tailOnce,
		"loop":              end(bin(opLoop, emptyBlock, opBr, 0, opEnd)...),
		"br_table":          end(bin(opLoop, emptyBlock, opBlock, emptyBlock, opLocalGet, 0, opBrTable, 2, 0, 1, 1, opEnd, opBr, 0, opEnd)...),
		"br_if":             end(bin(opLoop, emptyBlock, opI32Const, 1, opBrIf, 0, opEnd)...),
		"nested":            end(bin(opLoop, emptyBlock, opLoop, emptyBlock, opBr, 1, opEnd, opEnd)...),
		"fill":              end(bin(opLoop, emptyBlock, opI32Const, 0, opI32Const, 1, opI32Const, 0x80, 0x80, 0x04, opMisc, miscMemoryFill, 0, opBr, 0, opEnd)...),
		"table.fill":        end(bin(opLoop, emptyBlock, opI32Const, 0, opRefNull, funcref, opI32Const, 4, opMisc, miscTableFill, 0, opBr, 0, opEnd)...),
		"memory.grow":       end(bin(opLoop, emptyBlock, opI32Const, 0, opMemoryGrow, 0, opDrop, opBr, 0, opEnd)...),
		"tail calls":        mutual(opReturnCall),
		"exponential":       exponential,
		"indirect":          indirect,
	}
}

// TestTermination stops guests after a number of ticks, and looks at the units they used: no time.
func TestTermination(t *testing.T) {
	t.Parallel()
	for name, a := range endless() { // order-free: subtests
		t.Run(name, func(t *testing.T) {
			const slice, calls = 100_000, 10
			k := &ticker{slice: slice, limit: calls}
			_, m := instantiate(t, a.build(), k)
			_, err := m.ExportedFunction("run").Call(k.context())
			if !errors.Is(err, errStopped) {
				t.Fatalf("ended with %v", err)
			}
			if m.IsClosed() {
				t.Error("the instance is closed")
			}
			// Each tick comes when the counter is below zero by at most one piece, or one bulk operation of a page.
			used := k.total(m)
			if low, high := int64(slice*calls), int64((slice+wasmPage/16+100)*(calls+1)); used < low || used > high {
				t.Errorf("used %d units, want %d to %d", used, low, high)
			}
		})
	}
}

// TestDeepCalls has a loop around each call to which nothing branches. Such a loop is not checked, so the entry must
// be.
func TestDeepCalls(t *testing.T) {
	t.Parallel()
	const depth = 1000
	a := &asm{}
	a.function([]byte{i32}, nil, nil, bin(opLoop, emptyBlock, opLocalGet, 0, opIf, emptyBlock,
		opLocalGet, 0, opI32Const, 1, opI32Sub, opCall, 0, opEnd, opEnd)...)
	a.export("run", 0, a.function(nil, nil, nil, bin(opI32Const, 0xe8, 0x07, opCall, 0)...))
	k := &ticker{slice: 1}
	_, m := instantiate(t, a.build(), k)
	call(t, m, k, "run")
	if k.calls < depth {
		t.Errorf("%d checks in %d calls", k.calls, depth)
	}
}

// TestOnceIsNoCheck has loops to which nothing branches. They are no checks: their code goes straight on, and checks
// are added to it.
func TestOnceIsNoCheck(t *testing.T) {
	t.Parallel()
	const rounds, each = 60, 10_000
	a := &asm{}
	work := bytes.Repeat(bin(opI32Const, 1, opDrop), each)
	a.export("run", 0, a.function(nil, nil, nil, bytes.Repeat(bin(opLoop, emptyBlock, work, opEnd), rounds)...))
	k := &ticker{slice: 1}
	_, m := instantiate(t, a.build(), k)
	call(t, m, k, "run")
	if least := rounds * each / distance; k.calls < least {
		t.Errorf("%d checks in %d instructions, want %d", k.calls, rounds*each, least)
	}
}

// TestStraightCode looks how often a function without loops is checked that calls others without loops.
func TestStraightCode(t *testing.T) {
	t.Parallel()
	const calls = 50_000
	a := &asm{}
	leaf := a.function(nil, nil, nil, bytes.Repeat(bin(opI32Const, 1, opDrop), unchecked)...)
	a.export("run", 0, a.function(nil, nil, nil, bytes.Repeat(bin(opCall, leaf), calls)...))
	k := &ticker{slice: 1}
	_, m := instantiate(t, a.build(), k)
	call(t, m, k, "run")
	if want := calls * (1 + unchecked) / distance; k.calls < want || k.calls > want+2 {
		t.Errorf("%d ticks, want %d", k.calls, want)
	}
	if used, want := k.total(m), int64(1+calls+calls*(1+unchecked)); used != want {
		t.Errorf("used %d units, want %d", used, want)
	}
}

const wasmPage = 64 << 10

// TestLengths checks what bulk operations and growth cost, apart from the instructions.
func TestLengths(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		code []byte
		want int64 // units, for the length
	}{
		{"memory.fill", bin(opI32Const, 0, opI32Const, 1, opLocalGet, 0, opMisc, miscMemoryFill, 0), 1000 / 16},
		{"memory.copy", bin(opI32Const, 0, opI32Const, 1, opLocalGet, 0, opMisc, miscMemoryCopy, 0, 0), 1000 / 16},
		{"table.fill", bin(opI32Const, 0, opRefNull, funcref, opLocalGet, 0, opMisc, miscTableFill, 0), 1000},
		{"table.copy", bin(opI32Const, 0, opI32Const, 1, opLocalGet, 0, opMisc, miscTableCopy, 0, 0), 1000},
		{"table.grow", bin(opRefNull, funcref, opLocalGet, 0, opMisc, miscTableGrow, 0, opDrop), 1000},
		{"table.grow, refused", bin(opRefNull, funcref, opI32Const, 0x7f, opMisc, miscTableGrow, 0, opDrop), 0},
		{"memory.grow", bin(opI32Const, 2, opMemoryGrow, 0, opDrop), 2 * wasmPage / 16},
		{"memory.grow, refused", bin(opI32Const, 0x7f, opMemoryGrow, 0, opDrop), 0},
	} {
		a := &asm{memories: [][]byte{bin(1, 1, 3)}, tables: [][]byte{bin(funcref, 1, 0xd0, 0x0f, 0xb8, 0x17)}}
		a.export("run", 0, a.function([]byte{i32}, nil, nil, tt.code...))
		k := &ticker{slice: 1 << 40}
		_, m := instantiate(t, a.build(), k)
		call(t, m, k, "run", 1000)
		instructions := int64(4 + 1) // three operands, the instruction, and the entry
		if strings.Contains(tt.name, "grow") {
			instructions--
			if strings.Contains(tt.name, "memory") {
				instructions--
			}
		}
		if got := k.total(m) - instructions; got != tt.want {
			t.Errorf("%s: the length cost %d, want %d", tt.name, got, tt.want)
		}
	}
}
