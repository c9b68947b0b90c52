package meter

import (
	"fmt"
	"math"

	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// lowerer writes one function.
type lowerer struct {
	*lowering

	out     []byte
	frames  []lowFrame
	results []wasmbin.ValType
	kept    uint32 // local for a reference
	before  int    // bytes of the functions before it
	limit   int    // of all, in bytes
}

// lowFrame is a block of the guest that is open. The function is the first.
type lowFrame struct {
	labels  uint32 // that stand for it: the guest's own is the outermost
	handler bool   // the innermost one is where exceptions go
	clauses []clause

	outside uint32 // labels of the frames around it
	catches int    // the innermost frame that is a handler, among it and those around it; -1: none
}

func (w *lowerer) open(f lowFrame) {
	f.catches = -1
	if n := len(w.frames); n > 0 {
		f.outside, f.catches = w.frames[n-1].outside+w.frames[n-1].labels, w.frames[n-1].catches
	}
	if f.handler {
		f.catches = len(w.frames)
	}
	w.frames = append(w.frames, f)
}

// labels is how many there are, around the place that is written.
func (w *lowerer) labels() uint32 {
	f := &w.frames[len(w.frames)-1]
	return f.outside + f.labels
}

// full refuses code that has become too large: a clause or a throw may bring a thousand parameters.
func (w *lowerer) full(r *wasmbin.Reader) bool {
	if n := w.before + len(w.out); n > w.limit {
		r.TooMany("bytes of code without exceptions", uint64(n), uint64(w.limit))
	}
	return r.Err != nil
}

func (l *lowering) functions(r *wasmbin.Reader) error {
	section := r.Pos
	n := r.Count("function bodies", wasmbin.MaxFunctions)
	content := uleb(nil, uint64(n+len(l.wrapped)))
	own, limit := l.parsed.ImportedFunctions(), maxGrowth*len(l.data)+1<<20
	for i := range n {
		part := r.Part(uint64(r.U32()), fmt.Sprintf("code of function %d", own+i))
		if part.Err != nil {
			return part.Err
		}
		spans := l.origins.count()
		body := l.function(part, i, len(content), limit)
		if part.Err != nil {
			return part.Err
		}
		content = uleb(content, uint64(len(body)))
		l.origins.place(spans, len(content), section)
		content = append(content, body...)
	}
	for _, f := range l.wrapped {
		body := l.wrapper(f)
		if content = append(uleb(content, uint64(len(body))), body...); len(content) > limit {
			r.TooMany("bytes of code without exceptions", uint64(len(content)), uint64(limit))
			return r.Err
		}
	}
	l.emit(wasmbin.SectionCode, content)
	return asError(r.Err)
}

// wrapper is what the host calls instead of a function that may throw: an exception that nobody catches is a trap.
func (l *lowering) wrapper(f uint32) []byte {
	w := &lowerer{lowering: l, out: []byte{0}}
	for i := range l.parsed.FuncType(int(f)).Params {
		w.index(opLocalGet, uint32(i))
	}
	w.index(opCall, f)
	w.get()
	w.op(opIf, emptyBlock)
	w.constant(0)
	w.set()
	w.op(opUnreachable, opEnd, opEnd)
	return w.out
}

func (l *lowering) function(r *wasmbin.Reader, i, before, limit int) []byte {
	f := l.parsed.ImportedFunctions() + i
	w := &lowerer{lowering: l, results: l.parsed.FuncType(f).Results, before: before, limit: limit}
	groups := r.Count("groups of locals", wasmbin.MaxLocals)
	w.out = uleb(w.out, uint64(groups+1))
	w.kept = uint32(len(l.parsed.FuncType(f).Params))
	for range groups {
		n := r.U32()
		w.kept += n // bounded by wasmbin.Parse
		w.out = uleb(w.out, uint64(n))
		w.op(byte(plain(r.ValType())))
	}
	w.op(1, byte(wasmbin.V128))
	function := lowFrame{labels: 1}
	if l.throws[f] || l.tries[i] {
		function = lowFrame{labels: 2, handler: true}
		w.op(opBlock, emptyBlock)
	}
	w.open(function)
	for len(w.frames) > 0 && !w.full(r) {
		l.origins.add(len(w.out), r.Pos, false)
		w.instruction(r)
	}
	if r.Err == nil && r.Left() != 0 {
		r.Fail(wasmbin.Malformed, "code after the end of the function")
	}
	return w.out
}

func (w *lowerer) op(ops ...byte) { w.out = append(w.out, ops...) }

func (w *lowerer) index(op byte, i uint32) { w.out = uleb(append(w.out, op), uint64(i)) }

func (w *lowerer) constant(v int64) { w.out = sleb(append(w.out, opI32Const), v) }

func (w *lowerer) get() { w.index(opGlobalGet, w.globals) }

func (w *lowerer) set() { w.index(opGlobalSet, w.globals) }

// label is the depth of a branch of the guest, with more labels opened around it by lowering.
func (w *lowerer) label(r *wasmbin.Reader, depth, more uint32) uint32 {
	if int64(depth) >= int64(len(w.frames)) {
		r.Fail(wasmbin.Malformed, "branch to %d of %d labels", depth, len(w.frames))
		return 0
	}
	target := &w.frames[len(w.frames)-1-int(depth)]
	return more + w.labels() - target.outside - 1
}

// handler is the depth of a branch to where an exception goes. A function in which one may be under way always has
// such a place.
func (w *lowerer) handler() uint32 {
	i := w.frames[len(w.frames)-1].catches
	if i < 0 {
		return 0 // cannot be: see analyse
	}
	return w.labels() - w.frames[i].outside - w.frames[i].labels
}

// instruction copies an instruction, or writes code that does the same.
func (w *lowerer) instruction(r *wasmbin.Reader) {
	start := r.Pos
	switch op := r.Byte(); op {
	case opBlock, opLoop, opIf:
		w.op(op)
		w.op(w.blockType(r).code...)
		w.open(lowFrame{labels: 1})
	case opTryTable:
		w.try(r)
	case opEnd:
		w.end(r)
	case opBr, opBrIf:
		w.index(op, w.label(r, r.U32(), 0))
	case opBrTable:
		n := r.Count("labels", wasmbin.MaxFunctionBytes)
		w.index(op, uint32(n))
		for i := 0; i <= n && r.Err == nil; i++ {
			w.out = uleb(w.out, uint64(w.label(r, r.U32(), 0)))
		}
	case opThrow:
		w.throw(r)
	case opThrowRef:
		w.index(opLocalTee, w.kept)
		w.op(opVec, vecExtract, 0)
		w.index(opGlobalSet, w.slot(0))
		w.index(opLocalGet, w.kept)
		w.op(opVec, vecExtract, 1, opI32WrapI64)
		w.set()
		w.get()
		w.op(opI32Eqz, opIf, emptyBlock, opUnreachable, opEnd) // null
		w.index(opBr, w.handler())
	case opCall:
		f := r.U32()
		w.index(op, f)
		if w.throws[f] {
			w.check()
		}
	case opCallIndirect:
		w.index(op, r.U32())
		w.out = uleb(w.out, uint64(r.U32()))
		if w.anyThrows {
			w.check()
		}
	case opRefNull:
		w.op(nothing(r.ValType())...)
	case opSelectTyped:
		n := r.Byte()
		w.op(op, n, byte(plain(r.ValType())))
	default:
		w.skip(r, op)
		w.out = append(w.out, w.data[start:r.Pos]...)
	}
}

// check leaves for the handler if the call before it has thrown. What it returned then is dropped by the branch.
func (w *lowerer) check() {
	w.get()
	w.index(opBrIf, w.handler())
}

func (w *lowerer) throw(r *wasmbin.Reader) {
	tag := r.U32()
	if r.Err == nil && int64(tag) >= int64(len(w.tags)) {
		r.Fail(wasmbin.Malformed, "tag %d of %d", tag, len(w.tags))
	}
	if r.Err != nil {
		return
	}
	params := w.tags[tag].Params
	for i := len(params) - 1; i >= 0; i-- {
		switch params[i] {
		case wasmbin.I32:
			w.op(opI64ExtendI32U)
		case wasmbin.F32:
			w.op(opI32FromF32, opI64ExtendI32U)
		case wasmbin.F64:
			w.op(opI64FromF64)
		}
		w.index(opGlobalSet, w.slot(i))
	}
	w.constant(int64(tag) + 1)
	w.set()
	w.index(opBr, w.handler())
}

// slot is the global of a tag's parameter.
func (l *lowering) slot(i int) uint32 { return l.globals + 1 + uint32(i) }

// caught pushes the parameters of a tag.
func (w *lowerer) caught(tag wasmbin.FuncType) {
	for i, p := range tag.Params {
		w.index(opGlobalGet, w.slot(i))
		switch p {
		case wasmbin.I32:
			w.op(opI32WrapI64)
		case wasmbin.F32:
			w.op(opI32WrapI64, opF32FromI32)
		case wasmbin.F64:
			w.op(opF64FromI64)
		}
	}
}

// try opens a try_table: a block for its own label, and within it one whose end is the handler.
func (w *lowerer) try(r *wasmbin.Reader) {
	t := w.blockType(r)
	list := w.clauses(r)
	w.op(opBlock)
	w.op(t.code...)
	if len(list) == 0 {
		w.open(lowFrame{labels: 1})
		return
	}
	w.op(opBlock)
	if len(t.params) == 0 {
		w.op(emptyBlock)
	} else {
		w.out = sleb(w.out, int64(w.taking(t.params)))
	}
	w.open(lowFrame{labels: 2, handler: true, clauses: list})
}

// taking returns the type of a block that has parameters and no results.
func (l *lowering) taking(params []wasmbin.ValType) int {
	types := plainAll(params)
	i, ok := l.blocks[string(types)]
	if !ok {
		i = l.parsed.Types() + len(l.types)
		l.blocks[string(types)] = i
		l.types = append(l.types, append(append(uleb([]byte{0x60}, uint64(len(types))), types...), 0))
	}
	return i
}

// end closes the innermost frame.
func (w *lowerer) end(r *wasmbin.Reader) {
	top := len(w.frames) - 1
	f := w.frames[top]
	switch {
	case top == 0 && f.handler:
		w.op(opReturn, opEnd)
		for _, t := range w.results { // nobody looks at them
			w.op(nothing(t)...)
		}
	case f.handler:
		w.op(opBr, 1, opEnd)
		w.frames = w.frames[:top]
		w.open(lowFrame{labels: 1})
		w.dispatch(r, f.clauses)
	}
	w.op(opEnd)
	w.frames = w.frames[:top]
}

// dispatch finds the clause for the exception under way, or passes it on.
func (w *lowerer) dispatch(r *wasmbin.Reader, list []clause) {
	for _, c := range list {
		more := uint32(0)
		tagged := c.kind == catchTag || c.kind == catchTagRef
		if c.label == math.MaxUint32 {
			r.Fail(wasmbin.Malformed, "branch to %d of %d labels", c.label, len(w.frames))
		}
		if w.full(r) {
			return
		}
		if tagged {
			w.get()
			w.constant(int64(c.tag) + 1)
			w.op(opI32Eq, opIf, emptyBlock)
			w.caught(w.tags[c.tag])
			more = 1
		}
		if c.kind == catchTagRef || c.kind == catchAnythingRef {
			w.index(opGlobalGet, w.slot(0))
			w.op(opVec, vecSplat)
			w.get()
			w.op(opI64ExtendI32U, opVec, vecReplace, 1)
		}
		w.constant(0)
		w.set()
		w.index(opBr, w.label(r, c.label+1, more))
		if !tagged {
			return
		}
		w.op(opEnd)
	}
	w.index(opBr, w.handler())
}

// nothing is a constant of a type.
func nothing(t wasmbin.ValType) []byte {
	switch t {
	case wasmbin.I32:
		return []byte{opI32Const, 0}
	case wasmbin.I64:
		return []byte{opI64Const, 0}
	case wasmbin.F32:
		return append([]byte{opF32Const}, make([]byte, 4)...)
	case wasmbin.F64:
		return append([]byte{opF64Const}, make([]byte, 8)...)
	case wasmbin.V128, wasmbin.ExnRef:
		return append([]byte{opVec, vecConst}, make([]byte, 16)...)
	}
	return []byte{opRefNull, byte(t)}
}
