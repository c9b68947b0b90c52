package meter

import "github.com/taskrt/taskrt/runtime/wasmbin"

// walk reads the instructions of a function up to its end.
func (w *rewriter) walk(r *wasmbin.Reader) {
	c := &w.code
	for r.Err == nil {
		start := r.Pos
		op := r.Byte()
		if op != opElse && op != opEnd && c.due() {
			c.effort.Check()
			c.begins(start, c.check())
		}
		switch immediates[op] {
		case none:
		case index:
			switch i := r.U32(); op {
			case opBr, opBrIf:
				c.branches(r, start, i, op == opBrIf)
			case opLocalGet, opLocalSet, opLocalTee:
				if !c.dead {
					c.effort.Use(i, op != opLocalGet)
				}
			}
			w.result.WritesTables = w.result.WritesTables || op == opTableSet
		case twoIndexes:
			w.callsType(r.U32())
			r.U32() // table
		case memarg:
			r.U32()
			r.U32()
			if !c.dead {
				c.effort.Access()
			}
		case reserved:
			zero(r)
		case number:
			skipNumber(r, op)
		case blockType:
			w.blockType(r)
		case special:
			w.special(r, start, op)
		default:
			refuse(r, start, op)
		}
		if r.Err != nil {
			return
		}
		c.flowOf(r, start, op)
		if c.effort.Estimate() > c.tuning.effort {
			return // it is enough
		}
		if len(c.frames) == 0 {
			if r.Left() != 0 {
				r.Fail(wasmbin.Malformed, "code after the end of the function")
			}
			return
		}
	}
}

// target notes a branch, and whether it leaves the function. on: control may go on behind it.
func (c *coder) target(r *wasmbin.Reader, depth uint32, on bool) (t target, leaves bool) {
	loops, ok := c.branch(depth)
	if !ok {
		r.Fail(wasmbin.Malformed, "branch to %d of %d labels", depth, len(c.frames))
		return t, false
	}
	if !c.dead {
		c.effort.Branch(int(depth), 1, on)
	}
	return target{int32(depth), loops}, int(depth) == len(c.frames)-1
}

// branches rewrites br or br_if, which stands at start.
func (c *coder) branches(r *wasmbin.Reader, start int, depth uint32, on bool) {
	t, leaves := c.target(r, depth, on)
	if leaves {
		c.edit(start, start, exit, 0)
	}
	if t.loops > 0 {
		c.edit(start+1, r.Pos, branchTo, int64(t.depth))
		c.edits[len(c.edits)-1].loops = t.loops
	}
}

// table rewrites br_table, which stands at start.
func (c *coder) table(r *wasmbin.Reader, start int) {
	n := r.Count("labels", wasmbin.MaxFunctionBytes) + 1 // and the default
	at, leaves := r.Pos, false
	for range n {
		depth := r.U32()
		if r.Err != nil {
			return
		}
		t, leaving := c.target(r, depth, false)
		c.targets = append(c.targets, t)
		leaves = leaves || leaving
	}
	if leaves {
		c.edit(start, start, exit, 0)
	}
	c.edit(at, r.Pos, labels, int64(n))
}

// zero reads the index of the memory.
func zero(r *wasmbin.Reader) {
	if r.Byte() != 0 {
		r.Fail(wasmbin.Unsupported, "a second memory")
	}
}

// blockType reads the type of a block: empty, one value type, or the index of a signature.
func (w *rewriter) blockType(r *wasmbin.Reader) {
	start := r.Pos
	w.code.params, w.code.results = 0, 0
	first := r.Byte()
	if first == emptyBlock || r.Err != nil {
		return
	}
	r.Pos = start
	if first >= 0x40 && first < 0x80 { // a negative number of one byte
		valType(r)
		w.code.results = 1
		return
	}
	switch i := r.Uleb(32); {
	case r.Err != nil:
	case i >= uint64(w.parsed.Types()):
		r.Pos = start
		r.Fail(wasmbin.Malformed, "block of type %d of %d", i, w.parsed.Types())
	default:
		t := w.parsed.Type(int(i))
		w.code.params, w.code.results = len(t.Params), len(t.Results)
	}
}

// special reads the immediates of instructions that have their own forms.
func (w *rewriter) special(r *wasmbin.Reader, start int, op byte) {
	c := &w.code
	at := r.Pos
	switch op {
	case opBrTable:
		c.table(r, start)
	case opCall, opReturnCall:
		i := r.U32()
		if int64(i) < int64(w.tick)+int64(w.parsed.Functions()) {
			w.calls(w.parsed.FuncType(int(i)))
		}
		c.edit(start, r.Pos, called, int64(w.function(i)))
	case opRefFunc:
		i := w.function(r.U32())
		c.edit(at, r.Pos, remap, int64(i))
	case opSelectTyped:
		if r.Byte() != 1 {
			r.Fail(wasmbin.Malformed, "select of other than one type")
		}
		valType(r)
	case opRefNull:
		valType(r)
	case opMisc:
		w.misc(r, start)
	case opVec:
		vector(r, start)
	}
}

// flowOf follows the control flow, and charges the instruction. Instructions that do nothing are free.
func (c *coder) flowOf(r *wasmbin.Reader, start int, op byte) {
	switch op {
	case opNop, opDrop:
	case opBlock:
		c.effort.Block(c.results)
		c.open(op)
	case opLoop:
		c.effort.Loop(c.params, c.results)
		c.edit(start, r.Pos, header, int64(c.loop(c.params > 0)))
	case opIf:
		c.effort.If(c.results)
		c.add()
		c.open(op)
		c.begins(r.Pos, c.start(c.current))
	case opElse:
		c.effort.Else(!c.dead)
		c.edit(r.Pos, r.Pos, meet, 0)
		c.begins(r.Pos, c.otherwise())
	case opEnd:
		c.effort.End(!c.dead)
		c.endOf(c.top(), start, r.Pos)
		if next, ok := c.end(); ok {
			c.begins(r.Pos, next)
		}
	case opLocalSet, opLocalTee:
		c.add()
		c.top().sets++
	case opBrTable:
		c.top().calls = true
		fallthrough
	case opBr:
		c.add()
		c.leave()
	case opBrIf:
		c.add()
		c.begins(r.Pos, c.start(c.current))
	case opUnreachable:
		c.add()
		c.leave()
	case opCall:
		c.add()
		c.call()
	case opCallIndirect:
		c.add()
		c.call()
		c.edit(start, r.Pos, called, -1)
	case opReturnCall, opReturnCallIndirect, opReturn:
		c.add()
		if op != opReturn {
			c.call()
		}
		if op != opReturnCall {
			c.edit(start, start, exit, 0)
		}
		c.target(r, uint32(len(c.frames)-1), false)
		c.leave()
	case opMemoryGrow:
		c.add()
		c.growth(r, start, pageShift)
	default:
		c.add()
	}
}

// endOf notes what the end of the innermost frame, between start and end, means for the counter.
func (c *coder) endOf(t *frame, start, end int) {
	switch {
	case len(c.frames) == 1:
		c.edit(start, start, exit, 0)
	case t.kind == opLoop:
		c.edit(end, end, footer, int64(t.body))
	case t.kind == opIf || t.aimed:
		c.edit(end, end, meet, 0)
	}
}

// Units per length: one for 16 bytes, for a page as much as for filling it, and one for an element of a table.
const (
	byteShift    = 4
	pageShift    = -12
	elementShift = 0
)

func (c *coder) growth(r *wasmbin.Reader, start int, shift int64) {
	c.bulk, c.grow = true, true
	c.edit(start, start, keepN, 0)
	c.edit(r.Pos, r.Pos, growN, shift)
}

func (c *coder) length(start int, shift int64) {
	c.bulk = true
	c.edit(start, start, chargeN, shift)
}

// long notes memory.fill or memory.copy.
func (w *rewriter) long(r *wasmbin.Reader, start int, helper uint32) {
	c := &w.code
	c.bulk, c.top().calls = true, true
	c.edit(start, r.Pos, bulk, int64(w.helper+helper))
}

// misc reads a numeric, memory or table instruction of two bytes.
func (w *rewriter) misc(r *wasmbin.Reader, start int) {
	c := &w.code
	sub := r.U32()
	if r.Err != nil {
		return
	}
	switch sub {
	case 0, 1, 2, 3, 4, 5, 6, 7: // saturating conversions
	case miscMemoryInit:
		r.U32()
		zero(r)
		c.length(start, byteShift)
	case miscMemoryCopy:
		zero(r)
		zero(r)
		w.long(r, start, helperCopy)
	case miscMemoryFill:
		zero(r)
		w.long(r, start, helperFill)
	case miscDataDrop:
		r.U32()
		w.result.DropsData = true
	case miscElemDrop, miscTableSize:
		r.U32()
	case miscTableInit, miscTableCopy:
		r.U32()
		r.U32()
		c.length(start, elementShift)
		w.result.WritesTables = true
	case miscTableGrow:
		r.U32()
		c.growth(r, start, elementShift)
		w.result.WritesTables, w.result.GrowsTables = true, true
	case miscTableFill:
		r.U32()
		c.length(start, elementShift)
		w.result.WritesTables = true
	default:
		refuse(r, start, opMisc)
	}
}

// vector reads an instruction for vectors. Its opcode must be encoded in the shortest way: the compiler reads only one
// byte of it, and takes a second for the next instruction.
func vector(r *wasmbin.Reader, start int) {
	sub := r.U32()
	if short := r.Pos-start == 2; r.Err != nil || sub > 0xff || short != (sub < 0x80) || !short && r.Pos-start != 3 {
		refuse(r, start, opVec)
		return
	}
	memory, bytes, ok := vecImmediate(byte(sub))
	if !ok {
		refuse(r, start, opVec)
		return
	}
	if memory {
		r.U32()
		r.U32()
	}
	r.Bytes(bytes)
}
