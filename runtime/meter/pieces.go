package meter

// slack bounds by how many instructions an execution of a piece may be overcharged. These are the instructions of
// smaller pieces that are charged along with it, whether they are executed or not. A charge costs about as much as
// two instructions.
const slack = 16

// unchecked bounds the instructions outside of loops of a function that is not checked when it is entered.
const unchecked = 16

// distance bounds the instructions between two checks in code that goes straight on: after so many, a check is added. A call
// counts as the number of instructions that a function may execute unchecked.
const distance = 1 << 14

// freeLocals is how many locals a function has for nothing. Two more locals cost a unit at its entry, so that a stack
// of calls grows by no more than some tens of bytes for each unit, whatever the functions look like.
const freeLocals = 64

// piece is a sequence of instructions that are executed together: if the first is, then all are, unless the guest
// ends or leaves the function by a trap. They need not be adjacent.
type piece struct {
	cost    int32 // instructions, those of merged pieces included
	merged  int32 // cost of the pieces that were merged into this one
	parent  int32 // the piece before it, which is executed whenever this one is
	header  bool  // begins with a check, or is the function's entry: never merged
	checked bool  // calls tick below zero
	dropped bool  // free, or merged into parent
	through bool  // of a loop that nothing branches to: executed whenever parent is, and as often
	form    form  // of a loop
	takes   bool  // a loop that has parameters
}

// form is how a loop is written; see emitter.loop.
type form byte

const (
	formBelow  form = iota // tick is called behind the loop
	formAbove              // tick is called before it
	formWithin             // tick is called in its header
	formOnce               // nothing branches to it: a block
)

// labels is how many labels a loop of this form has more than before, seen from within.
func (f form) labels() int32 {
	if f == formBelow || f == formAbove {
		return 3
	}
	return 0
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
	// These count only what stands in no loop within the frame that is checked; see entry.
	outside      int  // instructions
	outsideCalls bool // there are calls
}

// tuning is where code takes another form. Tests have other values than Rewrite.
type tuning struct {
	slack, distance int64
	loops           int   // see manyLoops
	effort          int64 // see maxEffort
}

// flow follows the control flow of one function and divides it into pieces.
type flow struct {
	tuning tuning

	pieces  []piece
	frames  []frame
	outside int  // instructions outside of loops
	calls   bool // among them
	looping int  // loops that are checked
	current int32
	// Instructions so far, and at the last check that they all passed; see distance.
	weight, last int64
	dead         bool // what follows cannot be reached
}

func (f *flow) reset() {
	f.pieces = append(f.pieces[:0], piece{cost: 1, header: true, checked: true})
	f.frames = f.frames[:0]
	f.current, f.outside, f.looping = 0, 0, 0
	f.weight, f.last = 0, 0
	f.dead, f.calls = false, false
	f.open(opBlock)
}

// add charges one instruction.
func (f *flow) add() {
	if !f.dead {
		f.pieces[f.current].cost++
		f.weight++
		f.top().outside++
	}
}

// call notes a call.
func (f *flow) call() {
	f.top().calls, f.top().outsideCalls = true, true
	f.weight += unchecked
}

// due reports whether it is time for a check.
func (f *flow) due() bool { return !f.dead && f.weight-f.last >= f.tuning.distance }

// check begins a piece that checks.
func (f *flow) check() int32 {
	f.last = f.weight
	f.current = int32(len(f.pieces))
	f.pieces = append(f.pieces, piece{header: true, checked: true})
	return f.current
}

// entry decides whether the function is checked when it is entered. A short function need not be checked if it calls
// only within its loops: a loop header is checked before the function can call anything. Each call to the function
// executes at most unchecked instructions without a check, and no more than this can go on between two checks for
// each call instruction of one function.
func (f *flow) entry() {
	f.pieces[0].checked = f.calls || f.outside > unchecked
}

// start begins a piece within the current one, or within from.
func (f *flow) start(from int32) int32 {
	f.current = int32(len(f.pieces))
	f.pieces = append(f.pieces, piece{parent: from})
	return f.current
}

// loop begins the piece of a loop header. The header itself costs one instruction: there is no free iteration. The
// header's check does not count for distance, because a loop to which nothing branches will have no check.
func (f *flow) loop(operands bool) int32 {
	f.open(opLoop)
	f.current = int32(len(f.pieces))
	f.pieces = append(f.pieces, piece{parent: f.top().piece, cost: 1, header: true, checked: true, takes: operands})
	f.top().body = f.current
	f.top().loops++
	return f.current
}

const (
	// manySets is how many instructions that set a local make a loop count as a loop with many variables.
	manySets = 8
	// manyLoops and muchState bound functions that may be made dearer to compile: a function with so many loops, or
	// with so many loops times the square of its locals, must not be. A compiler's effort grows with these numbers.
	manyLoops = 32
	muchState = 1 << 20
)

// endLoop decides how a loop that ends is written. A loop to which nothing branches is executed once: it is a block by another name. Tick is called
// before a loop that has many variables, if the variables are in registers. In a loop that calls something, variables are not in registers. A loop
// with a table of branches is most often a function of Go, which goes through it a few times only.
func (f *flow) endLoop(t *frame) {
	p := &f.pieces[t.body]
	switch {
	case !t.aimed:
		*p = piece{parent: p.parent, cost: p.cost - 1, through: true, form: formOnce}
		return
	case p.takes, !t.calls && t.sets >= manySets:
		p.form = formAbove
	}
	f.looping++
	t.outside, t.outsideCalls = 0, false
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

// end closes the innermost frame. The code behind it belongs to the piece in which the frame began, unless a branch within
// the frame goes past it: then this code is a piece of its own, and ok is true.
func (f *flow) end() (next int32, ok bool) {
	t := *f.top()
	f.frames = f.frames[:len(f.frames)-1]
	f.dead = t.dead
	f.current = t.piece
	f.last = t.last // a check within it may have been passed by
	if t.kind == opLoop {
		f.endLoop(&t)
	}
	if len(f.frames) == 0 {
		f.outside, f.calls = t.outside, t.outsideCalls
		return 0, false
	}
	outer := f.top()
	outer.outside += t.outside
	outer.outsideCalls = outer.outsideCalls || t.outsideCalls
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

// settle makes the loops of a function that is dear to compile call tick in their headers. It makes a piece that is
// executed once part of the piece before it. A parent stands before its children.
func (f *flow) settle(locals int) {
	large := f.looping >= f.tuning.loops || int64(f.looping)*int64(locals)*int64(locals) >= muchState
	for i := range f.pieces {
		p := &f.pieces[i]
		if large && p.form < formWithin {
			p.form = formWithin
		}
		if up := &f.pieces[p.parent]; up.through {
			p.parent = up.parent
		}
		if p.through {
			f.pieces[p.parent].cost += p.cost
			p.dropped = true
		}
	}
}

// merge drops the pieces that need no charge of their own: free pieces, and pieces that fit into the slack of their parent.
func (f *flow) merge() {
	for i := len(f.pieces) - 1; i > 0; i-- {
		p := &f.pieces[i]
		if p.header || p.dropped {
			continue
		}
		parent := &f.pieces[p.parent]
		if p.cost == 0 || int64(parent.merged)+int64(p.cost) <= f.tuning.slack {
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
