package meter

import (
	"fmt"

	"github.com/taskrt/taskrt/runtime/meter/effort"
	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// action is what happens at a place of a function.
type action byte

const (
	charge   action = iota // of the piece arg
	header                 // of a loop, which stands between pos and end; arg is its piece
	footer                 // behind a loop; arg is the piece of its header
	meet                   // behind this place, control comes from elsewhere as well
	exit                   // before an instruction that may leave the function
	called                 // between pos and end; arg is the function, or -1
	remap                  // the index between pos and end becomes arg
	branchTo               // the label between pos and end, arg frames outside, loops of them loops
	labels                 // those between pos and end become the next arg ones that the coder keeps
	chargeN                // before an instruction: by its length operand; arg is the shift, right if positive
	growN                  // behind memory.grow or table.grow: by the growth, if it did; keep was done before
	keepN                  // before those: the operand goes to a local
	bulk                   // memory.fill or memory.copy between pos and end; arg is the helper
)

// edit is a change of a function's code. Edits are in the order of their places.
type edit struct {
	pos, end int32
	arg      int32
	loops    int32
	action   action
}

// target is where a branch goes.
type target struct{ depth, loops int32 } // frames that it leaves, and loops among them

// coder rewrites functions, one after the other.
type coder struct {
	flow
	edits    []edit
	targets  []target // of br_table, in the order of the edits
	extra    []int32  // labels that the loops that are open have more than before, each with those around it
	helpType uint32   // signature of the helpers
	effort   effort.Function
	params   int // of the block type that was read last
	results  int
	bulk     bool     // needs a local for lengths
	grow     bool     // needs one for results of grow
	origins  *Origins // nil: nobody asks
}

// functions writes the code section.
func (w *rewriter) functions(r *wasmbin.Reader) error {
	section := r.Pos
	n := r.Count("function bodies", wasmbin.MaxFunctions)
	if r.Err == nil && n != w.parsed.Functions() {
		r.Fail(wasmbin.Malformed, "%d function bodies for %d functions", n, w.parsed.Functions())
	}
	if r.Err != nil {
		return r.Err
	}
	content := make([]byte, 0, r.Left()+r.Left()/4)
	if w.helped {
		content = uleb(content, uint64(n+helpers))
	} else {
		content = uleb(content, uint64(n))
	}
	var body []byte
	for i := range n {
		where := fmt.Sprintf("code of function %d", int(w.tick)+i)
		part := r.Part(uint64(r.U32()), where)
		spans := w.code.origins.count()
		body = w.body(body[:0], part, int(w.tick)+i)
		if part.Err != nil {
			if name := w.parsed.FunctionName(int(w.tick) + i); name != "" {
				part.Err.Where = fmt.Sprintf("%s (%q)", where, name)
			}
			return part.Err
		}
		content = uleb(content, uint64(len(body)))
		w.code.origins.place(spans, len(content), section)
		content = append(content, body...)
		if limit := maxGrowth*len(w.data) + 1<<20; len(content) > limit {
			part.TooMany("bytes of code once it is metered", uint64(len(content)), uint64(limit))
			return part.Err
		}
	}
	if r.Left() != 0 {
		r.Fail(wasmbin.Malformed, "%d bytes too many at its end", r.Left())
		return r.Err
	}
	if w.helped {
		content = w.helperBodies(content)
	}
	w.emit(wasmbin.SectionCode, content)
	return nil
}

// body appends the metered body of a function.
func (w *rewriter) body(out []byte, r *wasmbin.Reader, function int) []byte {
	c := &w.code
	groups := r.Count("groups of locals", wasmbin.MaxLocals)
	afterCount := r.Pos
	locals := len(w.parsed.FuncType(function).Params)
	for range groups {
		locals += int(r.U32()) // bounded by wasmbin.Parse
		valType(r)
	}
	code := r.Pos
	c.reset()
	c.effort.Begin(len(w.parsed.FuncType(function).Params), locals, len(w.parsed.FuncType(function).Results))
	c.targets = c.targets[:0]
	c.edits = c.edits[:0]
	c.begins(code, 0)
	c.bulk, c.grow = false, false
	c.helpType = w.helpType
	w.walk(r)
	w.weigh(r)
	if r.Err != nil {
		return nil
	}
	c.pieces[0].cost += int32(max(0, locals-freeLocals) / 2)
	c.entry()
	c.settle(locals)
	c.merge()
	charges, lazy := c.charges()
	e := emitter{
		out: out, counter: w.globals, tick: w.tick, copied: c.bulk || charges > 1, lazy: lazy,
		left: uint32(locals), length: uint32(locals) + 1, result: uint32(locals) + 2,
	}
	added := [][2]byte{{1, byte(wasmbin.I64)}}
	if c.bulk {
		added = append(added, [2]byte{1, byte(wasmbin.I32)})
	}
	if c.grow {
		added[1][0] = 2
	}
	e.out = uleb(e.out, uint64(groups+len(added)))
	e.out = append(e.out, w.data[afterCount:code]...)
	for _, a := range added {
		e.out = append(e.out, a[:]...)
	}
	c.apply(&e, w.data[code:r.Pos], code)
	return e.out
}

// apply copies the code with its edits. base is the place of the code's first byte.
func (c *coder) apply(e *emitter, code []byte, base int) {
	at, next := 0, 0
	c.extra = append(c.extra[:0], 0)
	for _, x := range c.edits {
		begin := int(x.pos) - base
		c.origins.add(len(e.out), base+at, true)
		e.out = append(e.out, code[at:begin]...)
		c.origins.add(len(e.out), base+begin, false)
		at = int(x.end) - base
		replaced := code[begin:at]
		switch x.action {
		case charge:
			if p := &c.pieces[x.arg]; !p.dropped {
				e.charge(int64(p.cost), p.checked, x.arg == 0)
			}
		case header:
			p := &c.pieces[x.arg]
			c.extra = append(c.extra, c.extra[len(c.extra)-1]+p.form.labels())
			e.loop(p, replaced[1:])
		case footer:
			c.extra = c.extra[:len(c.extra)-1]
			e.endLoop(&c.pieces[x.arg])
		case meet:
			e.meet()
		case exit:
			e.flush()
		case called:
			e.call(replaced, int64(x.arg))
		case remap:
			e.out = uleb(e.out, uint64(uint32(x.arg)))
		case branchTo:
			e.out = c.label(e.out, target{x.arg, x.loops})
		case labels:
			for _, t := range c.targets[next : next+int(x.arg)] {
				e.out = c.label(e.out, t)
			}
			next += int(x.arg)
		case chargeN:
			e.chargeLength(int64(x.arg))
		case bulk:
			e.bulk(replaced, c.helpType, uint32(x.arg))
		case keepN:
			e.set(opLocalTee, e.length)
		case growN:
			e.chargeGrowth(int64(x.arg))
		}
	}
	c.origins.add(len(e.out), base+at, true)
	e.out = append(e.out, code[at:]...)
}

func (c *coder) edit(pos, end int, a action, arg int64) {
	c.edits = append(c.edits, edit{pos: int32(pos), end: int32(end), action: a, arg: int32(arg)}) // see maxBytes
}

// begins notes that a piece begins at a place.
func (c *coder) begins(pos int, p int32) { c.edit(pos, pos, charge, int64(p)) }

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

// label appends the label of a branch in the metered code.
func (c *coder) label(out []byte, t target) []byte {
	open := len(c.extra) - 1
	return uleb(out, uint64(t.depth+c.extra[open]-c.extra[open-int(t.loops)]))
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

// Units per length: one for 16 bytes, and as much for a page as for filling it; one for an element of a table.
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
