package meter

// slack bounds by how many instructions an execution of a piece may be overcharged: the instructions of smaller pieces
// that are charged along with it, whether they are executed or not. A charge costs about as much as two instructions.
const slack = 16

// unchecked bounds the instructions outside of loops of a function that is not checked when it is entered.
const unchecked = 16

// distance bounds the instructions between two checks in code that goes straight on: there a check is added. A call
// counts as what a function may execute unchecked.
const distance = 1 << 14

// piece is a sequence of instructions that are executed together: if the first is, then all are, unless the guest
// ends or leaves the function by a trap. They need not be adjacent.
type piece struct {
	cost    int32 // instructions, those of merged pieces included
	merged  int32 // cost of the pieces that were merged into this one
	parent  int32 // the piece before it, which is executed whenever this one is
	header  bool  // begins with a check, or is the function's entry: never merged
	checked bool  // calls tick below zero
	dropped bool  // free, or merged into parent
	outer   bool  // a loop whose outer header calls tick; see emitter.loop
}

// frame is a block, loop or if that is open.
type frame struct {
	piece int32 // current where it began: it is executed whenever the frame is entered
	least int32 // outermost frame that a branch within it goes to
	loops int32 // among it and the frames around it
	body  int32 // piece of a loop's header
	sets  int32 // instructions within it that set a local
	last  int64 // weight at the last check before it
	kind  byte  // opcode that opened it
	calls bool  // there are calls or br_table within it
	aimed bool  // a branch goes to it
	dead  bool  // it cannot be reached
}

// flow follows the control flow of one function and divides it into pieces.
type flow struct {
	pieces  []piece
	frames  []frame
	outside int   // instructions outside of loops
	calls   bool  // among them
	slack   int64 // see slack
	current int32
	// Instructions so far, at the last check that they all passed, and at most between two checks; see distance.
	weight, last, distance int64
	dead                   bool // what follows cannot be reached
}

func (f *flow) reset() {
	f.pieces = append(f.pieces[:0], piece{cost: 1, header: true, checked: true})
	f.frames = f.frames[:0]
	f.current, f.outside = 0, 0
	f.weight, f.last = 0, 0
	f.dead, f.calls = false, false
	f.open(opBlock)
}

// add charges one instruction.
func (f *flow) add() {
	if !f.dead {
		f.pieces[f.current].cost++
		f.weight++
		if f.top().loops == 0 {
			f.outside++
		}
	}
}

// call notes a call.
func (f *flow) call() {
	f.calls = f.calls || f.top().loops == 0
	f.top().calls = true
	f.weight += unchecked
}

// due reports whether it is time for a check.
func (f *flow) due() bool { return !f.dead && f.weight-f.last >= f.distance }

// check begins a piece that checks.
func (f *flow) check() int32 {
	f.last = f.weight
	f.current = int32(len(f.pieces))
	f.pieces = append(f.pieces, piece{header: true, checked: true})
	return f.current
}

// entry decides whether the function is checked when it is entered. A short one need not be if it calls only within
// its loops: before it can call anything, a loop header is checked. What it executes without is bounded by unchecked
// for each call to it, and no more than that can go on between two checks for each call instruction of one function.
func (f *flow) entry() {
	f.pieces[0].checked = f.calls || f.outside > unchecked
}

// start begins a piece within the current one, or within from.
func (f *flow) start(from int32) int32 {
	f.current = int32(len(f.pieces))
	f.pieces = append(f.pieces, piece{parent: from})
	return f.current
}

// loop begins the piece of a loop header. The header itself costs one instruction: there is no free iteration.
func (f *flow) loop(operands bool) int32 {
	f.open(opLoop)
	f.current = int32(len(f.pieces))
	f.pieces = append(f.pieces, piece{cost: 1, header: true, checked: true, outer: operands})
	f.last = f.weight
	f.top().body = f.current
	f.top().loops++
	return f.current
}

// manySets is from how many instructions on that set a local a loop is taken for one with many variables.
const manySets = 8

// form decides how a loop that ends is written: with the call of tick in an outer header, if it has many variables that
// are in registers. Those of a loop that calls something are not, and a loop with a table of branches is most often a
// function of Go, which goes through it a few times only.
func (f *flow) form(t *frame) {
	p := &f.pieces[t.body]
	p.outer = p.outer || !t.calls && t.sets >= manySets
}

// open begins a frame.
func (f *flow) open(kind byte) {
	x := frame{piece: f.current, least: int32(len(f.frames)), kind: kind, dead: f.dead, last: f.last}
	if len(f.frames) > 0 {
		x.loops = f.top().loops
	}
	f.frames = append(f.frames, x)
}

func (f *flow) top() *frame { return &f.frames[len(f.frames)-1] }

// otherwise begins the else part of the innermost frame.
func (f *flow) otherwise() int32 {
	f.dead, f.last = f.top().dead, f.top().last
	return f.start(f.top().piece)
}

// end closes the innermost frame. What follows belongs to the piece in which the frame began, unless a branch within
// it goes past: then it is a piece of its own, and ok is true.
func (f *flow) end() (next int32, ok bool) {
	t := *f.top()
	f.frames = f.frames[:len(f.frames)-1]
	f.dead = t.dead
	f.current = t.piece
	f.last = t.last // a check within it may have been passed by
	if t.kind == opLoop {
		f.form(&t)
	}
	if len(f.frames) == 0 {
		return 0, false
	}
	outer := f.top()
	outer.least = min(outer.least, t.least)
	outer.sets += t.sets
	outer.calls = outer.calls || t.calls
	if int(t.least) >= len(f.frames) {
		return 0, false
	}
	return f.start(t.piece), true
}

// branch notes a branch to the frame that is depth frames outside of the innermost, and returns the loops between.
func (f *flow) branch(depth uint32) (loops int32, ok bool) {
	if int64(depth) >= int64(len(f.frames)) {
		return 0, false
	}
	t := f.top()
	target := int32(len(f.frames) - 1 - int(depth))
	f.frames[target].aimed = true
	t.least = min(t.least, target)
	return t.loops - f.frames[target].loops, true
}

// leave notes that what follows cannot be reached.
func (f *flow) leave() { f.dead = true }

// merge drops the pieces that need no charge of their own: what is free, and what fits into the slack of its parent.
// A parent stands before its children.
func (f *flow) merge() {
	for i := len(f.pieces) - 1; i > 0; i-- {
		p := &f.pieces[i]
		if p.header {
			continue
		}
		parent := &f.pieces[p.parent]
		if p.cost == 0 || int64(parent.merged)+int64(p.cost) <= f.slack {
			parent.cost += p.cost
			parent.merged += p.cost
			p.dropped = true
		}
	}
}

// charges counts the pieces that are charged; lazy tells whether there are some among them that do not check.
func (f *flow) charges() (n int, lazy bool) {
	for i := range f.pieces {
		if p := &f.pieces[i]; !p.dropped {
			n++
			lazy = lazy || !p.checked
		}
	}
	return n, lazy
}
