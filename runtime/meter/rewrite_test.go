package meter

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// instantiate runs a metered module beside a host module "env" with a function that returns 7.
func instantiate(t *testing.T, wasm []byte, k *ticker) (*Module, api.Module) {
	t.Helper()
	m, err := Rewrite(wasm)
	if err != nil {
		t.Fatal(err)
	}
	rt := metering(t, features)
	ctx := k.context()
	seven := api.GoFunc(func(_ context.Context, stack []uint64) { stack[0] = 7 })
	_, err = rt.NewHostModuleBuilder("env").NewFunctionBuilder().
		WithGoFunction(seven, nil, []api.ValueType{api.ValueTypeI32}).Export("seven").Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	instance, err := rt.InstantiateWithConfig(ctx, m.Wasm, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	return m, instance
}

func call(t *testing.T, m api.Module, k *ticker, function string, args ...uint64) uint64 {
	t.Helper()
	results, err := m.ExportedFunction(function).Call(k.context(), args...)
	if err != nil {
		t.Fatalf("%s: %v", function, err)
	}
	if len(results) == 0 {
		return 0
	}
	return uint64(uint32(results[0]))
}

// indexed has a function index in every place that can hold one: with an import before and functions behind.
func indexed() *asm {
	a := &asm{dataCount: true}
	result := []byte{i32}
	seven := a.importFunction("env", "seven", nil, result)
	eight := a.function(nil, result, nil, bin(opI32Const, 8)...)
	a.function(nil, result, nil, bin(opCall, seven, opCall, eight, opI32Add)...) // 2: fifteen
	started := a.global(i32, true, bin(opI32Const, 0)...)
	reference := a.global(funcref, true, bin(opRefFunc, eight)...)
	start := a.function(nil, nil, nil, bin(opI32Const, 1, opGlobalSet, started)...)
	a.start = num(start)
	t := a.signature(nil, result)
	through := a.function(result, result, nil, bin(opLocalGet, 0, opCallIndirect, t, 0)...)
	tail := a.function(nil, result, nil, bin(opReturnCall, eight)...)
	stored := a.function(nil, result, nil, bin(opI32Const, 5, opGlobalGet, reference, opTableSet, 0, opI32Const, 5, opCallIndirect, t, 0)...)
	init := a.function(nil, nil, nil, bin(opI32Const, 6, opI32Const, 0, opI32Const, 2, opMisc, miscTableInit, 1, 0)...)
	of := a.function(nil, result, nil, bin(opI32Const, 8, opRefFunc, eight, opTableSet, 0, opI32Const, 8, opCallIndirect, t, 0)...)
	a.tables = [][]byte{bin(funcref, 0, 20)}
	a.elements = [][]byte{
		bin(0, opI32Const, 0, opEnd, 2, seven, eight),                                          // active
		bin(1, 0, 2, 2, eight),                                                                 // passive
		bin(2, 0, opI32Const, 2, opEnd, 0, 1, 2),                                               // active, with its table
		bin(3, 0, 1, eight),                                                                    // declarative
		bin(4, opI32Const, 10, opEnd, 1, opRefFunc, eight, opEnd),                              // active, expressions
		bin(5, funcref, 2, opRefFunc, 2, opEnd, opRefNull, funcref, opEnd),                     // passive, expressions
		bin(6, 0, opI32Const, 11, opEnd, funcref, 2, opRefFunc, 0, opEnd, opRefFunc, 2, opEnd), // active, all
		bin(7, funcref, 1, opRefFunc, eight, opEnd),                                            // declarative, expressions
	}
	for name, i := range map[string]int{
		"eight": eight, "fifteen": 2, "through": through, "tail": tail, "stored": stored, "init": init, "of": of, "seven": seven,
	} { // order-free: exports have no order
		a.export(name, 0, i)
	}
	a.export("started", 3, started)
	return a
}

func TestIndexes(t *testing.T) {
	t.Parallel()
	k := &ticker{slice: 1000}
	m, instance := instantiate(t, indexed().build(), k)
	if !m.WritesTables {
		t.Error("table.set was not noticed")
	}
	call(t, instance, k, "init")
	for name, want := range map[string]uint64{"eight": 8, "fifteen": 15, "tail": 8, "stored": 8, "of": 8, "seven": 7} { // order-free
		if got := call(t, instance, k, name); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
	for element, want := range map[uint64]uint64{0: 7, 1: 8, 2: 15, 5: 8, 6: 15, 7: 8, 10: 8, 11: 7, 12: 15} { // order-free
		if got := call(t, instance, k, "through", element); got != want {
			t.Errorf("element %d is %d, want %d", element, got, want)
		}
	}
	if g := instance.ExportedGlobal("started"); g.Get() != 1 {
		t.Error("the start function did not run")
	}
}

// TestSmallest meters modules without the sections that metering extends, and a module with only those behind them.
func TestSmallest(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]*asm{ // order-free
		"empty":       {},
		"memory only": {memories: [][]byte{bin(0, 1)}},
		"data":        {memories: [][]byte{bin(0, 1)}, dataCount: true, data: [][]byte{bin(0, opI32Const, 0, opEnd, 2, "ab")}},
		"custom last": {custom: []custom{{"taskrt.manifest", []byte("{}"), 11}}},
	} {
		k := &ticker{slice: 10}
		m, instance := instantiate(t, a.build(), k)
		if instance.ExportedGlobal(Fuel) == nil || len(m.Globals) > 0 {
			t.Errorf("%s: no counter, or globals that are not there: %v", name, m.Globals)
		}
	}
}

func TestGlobals(t *testing.T) {
	t.Parallel()
	a := &asm{}
	a.global(i32, true, bin(opI32Const, 1)...)
	a.global(i64, false, bin(opI64Const, 2)...)
	a.global(v128, true, append([]byte{opVec, vecConst}, make([]byte, 16)...)...)
	a.global(i64, true, bin(opI64Const, 3)...)
	a.export("mine", 3, 3)
	a.export("again", 3, 3)
	a.function(nil, nil, nil)
	m, instance := instantiate(t, a.build(), &ticker{})
	want := []Global{{"__taskrt_g0", 0, wasmbin.I32}, {"__taskrt_g2", 2, 0x7b}, {"mine", 3, wasmbin.I64}}
	if !slices.Equal(m.Globals, want) {
		t.Fatalf("globals are %v, want %v", m.Globals, want)
	}
	for _, g := range m.Globals {
		if _, ok := instance.ExportedGlobal(g.Name).(api.MutableGlobal); !ok {
			t.Errorf("%s is not mutable", g.Name)
		}
	}
	if fuel := instance.ExportedGlobal(Fuel).(api.MutableGlobal); fuel.Get() != 0 {
		t.Errorf("the counter begins at %d", fuel.Get())
	}
}

func TestCustomSections(t *testing.T) {
	t.Parallel()
	a := indexed()
	a.custom = []custom{
		{"taskrt.manifest", []byte("manifest"), 0},
		{".debug_info", []byte("offsets"), 11},
		{"producers", []byte("clang"), 11},
		{"name", join(
			[]byte{0}, list1(text("module")),
			[]byte{1}, list1(list(bin(0, text("seven")), bin(1, text("eight")), bin(2, text("fifteen")))),
			[]byte{2}, list1(list(bin(4, list(bin(0, text("element")))))),
			[]byte{7}, list1([]byte("globals, which nobody reads")),
		), 11},
	}
	m, err := Rewrite(a.build())
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := wasmbin.Parse(m.Wasm)
	if err != nil {
		t.Fatal(err)
	}
	if got := parsed.Custom("taskrt.manifest"); len(got) != 1 || string(got[0]) != "manifest" {
		t.Errorf("the manifest is %q", got)
	}
	if len(parsed.Custom("producers")) != 1 || len(parsed.Custom(".debug_info")) != 0 {
		t.Error("producers has to stay, DWARF to go")
	}
	want := join(
		[]byte{0}, list1(text("module")),
		[]byte{1}, list1(list(bin(0, text("seven")), bin(1, text("taskrt_sys.tick")), bin(2, text("eight")), bin(3, text("fifteen")))),
		[]byte{2}, list1(list(bin(5, list(bin(0, text("element")))))),
	)
	if got := parsed.Custom("name"); len(got) != 1 || !bytes.Equal(got[0], want) {
		t.Errorf("names are\n%q, want\n%q", got, want)
	}
}

// list1 is the size of some bytes and the bytes.
func list1(b []byte) []byte { return join(num(len(b)), b) }

func TestRefused(t *testing.T) {
	t.Parallel()
	with := func(code ...byte) *asm {
		a := &asm{}
		a.importFunction("env", "seven", nil, []byte{i32})
		a.function(nil, nil, nil)
		a.function(nil, nil, nil, code...)
		return a
	}
	reserved := &asm{}
	reserved.importFunction(Import, "tock", nil, nil)
	exported := with()
	exported.export(Fuel, 0, 1)
	for _, tt := range []struct {
		name string
		a    *asm
		want string // in the error
	}{
		{"import", reserved, "taskrt_sys is reserved"},
		{"export", exported, "__taskrt_ are reserved"},
		{"threads", with(opAtomic, 0, 2, 0), "code of function 2: instruction 0xfe is not supported (threads) (at byte 4"},
		{"exceptions without tags", with(0x08, 0), "exceptions"},
		{"a reference to an exception without tags", with(0xd0, exnref), "without tags"},
		{"legacy exceptions", with(0x06, emptyBlock), "exceptions"},
		{"call_ref", with(0x14, 0), "typed function references"},
		{"garbage collection", with(0xfb, 0), "garbage collection"},
		{"second memory", with(0x3f, 1), "a second memory"},
		{"relaxed SIMD", with(opVec, 0x80, 0x02), "instruction 0xfd is not supported"},
		// wazero would read 0x8e as the opcode and 0x03 as the loop that follows it: a loop without a check.
		{"hidden loop", with(opVec, 0x8e, opLoop, emptyBlock, opEnd), "instruction 0xfd is not supported"},
		{"long vector opcode", with(opVec, 0x8c, 0x00), "instruction 0xfd is not supported"},
		{"typed reference", &asm{types: [][]byte{bin(0x60, 1, 0x64, 0x70, 0)}}, "value type 0x64"},
	} {
		_, err := Rewrite(tt.a.build())
		var bad *wasmbin.Error
		if !errors.As(err, &bad) || bad.Reason != wasmbin.Unsupported || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestGrowth refuses what metering would make far larger.
func TestGrowth(t *testing.T) {
	t.Parallel()
	a := &asm{}
	a.function([]byte{i32}, nil, nil, bytes.Repeat(bin(opLoop, emptyBlock, opLocalGet, 0, opBrIf, 0, opEnd), 200_000)...)
	_, err := Rewrite(a.build())
	var bad *wasmbin.Error
	if !errors.As(err, &bad) || bad.Reason != wasmbin.TooMany || !strings.Contains(err.Error(), "code of function 0: ") {
		t.Errorf("error is %v", err)
	}
}

// FuzzRewrite gives Rewrite any bytes: they are refused, or the module is as valid after as before.
func FuzzRewrite(f *testing.F) {
	f.Add(indexed().build())
	f.Add((&asm{}).build())
	for seed := range uint64(4) {
		f.Add(generate(seed, 3, false).build())
		f.Add(generateThrowing(seed, 3).build())
	}
	rt := interpreter(f)
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := Rewrite(wasm)
		var bad *wasmbin.Error
		if err != nil {
			if !errors.As(err, &bad) {
				t.Fatalf("error is %T: %v", err, err)
			}
			return
		}
		if len(m.Wasm) > 5*len(wasm)+1<<20+1000 {
			t.Errorf("%d bytes became %d", len(wasm), len(m.Wasm))
		}
		parsed, err := wasmbin.Parse(wasm)
		if err != nil || len(parsed.Custom("name")) > 0 {
			return // wazero allocates what a name section says it has; Rewrite has checked it
		}
		if err := compiles(rt, wasm); err == nil {
			if err := compiles(rt, m.Wasm); err != nil {
				t.Errorf("rewritten: %v", err)
			}
		}
	})
}

// compiles is valid, except that bytes on which the compiler itself panics count as not valid.
func compiles(rt wazero.Runtime, wasm []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("wazero panicked")
		}
	}()
	return valid(rt, wasm)
}
