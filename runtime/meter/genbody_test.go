package meter

// value generates code that leaves one value.
func (g *generator) value(t byte, depth int) {
	if depth <= 0 || g.budget <= 0 {
		g.leaf(t)
		return
	}
	switch g.IntN(12) {
	case 0, 1, 2:
		g.leaf(t)
	case 3:
		g.load(t, depth-1)
	case 4:
		g.frame([]byte{t}, depth-1)
	case 5:
		g.callFor(t, depth-1)
	case 6:
		g.value(t, depth-1)
		g.value(t, depth-1)
		g.value(i32, depth-1)
		g.ins(opSelectTyped, 1, t)
	case 7:
		if t == i32 {
			g.observe(depth - 1)
			return
		}
		fallthrough
	default:
		g.operate(t, depth-1)
	}
}

// leaf is a constant, local or global.
func (g *generator) leaf(t byte) {
	if i := g.find(g.locals[:g.vars], t); i >= 0 && g.IntN(2) == 0 {
		g.ins(opLocalGet, i)
		return
	}
	if i := g.find(g.globals, t); i >= 0 && g.IntN(2) == 0 {
		g.ins(opGlobalGet, i)
		return
	}
	g.ins(g.constant(t))
}

// find returns the index of something of a type, or -1.
func (g *generator) find(ts []byte, t byte) int {
	if len(ts) == 0 {
		return -1
	}
	first := g.IntN(len(ts))
	for i := range ts {
		if at := (first + i) % len(ts); ts[at] == t {
			return at
		}
	}
	return -1
}

func (g *generator) operate(t byte, depth int) {
	first := g.IntN(len(operations))
	for i := range operations {
		o := operations[(first+i)%len(operations)]
		if traps := o.op[0] >= 0x6d && o.op[0] <= 0x70 || o.op[0] >= 0x7f && o.op[0] <= 0x82 || o.op[0] == 0xa8; traps && g.IntN(100) > 0 {
			continue
		}
		if o.result == t {
			for _, p := range o.takes {
				g.value(p, depth)
			}
			g.ins(o.op)
			return
		}
	}
	g.leaf(t)
}

// address leaves an address that is nearly always within the first page.
func (g *generator) address(depth int) {
	g.value(i32, depth)
	if g.IntN(200) > 0 {
		g.ins(opI32Const, 0xff, 0x07)
		g.ins(0x71) // i32.and
	}
}

func (g *generator) load(t byte, depth int) {
	g.address(depth)
	switch t {
	case i32:
		g.ins(0x2c+g.IntN(4), 0, g.IntN(9))
	case i64:
		g.ins(0x30+g.IntN(6), 0, 3)
	case f32:
		g.ins(0x2a, 0, 1)
	case f64:
		g.ins(0x2b, 0, 0)
	default:
		g.ins(opVec, 0, 0, 5)
	}
}

// observe leaves an i32 that tells of the size of something, or of a reference.
func (g *generator) observe(depth int) {
	switch g.IntN(6) {
	case 0:
		g.ins(0x3f, 0) // memory.size
	case 1:
		g.ins(opMisc, miscTableSize, g.IntN(2))
	case 2:
		g.growth(func() { g.ins(opMemoryGrow, 0) }, nil, 12)
	case 3:
		g.growth(func() { g.ins(opMisc, miscTableGrow, 0) }, func() { g.ins(opRefFunc, 0) }, 0)
	case 4:
		g.value(i32, depth)
		g.ins(opI32Const, 7)
		g.ins(0x71)    // i32.and
		g.ins(0x25, 0) // table.get
		g.ins(0xd1)    // ref.is_null
	default:
		g.ins(opRefNull, externref)
		g.ins(0xd1)
	}
}

// growth generates an instruction that grows, by 0 to 2, or by far too much.
func (g *generator) growth(grow, operand func(), shift int) {
	n, result := g.local(i32), g.local(i32)
	if operand != nil {
		operand()
	}
	delta := g.IntN(4)
	if delta == 3 {
		delta = -1
	}
	g.ins(opI32Const, delta&0x7f)
	if g.counted {
		g.raw(opLocalTee, n)
	}
	grow()
	if g.counted {
		g.raw(opLocalTee, result, opLocalGet, result, opI32Const, 0x7f, opI32Ne, opIf, emptyBlock)
		g.countLength(n, false, shift)
		g.raw(opEnd)
	}
}

// length leaves the length of a bulk operation and counts it.
func (g *generator) length(mask, shift int) {
	n := g.local(i32)
	g.value(i32, 1)
	if g.IntN(200) > 0 {
		g.ins(opI32Const, mask)
		g.ins(0x71) // i32.and
	}
	if g.counted {
		g.raw(opLocalTee, n)
		g.countLength(n, true, shift)
	}
}

// bulk generates a bulk operation. They trap if they do not fit.
func (g *generator) bulk(depth int) {
	small := func() { g.ins(opI32Const, g.IntN(6)) }
	switch g.IntN(9) {
	case 0:
		g.address(depth)
		g.value(i32, depth)
		g.length(63, byteShift)
		g.ins(opMisc, miscMemoryFill, 0)
	case 1:
		g.address(depth)
		g.address(depth)
		g.length(63, byteShift)
		g.ins(opMisc, miscMemoryCopy, 0, 0)
	case 2:
		g.address(depth)
		small()
		g.length(7, byteShift)
		g.ins(opMisc, miscMemoryInit, 1, 0)
	case 3:
		small()
		small()
		g.length(3, elementShift)
		g.ins(opMisc, miscTableCopy, 0, 0)
	case 4:
		small()
		small()
		g.length(1, elementShift)
		g.ins(opMisc, miscTableInit, 1, 0)
	case 5:
		small()
		g.ins(opRefFunc, g.IntN(len(g.sigs)))
		g.length(3, elementShift)
		g.ins(opMisc, miscTableFill, 0)
	case 6:
		small()
		g.ins(opRefNull, funcref)
		g.ins(opTableSet, 0)
	case 7:
		if g.IntN(4) == 0 {
			g.ins(opMisc, miscDataDrop, 1)
		}
	case 8:
		if g.IntN(4) == 0 {
			g.ins(opMisc, miscElemDrop, 1+g.IntN(2))
		}
	}
}

// statement generates code that leaves the stack as it is.
func (g *generator) statement(depth int) {
	if g.budget <= 0 {
		return
	}
	if g.throwing && g.IntN(4) == 0 {
		g.budget--
		if g.IntN(3) == 0 {
			g.throw(depth)
		} else {
			g.try(depth)
		}
		return
	}
	switch g.IntN(10) {
	case 0, 1:
		if i := g.IntN(g.vars + 1); i < g.vars {
			g.value(g.locals[i], depth)
			g.ins(opLocalSet, i)
		}
	case 2:
		i := g.IntN(len(g.globals))
		g.value(g.globals[i], depth)
		g.ins(opGlobalSet, i)
	case 3:
		g.address(depth)
		g.value(i64, depth)
		g.ins(0x37+5, 0, 2) // i64.store8
	case 4:
		g.bulk(depth - 1)
	case 5, 6, 7:
		g.frame(nil, depth-1)
	case 8:
		g.jump(depth)
	case 9:
		g.call(depth - 1)
	}
}

// call calls a function, directly or not, and drops its results.
func (g *generator) call(depth int) {
	i := g.IntN(len(g.sigs))
	g.arguments(i, depth)
	for range g.sigs[i].results {
		g.raw(opDrop)
	}
}

func (g *generator) arguments(i, depth int) {
	for _, p := range g.sigs[i].params {
		g.value(p, depth)
	}
	if g.IntN(3) == 0 {
		g.ins(opI32Const, g.element(i))
		g.ins(opCallIndirect, g.signature(g.sigs[i].params, g.sigs[i].results), 0)
		return
	}
	g.ins(opCall, i)
}

// element returns the index of a table's element that is function i, unless the table was changed, or any index.
func (g *generator) element(i int) int {
	if i < 6 && g.IntN(50) > 0 {
		return i
	}
	return g.IntN(8)
}

// callFor calls a function with one result of a type, if there is one.
func (g *generator) callFor(t byte, depth int) {
	for i, s := range g.sigs {
		if len(s.results) == 1 && s.results[0] == t {
			g.arguments(i, depth)
			return
		}
	}
	g.leaf(t)
}
