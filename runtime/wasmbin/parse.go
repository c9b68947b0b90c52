package wasmbin

import (
	"bytes"
	"cmp"
	"fmt"
)

// Limits on counts and sizes: generous for real programs (a Go program has some 4,000 functions and 21,000 data
// segments), small enough that compiling and instantiating stay bounded.
const (
	MaxSections      = 1000
	MaxTypes         = 20_000
	MaxParams        = 1000 // and results of one function
	MaxImports       = 1000
	MaxFunctions     = 50_000
	MaxFunctionBytes = 2 << 20 // code of one function
	MaxLocals        = 50_000  // of one function
	MaxGlobals       = 20_000
	MaxExports       = 10_000
	MaxTables        = 16
	MaxTableElements = 1 << 18
	MaxElements      = 10_000 // element segments
	MaxData          = 100_000
)

// Section IDs.
const (
	sectionCustom    = 0
	sectionType      = 1
	sectionImport    = 2
	sectionFunction  = 3
	sectionTable     = 4
	sectionMemory    = 5
	sectionGlobal    = 6
	sectionExport    = 7
	sectionStart     = 8
	sectionElement   = 9
	sectionCode      = 10
	sectionData      = 11
	sectionDataCount = 12
	sectionTag       = 13
)

// order of the sections that may stand once: data count and tag stand where their IDs do not say.
var order = [...]int{
	sectionType: 1, sectionImport: 2, sectionFunction: 3, sectionTable: 4, sectionMemory: 5, sectionTag: 6, sectionGlobal: 7,
	sectionExport: 8, sectionStart: 9, sectionElement: 10, sectionDataCount: 11, sectionCode: 12, sectionData: 13,
}

var names = [...]string{
	"custom section", "type section", "import section", "function section", "table section", "memory section",
	"global section", "export section", "start section", "element section", "code section", "data section",
	"data count section", "tag section",
}

// The 8 bytes before everything: magic, then version and layer (16 bits each).
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
	r := &reader{data: data, pos: 8, whole: true}
	last := 0
	for r.more() {
		s := Section{header: r.pos}
		s.ID = r.byte()
		r.where = "section header"
		if int(s.ID) < len(names) {
			r.where = names[s.ID]
		} else {
			r.pos--
			r.fail(Malformed, "unknown section %d", s.ID)
			break
		}
		if s.ID != sectionCustom {
			if order[s.ID] <= last {
				r.fail(Malformed, "out of order, or twice")
			}
			last = order[s.ID]
		}
		if len(m.Sections) == MaxSections {
			r.tooMany("sections", MaxSections+1, MaxSections)
		}
		size := r.u32()
		s.Start = r.pos
		body := r.part(uint64(size), r.where)
		s.End = r.pos
		m.section(&s, body)
		r.err = cmp.Or(r.err, body.err)
		m.Sections = append(m.Sections, s)
	}
	if r.err == nil {
		r.err = m.resolve()
	}
	if r.err != nil {
		return nil, r.err
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

// section reads what interests us of one section; r covers exactly its content.
func (m *Module) section(s *Section, r *reader) {
	if r.err != nil {
		return
	}
	switch s.ID {
	case sectionCustom:
		s.Name = r.name()
		s.Start = r.pos
		return // the rest is anything
	case sectionType:
		m.readTypes(r)
	case sectionImport:
		m.readImports(r)
	case sectionFunction:
		for range r.count("functions", MaxFunctions) {
			m.funcs = append(m.funcs, r.u32())
		}
	case sectionTable:
		for range r.count("tables", MaxTables) {
			m.Tables = append(m.Tables, r.table())
		}
	case sectionMemory:
		for range r.count("memories", MaxTables) {
			m.Memories = append(m.Memories, r.memory())
		}
	case sectionGlobal:
		r.count("globals", MaxGlobals)
		return
	case sectionExport:
		for range r.count("exports", MaxExports) {
			m.Exports = append(m.Exports, Export{Name: r.name(), Kind: Kind(r.byte()), Index: r.u32()})
			if r.err != nil {
				return
			}
		}
	case sectionStart:
		r.u32()
		m.HasStart = true
	case sectionElement:
		r.count("element segments", MaxElements)
		return
	case sectionCode:
		readCode(r)
	case sectionData:
		r.count("data segments", MaxData)
		return
	case sectionDataCount:
		if n := r.u32(); n > MaxData {
			r.tooMany("data segments", uint64(n), MaxData)
		}
	case sectionTag:
		return
	}
	if r.err == nil && r.left() != 0 {
		r.fail(Malformed, "%d bytes too many at its end", r.left())
	}
}

func (m *Module) readTypes(r *reader) {
	for range r.count("types", MaxTypes) {
		if form := r.byte(); r.err == nil && form != 0x60 {
			r.pos--
			r.fail(Malformed, "type of unknown form %#x", form)
		}
		m.types = append(m.types, FuncType{Params: r.valTypes("parameters"), Results: r.valTypes("results")})
		if r.err != nil {
			return
		}
	}
}

func (r *reader) valTypes(what string) []ValType {
	n := r.count(what, MaxParams)
	if n == 0 || r.err != nil {
		return nil
	}
	ts := make([]ValType, n)
	for i, b := range r.bytes(uint64(n)) {
		ts[i] = ValType(b)
	}
	return ts
}

func (m *Module) readImports(r *reader) {
	for range r.count("imports", MaxImports) {
		i := Import{Module: r.name(), Name: r.name(), Kind: Kind(r.byte())}
		switch i.Kind {
		case KindFunc:
			t := r.u32()
			if r.err == nil && int64(t) >= int64(len(m.types)) {
				r.fail(Malformed, "import %s.%s has type %d of %d", i.Module, i.Name, t, len(m.types))
			}
			if r.err == nil {
				i.Type = m.types[t]
				m.funcs = append(m.funcs, t)
			}
		case KindTable:
			r.table()
		case KindMemory:
			r.memory()
		case KindGlobal:
			r.bytes(2)
		case KindTag:
			r.byte()
			r.u32()
		default:
			r.fail(Malformed, "import %s.%s has unknown kind %d", i.Module, i.Name, i.Kind)
		}
		if r.err != nil {
			return
		}
		m.Imports = append(m.Imports, i)
	}
}

func (r *reader) table() Table {
	r.byte() // element type
	flags := r.byte()
	if r.err == nil && flags > 1 {
		r.fail(Malformed, "table with unknown flags %#x", flags)
	}
	t := Table{Min: uint64(r.u32()), HasMax: flags&1 != 0}
	if t.HasMax {
		t.Max = uint64(r.u32())
	}
	if r.err == nil && t.Min > MaxTableElements {
		r.tooMany("table elements", t.Min, MaxTableElements)
	}
	return t
}

func (r *reader) memory() Memory {
	flags := r.byte()
	if r.err == nil && flags > 7 {
		r.fail(Malformed, "memory with unknown flags %#x", flags)
	}
	mem := Memory{HasMax: flags&1 != 0, Shared: flags&2 != 0, Is64: flags&4 != 0}
	bits := uint(32)
	if mem.Is64 {
		bits = 64
	}
	mem.Min = r.uleb(bits)
	if mem.HasMax {
		mem.Max = r.uleb(bits)
	}
	return mem
}

// readCode checks the sizes of function bodies and the number of their locals.
func readCode(r *reader) {
	for i := range r.count("function bodies", MaxFunctions) {
		size := r.u32()
		if r.err == nil && size > MaxFunctionBytes {
			r.where = fmt.Sprintf("code of function %d", i)
			r.tooMany("bytes", uint64(size), MaxFunctionBytes)
		}
		body := r.part(uint64(size), r.where)
		var locals uint64
		for range body.count("groups of locals", MaxLocals) {
			locals += uint64(body.u32())
			body.byte()
			if body.err == nil && locals > MaxLocals {
				body.tooMany("locals in one function", locals, MaxLocals)
			}
			if body.err != nil {
				break
			}
		}
		if r.err = cmp.Or(r.err, body.err); r.err != nil {
			return
		}
	}
}

// resolve gives exported functions their signatures.
func (m *Module) resolve() *Error {
	for i := range m.funcs {
		if int64(m.funcs[i]) >= int64(len(m.types)) {
			return &Error{
				Reason: Malformed, Where: names[sectionFunction],
				Message: fmt.Sprintf("function %d has type %d of %d", i, m.funcs[i], len(m.types)),
			}
		}
	}
	for i := range m.Exports {
		e := &m.Exports[i]
		if e.Kind > KindTag || (e.Kind == KindFunc && int64(e.Index) >= int64(len(m.funcs))) {
			return &Error{
				Reason: Malformed, Where: names[sectionExport],
				Message: fmt.Sprintf("export %q names %s %d, which does not exist", e.Name, e.Kind, e.Index),
			}
		}
		if e.Kind == KindFunc {
			e.Type = m.types[m.funcs[e.Index]]
		}
	}
	return nil
}
