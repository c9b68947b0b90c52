package wasmbin

import (
	"math"
	"slices"
	"strings"
)

// ValType is the binary code of a value type.
type ValType byte

// These are the value types that signatures of taskrt use.
const (
	I32 ValType = 0x7f
	I64 ValType = 0x7e
	F32 ValType = 0x7d
	F64 ValType = 0x7c

	V128   ValType = 0x7b
	ExnRef ValType = 0x69 // a reference to an exception
)

func (t ValType) known() bool { return t >= V128 && t <= I32 || t == 0x70 || t == 0x6f || t == ExnRef }

func (t ValType) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case V128:
		return "v128"
	case ExnRef:
		return "exnref"
	case 0x70:
		return "funcref"
	case 0x6f:
		return "externref"
	}
	return "unknown"
}

// FuncType is a signature.
type FuncType struct{ Params, Results []ValType }

// Equal reports whether both signatures are the same.
func (t FuncType) Equal(u FuncType) bool {
	return string(asBytes(t.Params)) == string(asBytes(u.Params)) && string(asBytes(t.Results)) == string(asBytes(u.Results))
}

func asBytes(ts []ValType) []byte {
	b := make([]byte, len(ts))
	for i, t := range ts {
		b[i] = byte(t)
	}
	return b
}

func (t FuncType) String() string {
	list := func(ts []ValType) string {
		names := make([]string, len(ts))
		for i, t := range ts {
			names[i] = t.String()
		}
		return "(" + strings.Join(names, " ") + ")"
	}
	return list(t.Params) + " -> " + list(t.Results)
}

// Kind is the kind of an import or export.
type Kind byte

// These are the Kinds.
const (
	KindFunc   Kind = 0
	KindTable  Kind = 1
	KindMemory Kind = 2
	KindGlobal Kind = 3
	KindTag    Kind = 4
)

func (k Kind) String() string {
	if k <= KindTag {
		return [...]string{"function", "table", "memory", "global", "tag"}[k]
	}
	return "unknown kind"
}

// Import is one import. Type is set for functions.
type Import struct {
	Module, Name string
	Kind         Kind
	Type         FuncType
}

// Export is one export. Type is set for functions.
type Export struct {
	Name  string
	Kind  Kind
	Index uint32
	Type  FuncType
}

// Memory is a memory's limits, in pages of 64 KiB.
type Memory struct {
	Min, Max uint64
	HasMax   bool
	Shared   bool
	Is64     bool
}

// PageSize is the size of a wasm page in bytes.
const PageSize = 64 << 10

// Table is a table's limits, in elements.
type Table struct {
	Min, Max uint64
	HasMax   bool
}

// Section is a span of the file: the bytes behind a section's header.
type Section struct {
	ID         byte
	Name       string // of a custom section
	Start, End int    // of the content; of a custom section behind its name
	header     int    // where the section's ID stands
}

// Header returns where the section begins in the file: its ID, with its length behind it.
func (s Section) Header() int { return s.header }

// Module is the result of Parse.
type Module struct {
	Imports  []Import
	Exports  []Export
	Memories []Memory // own ones; imported memories are in Imports
	Tables   []Table
	Sections []Section
	HasStart bool // a start section: code that runs when the module is instantiated

	types []FuncType
	funcs []uint32 // type index of every function, imported ones first
	data  []byte
}

// Custom returns the contents of the custom sections with this name.
func (m *Module) Custom(name string) [][]byte {
	var found [][]byte
	for _, s := range m.Sections {
		if s.ID == SectionCustom && s.Name == name {
			found = append(found, m.data[s.Start:s.End:s.End])
		}
	}
	return found
}

// ImportsFrom reports whether the guest imports anything from a module.
func (m *Module) ImportsFrom(module string) bool {
	return slices.ContainsFunc(m.Imports, func(i Import) bool { return i.Module == module })
}

// Export returns the export with this name.
func (m *Module) Export(name string) (Export, bool) {
	for _, e := range m.Exports {
		if e.Name == name {
			return e, true
		}
	}
	return Export{}, false
}

// Bytes returns the file. It must not be changed.
func (m *Module) Bytes() []byte { return m.data }

// Types returns the number of signatures in the type section.
func (m *Module) Types() int { return len(m.types) }

// Type returns a signature of the type section.
func (m *Module) Type(i int) FuncType { return m.types[i] }

// FuncType returns the signature of a function by its index. Imported functions come first.
func (m *Module) FuncType(i int) FuncType { return m.types[m.funcs[i]] }

// TypeOf returns the index of a function's signature.
func (m *Module) TypeOf(i int) uint32 { return m.funcs[i] }

// Read returns a reader over the content of a section.
func (m *Module) Read(s Section) *Reader {
	where := "section header"
	if int(s.ID) < len(names) {
		where = names[s.ID]
	}
	return &Reader{data: m.data[:s.End], Pos: s.Start, Where: where}
}

// Functions returns the number of functions defined in the module.
func (m *Module) Functions() int { return len(m.funcs) - m.ImportedFunctions() }

// ImportedFunctions returns the number of imported functions. It is also the index of the module's first own function.
func (m *Module) ImportedFunctions() int {
	n := 0
	for _, i := range m.Imports {
		if i.Kind == KindFunc {
			n++
		}
	}
	return n
}

// FunctionName returns the name that the name section gives to a function, or "" if it gives none.
func (m *Module) FunctionName(i int) string {
	const functions = 1 // the subsection
	for _, s := range m.Sections {
		if s.ID != SectionCustom || s.Name != "name" {
			continue
		}
		for r := m.Read(s); r.More(); {
			id := r.Byte()
			body := r.Part(uint64(r.U32()), r.Where)
			if id != functions {
				continue
			}
			for range body.Count("names", math.MaxUint32) {
				index, name := body.U32(), body.Name()
				if body.Err != nil || int64(index) == int64(i) {
					return name
				}
			}
		}
	}
	return ""
}
