package meter

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
)

// generator makes random modules that are valid and whose calls end: each loop counts down, and each call takes one of a
// number of steps. With counted, the module also counts the instructions that it executes, one by one, in its last
// global: what metering is to agree with.
type generator struct {
	*rand.Rand
	asm
	counted  bool
	throwing bool
	globals  []byte // types of the mutable ones: those of values, then the number of steps, then the counter
	steps    int    // its index
	counter  int
	sigs     []sig // of functions

	code    []byte
	locals  []byte
	vars    int // locals that the program may use; behind them are counters and lengths
	labels  []label
	results []byte // of the current function
	budget  int    // instructions that may still be generated in it
	nest    int    // loops around
}

type sig struct{ params, results []byte }

// label is a frame that can be branched to, with values of these types.
type label struct {
	types []byte
	once  bool // of a loop: a branch to it would never end
}

// values are the types that params, results and globals have.
var values = []byte{i32, i32, i64, f32, f64, v128}

// generate makes a module with the exports f0, f1, …
func generate(seed1, seed2 uint64, counted bool) *generator {
	return generateWith(seed1, seed2, func(g *generator) { g.counted = counted })
}

func generateWith(seed1, seed2 uint64, set func(*generator)) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed1, seed2))}
	set(g)
	g.memories = [][]byte{bin(1, 1, 4)}
	g.tables = [][]byte{bin(funcref, 1, 8, 20), bin(externref, 1, 4, 20)}
	for range 3 + g.IntN(4) {
		t := values[g.IntN(len(values))]
		g.globals = append(g.globals, t)
		g.global(t, true, g.constant(t)...)
	}
	g.steps = g.global(i64, true, bin(opI64Const, 60)...)
	g.counter = g.global(i64, true, bin(opI64Const, 0)...)
	for i := range g.globals {
		if g.IntN(2) == 0 {
			g.export("g"+string(rune('0'+i)), 3, i)
		}
	}
	g.export("memory", 2, 0)
	n := 2 + g.IntN(5)
	for range n {
		g.sigs = append(g.sigs, sig{g.types(4), g.types(3)})
	}
	var funcs []byte
	for i := range 6 {
		funcs = append(funcs, byte(i%n))
	}
	g.elements = [][]byte{
		bin(0, opI32Const, 0, opEnd, 6, funcs),
		bin(1, 0, 3, funcs[:3]),
		bin(5, funcref, 2, opRefFunc, 1, opEnd, opRefNull, funcref, opEnd),
	}
	g.data = [][]byte{bin(0, opI32Const, 16, opEnd, 8, "datadata"), bin(1, 12, "passive data")}
	g.dataCount = true
	for i, s := range g.sigs {
		g.makeFunction(i, s)
	}
	return g
}

func (g *generator) types(most int) []byte {
	ts := make([]byte, g.IntN(most))
	for i := range ts {
		ts[i] = values[g.IntN(len(values))]
	}
	return ts
}

func (g *generator) makeFunction(i int, s sig) {
	g.code, g.labels, g.results, g.budget, g.nest = nil, []label{{types: s.results}}, s.results, 100, 0
	g.locals = append([]byte(nil), s.params...)
	n := len(g.locals)
	for range 3 {
		g.locals = append(g.locals, values[g.IntN(len(values))])
	}
	g.vars = len(g.locals)
	g.count(1) // the entry
	g.ins(opGlobalGet, g.steps)
	g.ins(0x50) // i64.eqz
	g.ins(opIf, emptyBlock)
	g.all(s.results)
	g.ins(opReturn)
	g.raw(opEnd)
	g.ins(opGlobalGet, g.steps)
	g.ins(opI64Const, 1)
	g.ins(opI64Sub)
	g.ins(opGlobalSet, g.steps)
	for range 2 + g.IntN(5) {
		g.statement(3)
	}
	for _, t := range s.results {
		g.value(t, 3)
	}
	index := g.function(s.params, s.results, g.locals[n:], g.code...)
	g.export("f"+string(rune('0'+i)), 0, index)
}

// raw appends an instruction that costs nothing, or nothing by itself.
func (g *generator) raw(parts ...any) { g.code = append(g.code, bin(parts...)...) }

// ins appends an instruction that costs one unit.
func (g *generator) ins(parts ...any) {
	g.count(1)
	g.budget--
	g.raw(parts...)
}

// count adds to the counter.
func (g *generator) count(n byte) {
	if g.counted {
		g.raw(opGlobalGet, g.counter, opI64Const, n, opI64Add, opGlobalSet, g.counter)
	}
}

// countLength adds the value of an i32 local, shifted.
func (g *generator) countLength(local int, right bool, shift int) {
	if !g.counted {
		return
	}
	op := byte(opI64Shl)
	if right {
		op = opI64ShrU
	}
	g.raw(opGlobalGet, g.counter, opLocalGet, local, opI64ExtendI32U, opI64Const, shift, op, opI64Add, opGlobalSet, g.counter)
}

// local adds a local.
func (g *generator) local(t byte) int {
	g.locals = append(g.locals, t)
	return len(g.locals) - 1
}

// constant returns a constant expression without its end.
func (g *generator) constant(t byte) []byte {
	switch t {
	case i32:
		return sleb([]byte{opI32Const}, int64(int32(g.Uint32()>>g.IntN(32))))
	case i64:
		return sleb([]byte{opI64Const}, int64(g.Uint64()>>g.IntN(64)))
	case f32:
		return binary.LittleEndian.AppendUint32([]byte{opF32Const}, math.Float32bits(float32(g.NormFloat64()*100)))
	case f64:
		return binary.LittleEndian.AppendUint64([]byte{opF64Const}, math.Float64bits(g.NormFloat64()*100))
	case funcref, externref:
		return []byte{opRefNull, t}
	}
	out := []byte{opVec, vecConst}
	for range 2 {
		out = binary.LittleEndian.AppendUint64(out, g.Uint64())
	}
	return out
}

// operation of numbers: opcode, then what it takes and gives.
type operation struct {
	op     []byte
	takes  []byte
	result byte
}

var operations = func() (ops []operation) {
	add := func(from, to int, result byte, takes ...byte) {
		for op := from; op <= to; op++ {
			ops = append(ops, operation{[]byte{byte(op)}, takes, result})
		}
	}
	add(0x45, 0x45, i32, i32)
	add(0x46, 0x4f, i32, i32, i32)
	add(0x50, 0x50, i32, i64)
	add(0x51, 0x5a, i32, i64, i64)
	add(0x5b, 0x60, i32, f32, f32)
	add(0x61, 0x66, i32, f64, f64)
	add(0x67, 0x69, i32, i32)
	add(0x6a, 0x78, i32, i32, i32) // among them division, which may trap
	add(0x79, 0x7b, i64, i64)
	add(0x7c, 0x8a, i64, i64, i64)
	add(0x8b, 0x91, f32, f32)
	add(0x92, 0x98, f32, f32, f32)
	add(0x99, 0x9f, f64, f64)
	add(0xa0, 0xa6, f64, f64, f64)
	add(0xa7, 0xa7, i32, i64)
	add(0xa8, 0xa8, i32, f32) // may trap
	add(0xac, 0xad, i64, i32)
	add(0xb2, 0xb3, f32, i32)
	add(0xb6, 0xb6, f32, f64)
	add(0xb7, 0xb8, f64, i32)
	add(0xbb, 0xbb, f64, f32)
	add(0xbd, 0xbd, i64, f64)
	add(0xc0, 0xc1, i32, i32)
	add(0xc2, 0xc4, i64, i64)
	for i, t := range [][2]byte{{i32, f32}, {i32, f32}, {i32, f64}, {i32, f64}, {i64, f32}, {i64, f32}, {i64, f64}, {i64, f64}} {
		ops = append(ops, operation{[]byte{opMisc, byte(i)}, t[1:], t[0]})
	}
	ops = append(ops,
		operation{[]byte{opVec, 15}, []byte{i32}, v128},                // i8x16.splat
		operation{[]byte{opVec, 21, 3}, []byte{v128}, i32},             // i8x16.extract_lane_s
		operation{[]byte{opVec, 0x6e}, []byte{v128, v128}, v128},       // i8x16.add
		operation{[]byte{opVec, 0xd5, 0x01}, []byte{v128, v128}, v128}, // i64x2.mul
		operation{[]byte{opVec, 13, 0, 17, 2, 19, 4, 21, 6, 23, 8, 25, 10, 27, 12, 29, 14, 31}, []byte{v128, v128}, v128},
		operation{[]byte{opVec, 82}, []byte{v128, v128, v128}, v128}, // v128.bitselect
	)
	return ops
}()
