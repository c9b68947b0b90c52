package meter

import "slices"

// frame generates a block, loop or if that leaves values of the given types.
func (g *generator) frame(results []byte, depth int) {
	params := []byte(nil)
	if g.IntN(3) == 0 {
		params = g.types(3)
	}
	for _, p := range params {
		g.value(p, depth-1)
	}
	kind := g.IntN(5)
	if kind == 2 && g.nest >= 2 {
		kind = 0
	}
	typ := num(g.signature(params, results))
	switch kind {
	case 2:
		g.counting(params, results, typ, depth)
		return
	case 4:
		g.raw(opLoop, typ)
		g.labels = append(g.labels, label{types: params, once: true})
		g.inside(params, results, depth)
		g.labels = g.labels[:len(g.labels)-1]
		g.raw(opEnd)
		return
	case 3:
		g.value(i32, depth)
		g.ins(opIf, typ)
	default:
		g.raw(opBlock, typ)
	}
	g.labels = append(g.labels, label{types: results})
	g.inside(params, results, depth)
	if kind == 3 && (g.IntN(2) == 0 || !slices.Equal(params, results)) {
		g.raw(opElse)
		g.inside(params, results, depth)
	}
	g.labels = g.labels[:len(g.labels)-1]
	g.raw(opEnd)
}

// inside is the code of a frame: it takes params from the stack.
func (g *generator) inside(params, results []byte, depth int) {
	for range params {
		g.raw(opDrop)
	}
	for range g.IntN(4) {
		g.statement(depth)
	}
	for _, t := range results {
		g.value(t, depth)
	}
}

// counting is a loop that begins at most a few times, whatever branches to it: it counts down in a local of its own.
func (g *generator) counting(params, results, typ []byte, depth int) {
	n := g.local(i32)
	g.ins(opI32Const, 1+g.IntN(5))
	g.ins(opLocalSet, n)
	g.raw(opBlock, typ) // what leaves the loop early branches to it
	g.labels = append(g.labels, label{types: results})
	g.raw(opLoop, typ)
	g.labels = append(g.labels, label{types: params})
	g.nest++
	g.count(1) // the header
	for range params {
		g.raw(opDrop)
	}
	g.ins(opLocalGet, n)
	g.ins(opI32Const, 1)
	g.ins(opI32Sub)
	g.ins(opLocalTee, n)
	g.ins(0x45) // i32.eqz
	g.ins(opIf, emptyBlock)
	g.labels = append(g.labels, label{})
	for _, t := range results {
		g.leaf(t)
	}
	g.ins(opBr, 2)
	g.labels = g.labels[:len(g.labels)-1]
	g.raw(opEnd)
	g.inside(nil, params, depth)
	if g.IntN(2) == 0 {
		g.value(i32, 1)
		g.ins(opBrIf, 0)
		g.inside(params, results, depth)
	} else {
		g.ins(opBr, 0)
	}
	g.nest--
	g.labels = g.labels[:len(g.labels)-2]
	g.raw(opEnd, opEnd)
}

// jump generates a branch or return within an if, so that what follows can be reached, or an if that is left early.
func (g *generator) jump(depth int) {
	g.value(i32, depth-1)
	g.ins(opIf, emptyBlock)
	g.labels = append(g.labels, label{})
	switch g.IntN(6) {
	case 0:
		g.all(g.results)
		g.ins(opReturn)
	case 1:
		g.tail(depth)
	case 2:
		d := g.pick()
		g.all(g.target(d).types)
		g.ins(opBr, d)
	case 3:
		g.table()
	case 4:
		d := g.pick()
		g.all(g.target(d).types)
		g.leaf(i32)
		g.ins(opBrIf, d)
		for range g.target(d).types {
			g.raw(opDrop)
		}
	case 5:
		if g.IntN(30) == 0 {
			g.ins(opUnreachable)
		} else {
			g.statement(depth - 1)
		}
	}
	g.labels = g.labels[:len(g.labels)-1]
	g.raw(opEnd)
}

// pick returns the depth of a label that may be branched to.
func (g *generator) pick() int {
	for {
		if d := g.IntN(len(g.labels)); !g.target(d).once {
			return d
		}
	}
}

func (g *generator) target(depth int) label { return g.labels[len(g.labels)-1-depth] }

func (g *generator) all(types []byte) {
	for _, t := range types {
		g.leaf(t)
	}
}

// table generates br_table to frames that take the same.
func (g *generator) table() {
	d := g.pick()
	types := g.target(d).types
	var same []byte
	for i := range g.labels {
		if t := g.target(i); !t.once && slices.Equal(t.types, types) {
			same = append(same, byte(i))
		}
	}
	var depths []byte
	for range g.IntN(5) {
		depths = append(depths, same[g.IntN(len(same))])
	}
	g.all(types)
	g.leaf(i32)
	g.ins(opBrTable, list(nil)[:0], num(len(depths)), depths, same[0])
}

// tail generates a tail call of a function with the same results.
func (g *generator) tail(depth int) {
	for i, s := range g.sigs {
		if !slices.Equal(s.results, g.results) {
			continue
		}
		for _, p := range s.params {
			g.leaf(p)
		}
		if depth%2 == 0 {
			g.ins(opReturnCall, i)
			return
		}
		g.ins(opI32Const, g.element(i))
		g.ins(opReturnCallIndirect, g.signature(s.params, s.results), 0)
		return
	}
}
