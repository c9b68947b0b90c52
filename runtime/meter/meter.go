package meter

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// Version is the version of the rewriting: modules that different versions rewrote are different code.
const Version = 4

// These are the names that the rewritten module shares with its host.
const (
	// Import is the module from which Tick is imported. A guest that imports from Import itself is refused.
	Import = "taskrt_sys"
	// Tick has the signature (i64) -> (i64). It is given the value of the counter, which is below zero, and returns
	// its new value.
	Tick = "tick"
	// Fuel is the export of the counter, a mutable i64. The counter begins at 0, so that the first function calls Tick.
	Fuel = "__taskrt_fuel"
	// Prefix is the prefix of the exports that are added. A guest that has an export with this prefix itself is refused.
	Prefix = "__taskrt_"
)

// Module is a rewritten module.
type Module struct {
	Wasm []byte
	// Globals are the mutable globals that the guest defines itself, in the order of their indexes. All are exported.
	Globals []Global
	// WritesTables is set if code, or anybody else, may change a table after instantiation: the module has
	// table.set, table.grow, table.copy, table.fill or table.init, or imports or exports a table.
	WritesTables bool
	// GrowsTables is set if code may make a table larger.
	GrowsTables bool
	// DropsData is set if code may drop data segments (data.drop).
	DropsData bool
	// Debug is set if the guest has DWARF. Then traces of traps tell offsets of the metered code; FindOrigins
	// translates them.
	Debug bool
	// Effort is about how many nanoseconds a compiler spends on work that is not linear in the module's size (package
	// effort).
	Effort int64
}

// Global is a mutable global of the guest.
type Global struct {
	Name  string // of an export: the guest's own, or Prefix + "g" + the index
	Index uint32
	Type  wasmbin.ValType
}

// These bound what a module may be, or become. Real modules grow by a fifth; a module of nothing but loops grows tenfold.
const (
	maxBytes  = 1 << 30 // of a module: offsets are kept in 32 bits
	maxGrowth = 4       // times its size, and a megabyte
)

// Rewrite meters a module. It is pure and deterministic, and needs memory of a few times the module's size. Its errors are
// *wasmbin.Error. An error of a function names the function by its index; offsets are those of the given file. If the module is
// invalid, the rewritten module may be invalid, too.
func Rewrite(wasm []byte) (*Module, error) {
	return rewrite(wasm, asEver)
}

// asEver is the tuning outside of tests.
var asEver = tuning{slack: slack, distance: distance, loops: manyLoops, effort: maxEffort}

func rewrite(wasm []byte, t tuning) (*Module, error) { return rewriteWith(wasm, t, nil) }

// rewriteWith rewrites. If origins is not nil, it notes there where the code came from.
func rewriteWith(wasm []byte, t tuning, origins *Origins) (*Module, error) {
	if len(wasm) > maxBytes {
		return nil, &wasmbin.Error{
			Reason: wasmbin.TooMany, Limit: maxBytes, Message: fmt.Sprintf("%d bytes, more than %d", len(wasm), maxBytes),
		}
	}
	parsed, err := wasmbin.Parse(wasm)
	if err != nil {
		return nil, err
	}
	lowered, err := lower(parsed, wasm, origins.first())
	if err != nil {
		return nil, err
	}
	if lowered != nil {
		wasm = lowered
		if parsed, err = wasmbin.Parse(wasm); err != nil {
			return nil, err
		}
	}
	w := &rewriter{parsed: parsed, data: wasm}
	w.code.tuning, w.code.origins = t, origins
	if err := w.prepare(); err != nil {
		return nil, err
	}
	if err := w.sections(); err != nil {
		return nil, err
	}
	if w.result.Debug = debugged(parsed); w.result.Debug {
		w.debugSections()
	}
	w.result.Wasm = w.out
	return &w.result, nil
}

// rewriter is the state of one Rewrite.
type rewriter struct {
	parsed *wasmbin.Module
	data   []byte
	out    []byte
	result Module

	tick     uint32 // index of the new function: own functions move up by one
	tickType uint32
	helped   bool   // long fills and copies are done by functions that are added
	helper   uint32 // the first of them: helpers many, behind all others
	helpType uint32
	imported uint32 // globals
	globals  uint32 // imported and own ones; the index of the counter
	values   []global
	code     coder
}

// global is one of the guest's own.
type global struct {
	typ     wasmbin.ValType
	mutable bool
}

var tickSignature = wasmbin.FuncType{Params: []wasmbin.ValType{wasmbin.I64}, Results: []wasmbin.ValType{wasmbin.I64}}

// prepare finds the indexes that everything else needs, and refuses names that collide.
func (w *rewriter) prepare() error {
	for _, i := range w.parsed.Imports {
		switch {
		case i.Module == Import:
			return refused("import section", "import module %s is reserved for the host", Import)
		case i.Kind == wasmbin.KindFunc:
			w.tick++
		case i.Kind == wasmbin.KindGlobal:
			w.imported++
		case i.Kind == wasmbin.KindTable:
			w.result.WritesTables = true
		case i.Kind == wasmbin.KindTag:
			return refused("import section", "tags cannot be imported")
		}
	}
	for _, e := range w.parsed.Exports {
		if strings.HasPrefix(e.Name, Prefix) {
			return refused("export section", "export names beginning with %s are reserved for the host", Prefix)
		}
		if e.Kind == wasmbin.KindTable {
			w.result.WritesTables = true
		}
	}
	w.findHelpers()
	w.findTypes()
	for _, s := range w.parsed.Sections {
		if s.ID == wasmbin.SectionGlobal {
			if err := w.readGlobals(w.parsed.Read(s)); err != nil {
				return err
			}
		}
	}
	w.globals = w.imported + uint32(len(w.values))
	w.nameGlobals()
	return nil
}

// findTypes finds the signatures of the functions that are added, or the places where they will be added.
func (w *rewriter) findTypes() {
	types := uint32(w.parsed.Types())
	find := func(t wasmbin.FuncType) uint32 {
		i := uint32(0)
		for i < types && !w.parsed.Type(int(i)).Equal(t) {
			i++
		}
		return i
	}
	w.tickType = find(tickSignature)
	if w.helpType = find(helperSignature); w.helpType == types && w.tickType == types {
		w.helpType++
	}
}

func refused(where, format string, args ...any) error {
	return &wasmbin.Error{Reason: wasmbin.Unsupported, Where: where, Message: fmt.Sprintf(format, args...)}
}

// valType reads a value type. Without tags there are no exceptions; where there are tags, lowering has left no
// references to exceptions.
func valType(r *wasmbin.Reader) wasmbin.ValType {
	t := r.ValType()
	if t == wasmbin.ExnRef {
		r.Pos--
		r.Fail(wasmbin.Unsupported, "a reference to an exception, in a module without tags")
	}
	return t
}

// readGlobals learns the types of the guest's own globals.
func (w *rewriter) readGlobals(r *wasmbin.Reader) error {
	s := splicer{w: w, r: r}
	for range r.Count("globals", wasmbin.MaxGlobals) {
		g := global{typ: valType(r), mutable: r.Byte() != 0}
		s.constant()
		if r.Err != nil {
			return r.Err
		}
		w.values = append(w.values, g)
	}
	return asError(r.Err)
}

// nameGlobals gives each mutable global of the guest the name under which it is exported.
func (w *rewriter) nameGlobals() {
	names := make(map[uint32]string) // order-free: looked up only
	for _, e := range w.parsed.Exports {
		if _, named := names[e.Index]; e.Kind == wasmbin.KindGlobal && !named {
			names[e.Index] = e.Name
		}
	}
	for i, g := range w.values {
		if !g.mutable {
			continue
		}
		index := w.imported + uint32(i)
		name, exported := names[index]
		if !exported {
			name = fmt.Sprintf("%sg%d", Prefix, index)
		}
		w.result.Globals = append(w.result.Globals, Global{Name: name, Index: index, Type: g.typ})
	}
}

// asError avoids an error that is a nil *wasmbin.Error.
func asError(err *wasmbin.Error) error {
	if err == nil {
		return nil
	}
	return err
}

// function maps the index of a function.
func (w *rewriter) function(i uint32) uint32 {
	if i >= w.tick {
		return i + 1 // at most 2^32-1 functions: an index that wraps named none
	}
	return i
}

func uleb(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }
