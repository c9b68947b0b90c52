package meter

// tagTypes are the tags of generated modules: of nothing, an i32, an i64, an f32.
var tagTypes = [][]byte{nil, {i32}, {i64}, {f32}}

const exnref = byte(0x69)

// generateThrowing makes a module like generate's, in which exceptions are thrown and caught.
func generateThrowing(seed1, seed2 uint64) *generator {
	return generateWith(seed1, seed2, func(g *generator) {
		g.throwing = true
		for _, t := range tagTypes {
			g.tag(t...)
		}
	})
}

// throw generates one within an if, so that what follows can be reached.
func (g *generator) throw(depth int) {
	g.value(i32, depth-1)
	g.ins(opIf, emptyBlock)
	tag := g.IntN(len(tagTypes))
	g.all(tagTypes[tag])
	g.ins(opThrow, tag)
	g.raw(opEnd)
}

// try generates one of the ways to catch exceptions.
func (g *generator) try(depth int) {
	switch g.IntN(4) {
	case 0: // of one tag, with what it brings
		tag := g.IntN(len(tagTypes))
		g.catching(tagTypes[tag], depth, bin(1, catchTag, tag, 0))
		for range tagTypes[tag] {
			g.raw(opDrop)
		}
	case 1: // of one tag, else of all, in either order
		g.catching(nil, depth, [][]byte{bin(2, catchTag, 0, 0, catchEverything, 0), bin(2, catchEverything, 0, catchTag, 0, 0)}[g.IntN(2)])
	case 2: // nothing, within what is caught
		g.catching(nil, depth, bin(0))
	case 3: // of all, to throw it again, perhaps after others
		kept := g.local(exnref)
		g.raw(opBlock, emptyBlock)
		g.labels = append(g.labels, label{})
		g.raw(opBlock, exnref)
		g.labels = append(g.labels, label{once: true})
		g.raw(opTryTable, emptyBlock, 1, catchAnythingRef, 0)
		g.labels = append(g.labels, label{})
		g.inside(nil, nil, depth-1)
		g.labels = g.labels[:len(g.labels)-1]
		g.raw(opEnd)
		g.ins(opBr, 1)
		g.labels = g.labels[:len(g.labels)-1]
		g.raw(opEnd)
		g.ins(opLocalSet, kept)
		g.inside(nil, nil, depth-1)
		g.value(i32, depth-1)
		g.ins(opIf, emptyBlock)
		g.ins(opLocalGet, kept)
		g.ins(opThrowRef)
		g.raw(opEnd)
		g.labels = g.labels[:len(g.labels)-1]
		g.raw(opEnd)
	}
}

// catching generates a try_table whose handlers bring values of the given types, and so does its body.
func (g *generator) catching(types []byte, depth int, clauses []byte) {
	typ := num(g.signature(nil, types))
	g.raw(opBlock, typ)
	g.labels = append(g.labels, label{types: types})
	g.raw(opTryTable, typ, clauses)
	g.labels = append(g.labels, label{types: types})
	g.inside(nil, types, depth-1)
	g.labels = g.labels[:len(g.labels)-1]
	g.raw(opEnd)
	g.labels = g.labels[:len(g.labels)-1]
	g.raw(opEnd)
}
