package meter

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// TestExceptionsAreNotReady holds what the refusal of exceptions rests on (RATIONALE.md): in wazero's compiled code a
// handler sees the locals as they were before the try_table. If this fails, that is mended: look at the other reasons
// again.
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
	a.tag()
	k := &ticker{slice: 1e9}
	_, lowered := instantiate(t, a.build(), k)
	if got := call(t, lowered, k, "run", 7); got != 42 {
		t.Errorf("lowered: %d, want 42", got)
	}
	throwing := func(config wazero.RuntimeConfig) uint64 {
		l := newLane(t, "run", config.WithCoreFeatures(features|experimental.CoreFeaturesExceptionHandling), a.build(), 1)
		return call(t, l.module, l.ticker, "run", 7)
	}
	if c, i := throwing(wazero.NewRuntimeConfigCompiler()), throwing(wazero.NewRuntimeConfigInterpreter()); c != 1 || i != 42 {
		t.Errorf("compiled %d, interpreted %d: exceptions may be ready now", c, i)
	}
}

// TestExceptionsSpecification runs the specification's suite of exceptions on lowered modules. Those that it cannot
// have are refused: imported tags, and references in modules with wide tags.
func TestExceptionsSpecification(t *testing.T) {
	t.Parallel()
	root := filepath.Join(sourceOf(t), "internal", "integration_test", "spectest")
	files, err := filepath.Glob(filepath.Join(root, "exception-handling", "testdata", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts:", err)
	}
	ran, refused := 0, 0
	for _, file := range files {
		ctx := (&ticker{slice: 1000}).context()
		s := newScript(ctx, t, filepath.Dir(file), filepath.Join(root, "testdata", "spectest.wasm"), true)
		s.edit = func(wasm []byte) []byte { return ownTags(t, wasm) }
		for _, c := range readScript(t, file) {
			switch c.Type {
			case "assert_malformed", "assert_invalid":
				continue
			case "module":
				s.last = nil
			}
			got, err := s.do(ctx, c)
			var bad *wasmbin.Error
			switch {
			case c.Type == "module" && errors.As(err, &bad):
				t.Logf("%s:%d: %v", filepath.Base(file), c.Line, err)
				refused++
				continue
			case s.last == nil && c.Type != "module", strings.Contains(c.Action.Field, "imported"):
				continue
			case c.Type == "assert_exception":
				if err == nil || !strings.Contains(err.Error(), "unreachable") {
					t.Errorf("%s:%d: %s: no exception: %x, %v", filepath.Base(file), c.Line, c.Action.Field, got, err)
				}
			default:
				if err := c.expected(got, err); err != nil {
					t.Errorf("%s:%d: %s %s: %v", filepath.Base(file), c.Line, c.Type, c.Action.Field, err)
				}
			}
			ran++
		}
	}
	t.Log(ran, "commands,", refused, "modules refused")
}

// TestExceptionsAgree: generated modules do the same lowered, metered and compiled as the interpreter does with their
// exceptions.
func TestExceptionsAgree(t *testing.T) {
	t.Parallel()
	returned, uncaught, caught := 0, 0, 0
	for seed := range *seeds {
		g := generateThrowing(seed, 99)
		wasm := g.build()
		m, err := Rewrite(wasm)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		what := fmt.Sprintf("seed %d", seed)
		interpreted := newLane(t, what, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features|experimental.CoreFeaturesExceptionHandling), wasm, 7)
		lowered := newLane(t, what, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(features), m.Wasm, 7)
		for round := range 2 * len(g.sigs) {
			name, args := g.round(round)
			want, got := interpreted.outcome(name, args, 0, g.steps), lowered.outcome(name, args, 0, g.steps)
			switch {
			case strings.Contains(want, "uncaught exception"):
				uncaught++
				want = strings.Replace(want, "uncaught exception", "unreachable", 1)
			case !strings.Contains(want, "wasm error"):
				returned++
			}
			if got != want {
				t.Fatalf("seed %d: call %d of %s%x: got\n%s\nwant\n%s", seed, round, name, args, got, want)
			}
		}
		caught += bytes.Count(wasm, []byte{opTryTable})
	}
	t.Log(returned, "calls returned,", uncaught, "ended by an exception;", caught, "try_tables at most")
	if returned < int(*seeds) || uncaught < int(*seeds)/4 {
		t.Errorf("%d calls returned, %d ended by an exception", returned, uncaught)
	}
}

// TestExceptionsWithManyValues: a tag of several parameters brings its values through a function that is left in
// between.
func TestExceptionsWithManyValues(t *testing.T) {
	t.Parallel()
	a := &asm{}
	wide := []byte{i32, f64, i64, f32}
	a.tag(wide...)
	thrower := a.function([]byte{i32}, []byte{i32, i32}, nil, bin(
		opLocalGet, 0, opF64Const, make([]byte, 6), 0x14, 0x40, opI64Const, 100, opF32Const, 0, 0, 0, 0x40, opThrow, 0)...)
	a.export("run", 0, a.function([]byte{i32}, []byte{i32}, []byte{i64, f32}, bin(
		opBlock, a.signature(nil, wide), opTryTable, emptyBlock, 1, catchTag, 0, 0,
		opLocalGet, 0, opCall, thrower, opDrop, opDrop, opEnd, opUnreachable, opEnd,
		opLocalSet, 2, opLocalSet, 1, // f32, i64
		0xaa, opI32Add, // i32.trunc_f64_s
		opLocalGet, 1, opI32WrapI64, opI32Add, opLocalGet, 2, 0xa8, opI32Add)...))
	k := &ticker{slice: 1e9}
	_, lowered := instantiate(t, a.build(), k)
	if got := int32(call(t, lowered, k, "run", 1000)); got != 1000+5-28+2 {
		t.Errorf("got %d", got)
	}
}

// TestExceptionsAreBounded: clauses and throws that bring a thousand values each would make megabytes of kilobytes,
// and are refused.
func TestExceptionsAreBounded(t *testing.T) {
	t.Parallel()
	wide := bytes.Repeat([]byte{i64}, 1000)
	for name, code := range map[string][]byte{ // order-free: each by itself
		"clauses": join(bin(opTryTable, emptyBlock), num(20_000), bytes.Repeat(bin(catchTag, 0, 0), 20_000), bin(opEnd)),
		"throws":  bytes.Repeat(bin(opThrow, 0), 20_000),
	} {
		a := &asm{}
		a.tag(wide...)
		a.function(nil, nil, nil, code...)
		_, err := Rewrite(a.build())
		var bad *wasmbin.Error
		if !errors.As(err, &bad) || bad.Reason != wasmbin.TooMany || !strings.Contains(err.Error(), "code of function 0: ") {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	a := &asm{}
	a.tag(wide[:2]...)
	a.function(nil, nil, nil, bin(opBlock, exnref, opTryTable, emptyBlock, 1, catchAnythingRef, 0, opEnd, opRefNull, exnref, opEnd, opDrop)...)
	if _, err := Rewrite(a.build()); err == nil || !strings.Contains(err.Error(), "more than one parameter") {
		t.Errorf("a reference beside wide tags: %v", err)
	}
}

// ownTags makes a module's imported tags its own, with the same indexes. A module may not import tags, but what it
// does with them can be tested so.
func ownTags(t *testing.T, wasm []byte) []byte {
	t.Helper()
	m, err := wasmbin.Parse(wasm)
	if err != nil {
		return wasm
	}
	var imports, tags [][]byte
	for _, s := range m.Sections {
		r := m.Read(s)
		switch s.ID {
		case wasmbin.SectionImport:
			for range r.Count("imports", 1000) {
				start := r.Pos
				r.Name()
				r.Name()
				at := r.Pos
				if kind := wasmbin.Kind(r.Byte()); kind == wasmbin.KindTag {
					r.Byte()
					r.U32()
					tags = append(tags, wasm[at+1:r.Pos])
				} else if kind == wasmbin.KindFunc {
					r.U32()
					imports = append(imports, wasm[start:r.Pos])
				} else {
					return wasm
				}
			}
		case wasmbin.SectionTag:
			for range r.Count("tags", 1000) {
				start := r.Pos
				r.Byte()
				r.U32()
				tags = append(tags, wasm[start:r.Pos])
			}
		}
	}
	out := append([]byte(nil), wasm[:8]...)
	put := func(id byte, entries [][]byte) {
		content := list(entries...)
		out = append(append(append(out, id), num(len(content))...), content...)
	}
	done := false
	for _, s := range m.Sections {
		if !done && (s.ID > wasmbin.SectionMemory && s.ID != wasmbin.SectionDataCount) {
			put(wasmbin.SectionTag, tags)
			done = true
		}
		switch s.ID {
		case wasmbin.SectionImport:
			put(s.ID, imports)
		case wasmbin.SectionTag:
		default:
			out = append(out, wasm[s.Header():s.End]...)
		}
	}
	return out
}
