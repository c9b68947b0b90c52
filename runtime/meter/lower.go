package meter

import (
	"math"
	"slices"

	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// lowering turns a module with exceptions into a module without exceptions that does the same. An exception under way
// is a global that is not zero. The code looks at this global behind each call that may throw. Handlers are blocks,
// and the code branches to them. Metering and the compiler see plain code. See DESIGN.md, "How do exceptions work?".
//
// The exception under way is the number of its tag, counted from 1, in an i32; its parameters are in slots, i64. A
// reference to an exception, which the guest may keep, is a vector: the first slot, and the number.
type lowering struct {
	parsed  *wasmbin.Module
	data    []byte
	out     []byte
	origins *Origins // nil: nobody asks

	tags      []wasmbin.FuncType
	narrow    bool   // no tag has more than one parameter: only then there may be references
	globals   uint32 // of the guest; then the exception under way, and slots for the parameters of tags
	slots     int    // of the latter
	tries     []bool // of each own function: it has a try_table
	throws    []bool // by function index: it may return while an exception is under way
	anyThrows bool
	wrapped   []uint32 // functions that the host calls and that may throw
	instead   map[uint32]uint32
	types     [][]byte       // that are added
	blocks    map[string]int // of those, by their parameters
}

// These are opcodes of exceptions, and opcodes that only lowering writes.
const (
	opThrow          = 0x08
	opThrowRef       = 0x0a
	opTryTable       = 0x1f
	opI32Eqz         = 0x45
	opI32Eq          = 0x46
	opI32WrapI64     = 0xa7
	opI32FromF32     = 0xbc
	opI64FromF64     = 0xbd
	opF32FromI32     = 0xbe
	opF64FromI64     = 0xbf
	vecSplat         = 18 // of i64x2, as the next two
	vecExtract       = 29
	vecReplace       = 30
	catchTag         = 0 // kinds of clauses of try_table
	catchTagRef      = 1
	catchEverything  = 2
	catchAnythingRef = 3
)

// lower returns the module without exceptions, nil if it has none.
func lower(parsed *wasmbin.Module, wasm []byte, origins *Origins) ([]byte, error) {
	if !slices.ContainsFunc(parsed.Sections, func(s wasmbin.Section) bool { return s.ID == wasmbin.SectionTag }) {
		return nil, nil
	}
	l := &lowering{parsed: parsed, data: wasm, origins: origins, narrow: true, slots: 1, blocks: make(map[string]int), instead: make(map[uint32]uint32)}
	for _, i := range parsed.Imports {
		switch i.Kind {
		case wasmbin.KindTag:
			return nil, refused("import section", "tags cannot be imported")
		case wasmbin.KindGlobal:
			l.globals++
		}
	}
	for _, read := range []func() error{l.readTags, l.countGlobals, l.analyse, l.sections} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return l.out, nil
}

// section returns a reader of a section's content, nil if there is none.
func (l *lowering) section(id byte) *wasmbin.Reader {
	for _, s := range l.parsed.Sections {
		if s.ID == id {
			return l.parsed.Read(s)
		}
	}
	return nil
}

func (l *lowering) readTags() error {
	r := l.section(wasmbin.SectionTag)
	for range r.Count("tags", wasmbin.MaxGlobals) {
		if r.Byte() != 0 {
			r.Fail(wasmbin.Malformed, "tag of an unknown kind")
		}
		t := r.U32()
		if r.Err == nil && int64(t) >= int64(l.parsed.Types()) {
			r.Fail(wasmbin.Malformed, "tag of type %d of %d", t, l.parsed.Types())
		}
		if r.Err != nil {
			return r.Err
		}
		params := l.parsed.Type(int(t))
		for _, p := range params.Params {
			switch p {
			case wasmbin.I32, wasmbin.I64, wasmbin.F32, wasmbin.F64:
			default:
				r.Fail(wasmbin.Unsupported, "a tag with a parameter of type %s", p)
				return r.Err
			}
		}
		l.tags = append(l.tags, params)
		l.narrow = l.narrow && len(params.Params) <= 1
		l.slots = max(l.slots, len(params.Params))
	}
	return asError(r.Err)
}

func (l *lowering) countGlobals() error {
	if r := l.section(wasmbin.SectionGlobal); r != nil {
		l.globals += uint32(r.Count("globals", wasmbin.MaxGlobals))
		return asError(r.Err)
	}
	return nil
}

// calls is what a function does that decides whether it may throw.
type calls struct {
	direct   []uint32 // functions
	indirect bool
	throws   bool // by itself
	tries    bool
}

// analyse finds out which functions may throw: by themselves, or through their calls. If any function may throw, a
// function in a table may.
func (l *lowering) analyse() error {
	own := l.parsed.ImportedFunctions()
	l.throws = make([]bool, own+l.parsed.Functions())
	r := l.section(wasmbin.SectionCode)
	if r == nil {
		return nil
	}
	n := r.Count("function bodies", wasmbin.MaxFunctions)
	if n != l.parsed.Functions() {
		r.Fail(wasmbin.Malformed, "%d function bodies for %d functions", n, l.parsed.Functions())
	}
	callers := make(map[uint32][]uint32) // order-free: looked up only
	var todo, indirect []uint32
	for i := range n {
		part := r.Part(uint64(r.U32()), "code section")
		found := l.look(part)
		if part.Err != nil {
			return part.Err
		}
		f := uint32(own + i)
		for _, callee := range found.direct {
			callers[callee] = append(callers[callee], f)
		}
		if found.throws {
			todo = append(todo, f)
		}
		if found.indirect {
			indirect = append(indirect, f)
		}
		l.tries = append(l.tries, found.tries)
	}
	if l.anyThrows = len(todo) > 0; l.anyThrows {
		todo = append(todo, indirect...)
	}
	for len(todo) > 0 {
		f := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !l.throws[f] {
			l.throws[f] = true
			todo = append(todo, callers[f]...)
		}
	}
	return asError(r.Err)
}

// look reads a function without changing anything.
func (l *lowering) look(r *wasmbin.Reader) (found calls) {
	for range r.Count("groups of locals", wasmbin.MaxLocals) {
		r.U32()
		r.ValType()
	}
	for r.More() {
		switch op := r.Byte(); op {
		case opThrow, opThrowRef:
			found.throws = true
			if op == opThrow {
				r.U32()
			}
		case opTryTable:
			found.tries = true
			l.blockType(r)
			l.clauses(r)
		case opCall, opReturnCall:
			if f := r.U32(); int64(f) < int64(len(l.throws)) {
				found.direct = append(found.direct, f)
			} else {
				r.Fail(wasmbin.Malformed, "call of function %d of %d", f, len(l.throws))
			}
		case opCallIndirect, opReturnCallIndirect:
			found.indirect = true
			r.U32()
			r.U32()
		default:
			l.skip(r, op)
		}
	}
	return found
}

// skip reads the immediates of an instruction that lowering need not understand.
func (l *lowering) skip(r *wasmbin.Reader, op byte) {
	start := r.Pos - 1
	switch immediates[op] {
	case none:
	case index:
		r.U32()
	case twoIndexes, memarg:
		r.U32()
		r.U32()
	case reserved:
		r.Byte()
	case number:
		skipNumber(r, op)
	case blockType:
		l.blockType(r)
	case special:
		l.skipSpecial(r, op)
	default:
		refuse(r, start, op)
	}
}

func (l *lowering) skipSpecial(r *wasmbin.Reader, op byte) {
	switch op {
	case opBrTable:
		for range r.Count("labels", wasmbin.MaxFunctionBytes) + 1 {
			if r.U32(); r.Err != nil {
				return
			}
		}
	case opCall, opReturnCall, opRefFunc:
		r.U32()
	case opSelectTyped:
		r.Byte()
		r.ValType()
	case opRefNull:
		r.ValType()
	case opMisc:
		l.skipMisc(r)
	case opVec:
		vector(r, r.Pos-1)
	}
}

func (l *lowering) skipMisc(r *wasmbin.Reader) {
	start := r.Pos - 1
	switch sub := r.U32(); {
	case sub <= 7, r.Err != nil: // conversions
	case sub == miscMemoryFill:
		r.Byte()
	case sub == miscMemoryInit, sub == miscMemoryCopy, sub == miscTableInit, sub == miscTableCopy:
		r.U32()
		r.U32()
	case sub == miscDataDrop, sub == miscElemDrop, sub == miscTableGrow, sub == miscTableSize, sub == miscTableFill:
		r.U32()
	default:
		refuse(r, start, opMisc)
	}
}

// shape is the type of a block: its parameters, if it has any, and how it is written without exceptions.
type shape struct {
	params []wasmbin.ValType
	code   []byte
}

func (l *lowering) blockType(r *wasmbin.Reader) shape {
	start := r.Pos
	first := r.Byte()
	switch {
	case r.Err != nil || first == emptyBlock:
		return shape{code: []byte{emptyBlock}}
	case first >= 0x40 && first < 0x80:
		r.Pos = start
		return shape{code: []byte{byte(plain(r.ValType()))}}
	}
	r.Pos = start
	i := r.Uleb(32)
	if r.Err == nil && i >= uint64(l.parsed.Types()) {
		r.Pos = start
		r.Fail(wasmbin.Malformed, "block of type %d of %d", i, l.parsed.Types())
	}
	if r.Err != nil {
		return shape{}
	}
	return shape{params: l.parsed.Type(int(i)).Params, code: sleb(nil, int64(i))}
}

// plain is what a type is without exceptions.
func plain(t wasmbin.ValType) wasmbin.ValType {
	if t == wasmbin.ExnRef {
		return wasmbin.V128
	}
	return t
}

func plainAll(types []wasmbin.ValType) []byte {
	b := make([]byte, len(types))
	for i, t := range types {
		b[i] = byte(plain(t))
	}
	return b
}

// clause of a try_table. Its label is counted from outside of it.
type clause struct {
	kind       byte
	tag, label uint32
}

func (l *lowering) clauses(r *wasmbin.Reader) []clause {
	var list []clause
	for range r.Count("catch clauses", math.MaxUint32) {
		c := clause{kind: r.Byte()}
		switch c.kind {
		case catchTag, catchTagRef:
			if c.tag = r.U32(); r.Err == nil && int64(c.tag) >= int64(len(l.tags)) {
				r.Fail(wasmbin.Malformed, "tag %d of %d", c.tag, len(l.tags))
			}
		case catchEverything, catchAnythingRef:
		default:
			r.Fail(wasmbin.Malformed, "catch clause of unknown kind %d", c.kind)
		}
		if c.kind&1 != 0 && !l.narrow && r.Err == nil {
			r.Fail(wasmbin.Unsupported, "a reference to an exception, in a module with tags of more than one parameter")
		}
		c.label = r.U32()
		if r.Err != nil {
			return nil
		}
		list = append(list, c)
	}
	return list
}
