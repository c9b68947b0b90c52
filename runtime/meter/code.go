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

// label appends the label of a branch in the metered code.
func (c *coder) label(out []byte, t target) []byte {
	open := len(c.extra) - 1
	return uleb(out, uint64(t.depth+c.extra[open]-c.extra[open-int(t.loops)]))
}
