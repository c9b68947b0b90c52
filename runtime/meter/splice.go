package meter

import (
	"math"

	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// splicer copies the content of a section while it reads it, except for parts that are replaced.
type splicer struct {
	w      *rewriter
	r      *wasmbin.Reader
	none   bool // the guest has no such section
	copied int  // position up to which out holds everything
	out    []byte
}

// flush copies the bytes that were read.
func (s *splicer) flush() {
	s.out = append(s.out, s.w.data[s.copied:s.r.Pos]...)
	s.copied = s.r.Pos
}

// replace puts a number in the place of the bytes that were read since start.
func (s *splicer) replace(start int, v uint64) {
	if s.r.Err != nil {
		return
	}
	s.out = append(s.out, s.w.data[s.copied:start]...)
	s.out = uleb(s.out, v)
	s.copied = s.r.Pos
}

// function maps the index of a function.
func (s *splicer) function() {
	start := s.r.Pos
	s.replace(start, uint64(s.w.function(s.r.U32())))
}

// vector reads the length of a vector and puts a longer one in its place.
func (s *splicer) vector(what string, added int) int {
	if s.none {
		s.out = uleb(s.out, uint64(added))
		return 0
	}
	start := s.r.Pos
	n := s.r.Count(what, math.MaxUint32)
	s.replace(start, uint64(n+added))
	return n
}

// end copies the rest of the bytes that were read, before entries are added.
func (s *splicer) end() {
	if !s.none && s.r.Err == nil {
		s.flush()
	}
}

// globals adds the counter behind all others.
func (s *splicer) globals() {
	for range s.vector("globals", 1) {
		valType(s.r)
		s.r.Byte() // mutable
		s.constant()
		if s.r.Err != nil {
			return
		}
	}
	s.end()
	s.out = append(s.out, byte(wasmbin.I64), 1, opI64Const, 0, opEnd)
}

// exports adds the counter and the mutable globals that are not exported yet.
func (s *splicer) exports() {
	var added []Global
	for _, g := range s.w.result.Globals {
		if len(g.Name) > len(Prefix) && g.Name[:len(Prefix)] == Prefix {
			added = append(added, g)
		}
	}
	for range s.vector("exports", len(added)+1) {
		s.r.Name()
		if kind := wasmbin.Kind(s.r.Byte()); kind == wasmbin.KindFunc {
			s.function()
		} else {
			s.r.U32()
		}
		if s.r.Err != nil {
			return
		}
	}
	s.end()
	for _, g := range append(added, Global{Name: Fuel, Index: s.w.globals}) {
		s.out = append(str(s.out, g.Name), byte(wasmbin.KindGlobal))
		s.out = uleb(s.out, uint64(g.Index))
	}
}

// elements maps the functions in the eight forms of element segments.
func (s *splicer) elements() {
	for range s.vector("element segments", 0) {
		flags := s.r.U32()
		if s.r.Err == nil && flags > 7 {
			s.r.Fail(wasmbin.Malformed, "element segment of unknown form %d", flags)
		}
		if flags&wasmbin.ElementPassive == 0 {
			if flags&wasmbin.ElementIndex != 0 {
				s.r.U32()
			}
			s.constant()
		}
		if flags&(wasmbin.ElementPassive|wasmbin.ElementIndex) != 0 {
			s.elementKind(flags&wasmbin.ElementExpressions != 0)
		}
		for range s.r.Count("elements", math.MaxUint32) {
			if flags&wasmbin.ElementExpressions != 0 {
				s.constant()
			} else {
				s.function()
			}
			if s.r.Err != nil {
				return
			}
		}
	}
	s.end()
}

// data checks the data segments: the compiler allocates as many bytes as a segment says it has, before it looks
// whether they are there.
func (s *splicer) data() {
	for range s.vector("data segments", 0) {
		flags := s.r.U32()
		if s.r.Err == nil && flags > 2 {
			s.r.Fail(wasmbin.Malformed, "data segment of unknown form %d", flags)
		}
		if flags == 2 && s.r.U32() != 0 {
			s.r.Fail(wasmbin.Unsupported, "a second memory")
		}
		if flags != 1 {
			s.constant()
		}
		if s.r.Bytes(uint64(s.r.U32())); s.r.Err != nil {
			return
		}
	}
	s.end()
}

// elementKind reads the type of a segment's elements.
func (s *splicer) elementKind(expressions bool) {
	if expressions {
		valType(s.r)
	} else if s.r.Byte() != 0 {
		s.r.Fail(wasmbin.Unsupported, "element segment of an unknown kind")
	}
}

// constant reads a constant expression, extended ones as well, and maps ref.func.
func (s *splicer) constant() {
	for s.r.Err == nil {
		switch op := s.r.Byte(); op {
		case opEnd:
			return
		case opI32Const, opI64Const, opF32Const, opF64Const:
			skipNumber(s.r, op)
		case opGlobalGet:
			s.r.U32()
		case opRefNull:
			valType(s.r)
		case opRefFunc:
			s.function()
		case opI32Add, opI32Sub, opI32Mul, opI64Add, opI64Sub, opI64Mul:
		case opVec:
			if s.r.U32() != vecConst {
				s.r.Fail(wasmbin.Malformed, "vector instruction in a constant expression")
			}
			s.r.Bytes(16)
		default:
			s.r.Pos--
			s.r.Fail(wasmbin.Unsupported, "instruction %#x in a constant expression", op)
		}
	}
}
