package wasmbin

import (
	"fmt"
	"math"
)

// CheckSegments refuses active segments that do not fit into the table or memory with which the module begins. Such a
// module can never be instantiated (WebAssembly 2.0, 4.5.4). Engines treat it differently: some drop the segment and
// all later ones without a word. Offsets are constant expressions over the module's own globals, so all of them are
// known. An offset that names an imported global is not checked. Errors are *Error.
func (m *Module) CheckSegments() error {
	var globals []constant
	for _, s := range m.Sections {
		r := m.Read(s)
		switch s.ID {
		case SectionGlobal:
			globals = m.globalValues(r)
		case SectionElement:
			m.checkElements(r, globals)
		case SectionData:
			m.checkData(r, globals)
		}
		if r.Err != nil {
			return r.Err
		}
	}
	return nil
}

// constant is the value of a constant expression, as far as it matters for an offset.
type constant struct {
	bits  uint64 // of an i32 or i64
	known bool
}

// globalValues evaluates the module's globals. Imported globals come first; nothing is known of them.
func (m *Module) globalValues(r *Reader) []constant {
	var globals []constant
	for _, i := range m.Imports {
		if i.Kind == KindGlobal {
			globals = append(globals, constant{})
		}
	}
	for range r.Count("globals", MaxGlobals) {
		r.ValType()
		r.Byte() // whether it is mutable
		globals = append(globals, r.constant(globals))
		if r.Err != nil {
			return nil
		}
	}
	return globals
}

// Bits of the flags of an element segment.
const (
	ElementPassive     = 1 // or declarative, if ElementIndex is set as well
	ElementIndex       = 2 // an active one names its table
	ElementExpressions = 4 // instead of function indexes
)

// segments reads the segments of a section. Its error says in which segment it occurred.
func (r *Reader) segments(what string, most uint32, read func()) {
	for i := range r.Count(what+" segments", most) {
		if read(); r.Err != nil {
			r.Err.Where = fmt.Sprintf("%s segment %d", what, i)
			return
		}
	}
}

func (m *Module) checkElements(r *Reader, globals []constant) {
	own := !m.importsAny(KindTable)
	r.segments("element", MaxElements, func() {
		flags := r.U32()
		if r.Err == nil && flags > 7 {
			r.Fail(Malformed, "element segment of unknown form %d", flags)
		}
		table, begin, active := uint32(0), r.Pos, flags&ElementPassive == 0
		var offset constant
		if active {
			if flags&ElementIndex != 0 {
				table = r.U32()
			}
			offset = r.constant(globals)
		}
		if flags&(ElementPassive|ElementIndex) != 0 {
			r.Byte() // their kind or type: the compiler's
		}
		n := r.Count("elements", math.MaxUint32)
		for range n {
			if flags&ElementExpressions != 0 {
				r.constant(globals)
			} else {
				r.U32()
			}
			if r.Err != nil {
				return
			}
		}
		if active && own && int64(table) < int64(len(m.Tables)) {
			r.fits(begin, offset, uint64(n), m.Tables[table].Min, "elements of table %d", table)
		}
	})
}

func (m *Module) checkData(r *Reader, globals []constant) {
	own := len(m.Memories) == 1 && !m.importsAny(KindMemory)
	r.segments("data", MaxData, func() {
		flags := r.U32()
		if r.Err == nil && flags > 2 {
			r.Fail(Malformed, "data segment of unknown form %d", flags)
		}
		if flags == 2 {
			r.U32() // memory
		}
		begin, active := r.Pos, flags != 1
		var offset constant
		if active {
			offset = r.constant(globals)
		}
		n := r.U32()
		r.Bytes(uint64(n))
		if active && own {
			r.fits(begin, offset, uint64(n), m.Memories[0].Min*PageSize, "bytes of memory")
		}
	})
}

// fits refuses a segment of n elements if it ends beyond size. The offset stands at begin in the file.
func (r *Reader) fits(begin int, offset constant, n, size uint64, of string, args ...any) {
	if at := uint64(uint32(offset.bits)); r.Err == nil && offset.known && at+n > size {
		r.Pos = begin
		r.Fail(BadSegment, "does not fit: %d at offset %d, of %d %s", n, at, size, fmt.Sprintf(of, args...))
	}
}

func (m *Module) importsAny(k Kind) bool {
	for _, i := range m.Imports {
		if i.Kind == k {
			return true
		}
	}
	return false
}

// constant reads a constant expression up to its end, extended ones as well. The compiler checks the types: here
// a value that is not a number is unknown.
func (r *Reader) constant(globals []constant) constant {
	var stack []constant
	push := func(bits uint64, known bool) { stack = append(stack, constant{bits, known}) }
	for r.Err == nil {
		switch op := r.Byte(); op {
		case 0x0b: // end
			if len(stack) != 1 {
				return constant{}
			}
			return stack[0]
		case 0x41: // i32.const
			push(uint64(uint32(r.Sleb(32))), true)
		case 0x42: // i64.const
			push(uint64(r.Sleb(64)), true)
		case 0x43: // f32.const
			r.Bytes(4)
			push(0, false)
		case 0x44: // f64.const
			r.Bytes(8)
			push(0, false)
		case 0x23: // global.get
			i := r.U32()
			if int64(i) < int64(len(globals)) {
				stack = append(stack, globals[i])
			} else {
				push(0, false)
			}
		case 0xd0: // ref.null
			r.ValType()
			push(0, false)
		case 0xd2: // ref.func
			r.U32()
			push(0, false)
		case 0xfd: // a vector
			if r.U32() != 12 {
				r.Fail(Malformed, "vector instruction in a constant expression")
			}
			r.Bytes(16)
			push(0, false)
		case 0x6a, 0x6b, 0x6c, 0x7c, 0x7d, 0x7e: // add, sub and mul of i32 and i64
			if len(stack) < 2 {
				r.Fail(Malformed, "instruction %#x without operands in a constant expression", op)
				return constant{}
			}
			a, b := stack[len(stack)-2], stack[len(stack)-1]
			stack = stack[:len(stack)-2]
			push(arithmetic(op, a.bits, b.bits), a.known && b.known)
		default:
			r.Pos--
			r.Fail(Unsupported, "instruction %#x in a constant expression", op)
		}
	}
	return constant{}
}

// arithmetic computes with 64 bits; results of i32 are the lower half.
func arithmetic(op byte, a, b uint64) uint64 {
	var v uint64
	switch op {
	case 0x6a, 0x7c:
		v = a + b
	case 0x6b, 0x7d:
		v = a - b
	default:
		v = a * b
	}
	if op < 0x7c {
		v = uint64(uint32(v))
	}
	return v
}
