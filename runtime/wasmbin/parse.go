package wasmbin

import (
	"bytes"
	"cmp"
	"fmt"
)

// These limit counts and sizes. They are generous for real programs (a Go program has some 4,000 functions and 21,000 data
// segments), and small enough that compiling and instantiating stay bounded.
const (
	MaxSections      = 1000
	MaxTypes         = 20_000
	MaxParams        = 1000 // and results of one function
	MaxImports       = 1000
	MaxFunctions     = 50_000
	MaxFunctionBytes = 2 << 20 // code of one function
	MaxLocals        = 50_000  // of one function
	MaxLocalsInAll   = 2_000_000
	MaxGlobals       = 20_000
	MaxExports       = 10_000
	MaxTables        = 16
	MaxTableElements = 1 << 18
	MaxElements      = 10_000 // element segments
	MaxData          = 100_000
)

// Section IDs.
const (
	SectionCustom    = 0
	SectionType      = 1
	SectionImport    = 2
	SectionFunction  = 3
	SectionTable     = 4
	SectionMemory    = 5
	SectionGlobal    = 6
	SectionExport    = 7
	SectionStart     = 8
	SectionElement   = 9
	SectionCode      = 10
	SectionData      = 11
	SectionDataCount = 12
	SectionTag       = 13
)

// order is the order of the sections that may stand only once. Data count and tag do not stand where their IDs would
// put them.
var order = [...]int{
	SectionType: 1, SectionImport: 2, SectionFunction: 3, SectionTable: 4, SectionMemory: 5, SectionTag: 6, SectionGlobal: 7,
	SectionExport: 8, SectionStart: 9, SectionElement: 10, SectionDataCount: 11, SectionCode: 12, SectionData: 13,
}

var names = [...]string{
	"custom section", "type section", "import section", "function section", "table section", "memory section",
	"global section", "export section", "start section", "element section", "code section", "data section",
	"data count section", "tag section",
}

// These are the 8 bytes at the beginning: magic, then version and layer (16 bits each).
var (
	magic            = []byte("\x00asm")
	coreVersion      = []byte{1, 0, 0, 0}
	componentLayer   = []byte{1, 0} // the last two bytes
	errNotWasm       = "not a WebAssembly module: it does not begin with \\0asm"
	errComponent     = "this is a component binary; taskrt runs core modules (build for wasm32-wasi preview 1, without componentizing)"
	errHeaderVersion = "unknown version of the WebAssembly binary format: %d"
)

// Parse reads a module. Errors are *Error.
func Parse(data []byte) (*Module, error) {
	if err := header(data); err != nil {
		return nil, err
	}
	m := &Module{data: data}
	r := &Reader{data: data, Pos: 8, whole: true}
	last := 0
	for r.More() {
		s := Section{header: r.Pos}
		s.ID = r.Byte()
		r.Where = "section header"
		if int(s.ID) < len(names) {
			r.Where = names[s.ID]
		} else {
			r.Pos--
			r.Fail(Malformed, "unknown section %d", s.ID)
			break
		}
		if s.ID != SectionCustom {
			if order[s.ID] <= last {
				r.Fail(Malformed, "out of order, or twice")
			}
			last = order[s.ID]
		}
		if len(m.Sections) == MaxSections {
			r.TooMany("sections", MaxSections+1, MaxSections)
		}
		size := r.U32()
		s.Start = r.Pos
		body := r.Part(uint64(size), r.Where)
		s.End = r.Pos
		m.section(&s, body)
		r.Err = cmp.Or(r.Err, body.Err)
		m.Sections = append(m.Sections, s)
	}
	if r.Err == nil {
		r.Err = m.resolve()
	}
	if r.Err != nil {
		return nil, r.Err
	}
	return m, nil
}

func header(data []byte) error {
	n := min(len(data), len(magic))
	switch {
	case !bytes.Equal(data[:n], magic[:n]), len(data) == 0:
		return &Error{Reason: NotWasm, Message: errNotWasm}
	case len(data) < 8:
		return &Error{Reason: Truncated, Offset: len(data), Message: "the file ends within the header"}
	case bytes.Equal(data[6:8], componentLayer):
		return &Error{Reason: Component, Offset: 4, Message: errComponent}
	case !bytes.Equal(data[4:8], coreVersion):
		version := uint32(data[4]) | uint32(data[5])<<8 | uint32(data[6])<<16 | uint32(data[7])<<24
		return &Error{Reason: NotWasm, Offset: 4, Message: fmt.Sprintf(errHeaderVersion, version)}
	}
	return nil
}

// section reads what this package needs of one section. r covers exactly the section's content.
func (m *Module) section(s *Section, r *Reader) {
	if r.Err != nil {
		return
	}
	switch s.ID {
	case SectionCustom:
		s.Name = r.Name()
		s.Start = r.Pos
		return // the rest is anything
	case SectionType:
		m.readTypes(r)
	case SectionImport:
		m.readImports(r)
	case SectionFunction:
		for range r.Count("functions", MaxFunctions) {
			m.funcs = append(m.funcs, r.U32())
		}
	case SectionTable:
		for range r.Count("tables", MaxTables) {
			m.Tables = append(m.Tables, r.table())
		}
	case SectionMemory:
		for range r.Count("memories", MaxTables) {
			m.Memories = append(m.Memories, r.memory())
		}
	case SectionGlobal:
		r.Count("globals", MaxGlobals)
		return
	case SectionExport:
		for range r.Count("exports", MaxExports) {
			m.Exports = append(m.Exports, Export{Name: r.Name(), Kind: Kind(r.Byte()), Index: r.U32()})
			if r.Err != nil {
				return
			}
		}
	case SectionStart:
		r.U32()
		m.HasStart = true
	case SectionElement:
		r.Count("element segments", MaxElements)
		return
	case SectionCode:
		m.readCode(r)
	case SectionData:
		r.Count("data segments", MaxData)
		return
	case SectionDataCount:
		if n := r.U32(); n > MaxData {
			r.TooMany("data segments", uint64(n), MaxData)
		}
	case SectionTag:
		return
	}
	if r.Err == nil && r.Left() != 0 {
		r.Fail(Malformed, "%d bytes too many at its end", r.Left())
	}
}

func (m *Module) readTypes(r *Reader) {
	for range r.Count("types", MaxTypes) {
		if form := r.Byte(); r.Err == nil && form != 0x60 {
			r.Pos--
			r.Fail(Malformed, "type of unknown form %#x", form)
		}
		m.types = append(m.types, FuncType{Params: r.valTypes("parameters"), Results: r.valTypes("results")})
		if r.Err != nil {
			return
		}
	}
}

func (r *Reader) valTypes(what string) []ValType {
	n := r.Count(what, MaxParams)
	if n == 0 || r.Err != nil {
		return nil
	}
	ts := make([]ValType, n)
	for i := range ts {
		ts[i] = r.ValType()
	}
	return ts
}

func (m *Module) readImports(r *Reader) {
	for range r.Count("imports", MaxImports) {
		i := Import{Module: r.Name(), Name: r.Name(), Kind: Kind(r.Byte())}
		switch i.Kind {
		case KindFunc:
			t := r.U32()
			if r.Err == nil && int64(t) >= int64(len(m.types)) {
				r.Fail(Malformed, "import %s.%s has type %d of %d", i.Module, i.Name, t, len(m.types))
			}
			if r.Err == nil {
				i.Type = m.types[t]
				m.funcs = append(m.funcs, t)
			}
		case KindTable:
			r.table()
		case KindMemory:
			r.memory()
		case KindGlobal:
			r.ValType()
			r.Byte() // whether it is mutable
		case KindTag:
			r.Byte()
			r.U32()
		default:
			r.Fail(Malformed, "import %s.%s has unknown kind %d", i.Module, i.Name, i.Kind)
		}
		if r.Err != nil {
			return
		}
		m.Imports = append(m.Imports, i)
	}
}

func (r *Reader) table() Table {
	if r.ValType() == ExnRef { // of elements
		r.Fail(Unsupported, "a table of exceptions")
	}
	flags := r.Byte()
	if r.Err == nil && flags > 1 {
		r.Fail(Malformed, "table with unknown flags %#x", flags)
	}
	t := Table{Min: uint64(r.U32()), HasMax: flags&1 != 0}
	if t.HasMax {
		t.Max = uint64(r.U32())
	}
	if r.Err == nil && t.Min > MaxTableElements {
		r.TooMany("table elements", t.Min, MaxTableElements)
	}
	return t
}

func (r *Reader) memory() Memory {
	flags := r.Byte()
	if r.Err == nil && flags > 7 {
		r.Fail(Malformed, "memory with unknown flags %#x", flags)
	}
	mem := Memory{HasMax: flags&1 != 0, Shared: flags&2 != 0, Is64: flags&4 != 0}
	bits := uint(32)
	if mem.Is64 {
		bits = 64
	}
	mem.Min = r.Uleb(bits)
	if mem.HasMax {
		mem.Max = r.Uleb(bits)
	}
	return mem
}

// readCode checks the sizes of function bodies and the number of their locals.
func (m *Module) readCode(r *Reader) {
	imported := m.ImportedFunctions()
	var all uint64
	for i := range r.Count("function bodies", MaxFunctions) {
		size := r.U32()
		if size > MaxFunctionBytes {
			r.TooMany("bytes", uint64(size), MaxFunctionBytes)
		}
		body := r.Part(uint64(size), r.Where)
		var locals uint64
		for range body.Count("groups of locals", MaxLocals) {
			locals += uint64(body.U32())
			body.ValType()
			if body.Err == nil && locals > MaxLocals {
				body.TooMany("locals in one function", locals, MaxLocals)
			}
			if body.Err != nil {
				break
			}
		}
		if all += locals; all > MaxLocalsInAll {
			body.TooMany("locals in the functions up to this", all, MaxLocalsInAll)
		}
		if r.Err = cmp.Or(r.Err, body.Err); r.Err != nil {
			r.Err.Where = fmt.Sprintf("code of function %d", imported+i)
			return
		}
	}
}

// resolve gives exported functions their signatures.
func (m *Module) resolve() *Error {
	for i := range m.funcs {
		if int64(m.funcs[i]) >= int64(len(m.types)) {
			return &Error{
				Reason: Malformed, Where: names[SectionFunction],
				Message: fmt.Sprintf("function %d has type %d of %d", i, m.funcs[i], len(m.types)),
			}
		}
	}
	for i := range m.Exports {
		e := &m.Exports[i]
		if e.Kind > KindTag || (e.Kind == KindFunc && int64(e.Index) >= int64(len(m.funcs))) {
			return &Error{
				Reason: Malformed, Where: names[SectionExport],
				Message: fmt.Sprintf("export %q names %s %d, which does not exist", e.Name, e.Kind, e.Index),
			}
		}
		if e.Kind == KindFunc {
			e.Type = m.types[m.funcs[e.Index]]
		}
	}
	return nil
}
