// Package effort estimates what a function costs a compiler, before the compiler sees it, in nanoseconds of one core of 2026 that compiles with
// wazero 1.12. It leaves out costs that are linear in the code, because files are bounded. The remaining costs grow with a product, so even small
// files can cost much: branches times their depth, places where ways meet times the square of the values that are alive there, calls times the number
// of their results.
//
// The estimate is right within a factor of three, and mostly too high, over the shapes of package wasmbin/shapes (a
// test holds it to this). It depends on the code alone: every machine refuses the same functions.
package effort

import (
	"math"
	"slices"
)

// Costs, in nanoseconds.
const (
	perStep   = 6   // from a block to what dominates it: for each edge of the flow graph up to the entry
	perPhi    = 0.7 // of the square of the values that a block takes, for each way that comes to it and each round
	perLookup = 60  // of a local in a block
	perWay    = 0.4 // of the square of the ways that come to one block
	perValue  = 300 // given to or by a call or block
	perLabel  = 0.6 // that a branch goes past
	perBound  = 26  // of an address that is known to be within memory, for each block that it is known in
	perKnown  = 1   // of the same, for each call
)

// Function follows the control flow of one function, as far as it can be reached.
type Function struct {
	locals []local
	frames []frame
	merges []merge
	serial int32 // of the frame that was opened last
	ended  int64 // locals whose last use so far is behind the last merge

	depth   int64 // of the current block in the dominator tree
	steps   int64
	bounds  int64 // addresses that are known to be within memory
	known   int64 // the same, summed up over blocks
	calls   int64 // the same, summed up over calls
	labels  int64
	values  int64
	lookups int64
	rounds  int32 // most loops within each other that something branches to
}

// local is the state of a local variable.
type local struct {
	seen   int32 // the last merge before its last use
	frame  int32 // place of the frame in which it was set first
	serial int32 // of that frame; 0: it is needed from the entry on
	used   bool
}

// frame is a block, loop or if that is open.
type frame struct {
	depth    int64 // of the block in which it began
	bounds   int64 // known there
	results  int64
	ways     int64 // that come to its end; of a loop, to its header
	least    way   // of those of the current part
	then     way   // the same of an if's first part
	serial   int32
	loop     int32 // place of the innermost loop, this included; -1: there is none
	header   int32 // merge of a loop
	nested   int32 // most loops within it
	kind     kind
	crossing []crossing
}

type kind uint8

const (
	block kind = iota
	loop
	ifThen
	ifElse
)

// way is where a way comes from: the depth of the block, and what is known in it. Of several, it is the least.
type way struct{ depth, bounds int64 }

// none stands for a way that does not exist.
var none = way{math.MaxInt64, math.MaxInt64}

func (w way) or(x way) way { return way{min(w.depth, x.depth), min(w.bounds, x.bounds)} }

// crossing is a local that a loop may need from before the loop. The local was used last behind merge seen.
type crossing struct{ local, seen int32 }

// merge is a block to which several ways come.
type merge struct {
	alive int64 // locals that it takes, more than the merge before
	takes int64 // values on the stack
	ways  int64
}

// Begin begins a function with locals locals, params included.
func (f *Function) Begin(params, locals, results int) {
	*f = Function{frames: f.frames[:0], merges: append(f.merges[:0], merge{}), locals: slices.Grow(f.locals[:0], locals)[:locals]}
	clear(f.locals)
	for i := range params {
		f.locals[i].used = true
	}
	f.Block(results)
}

// edge notes ways from the current block to others.
func (f *Function) edge(n int64) {
	f.steps += n * f.depth
	f.known += n * f.bounds
}

func (f *Function) here() way { return way{f.depth, f.bounds} }

// at goes on in a block behind other blocks.
func (f *Function) at(w way) { f.depth, f.bounds = w.depth+1, w.bounds }

// Block begins a block.
func (f *Function) Block(results int) { f.open(block, results) }

// If begins an if.
func (f *Function) If(results int) {
	f.edge(2)
	f.open(ifThen, results)
	f.depth++
}

// Else begins the other part of an if. falls says that the first part may go on behind the if.
func (f *Function) Else(falls bool) {
	t := f.top()
	f.fall(t, falls)
	t.kind, t.then, t.least = ifElse, t.least, none
	f.at(way{t.depth, t.bounds})
}

// Loop begins a loop that takes values from the stack.
func (f *Function) Loop(params, results int) {
	f.edge(1)
	f.meet(int64(params), 1)
	f.open(loop, results)
	t := f.top()
	t.header, t.loop = int32(len(f.merges)-1), int32(len(f.frames)-1)
	f.depth++
}

func (f *Function) open(k kind, results int) {
	f.serial++
	t := frame{depth: f.depth, bounds: f.bounds, serial: f.serial, results: int64(results), kind: k, least: none, then: none, loop: -1}
	if len(f.frames) > 0 {
		t.loop = f.top().loop
	}
	f.frames = append(f.frames, t)
	f.values += int64(results)
}

func (f *Function) top() *frame { return &f.frames[len(f.frames)-1] }

// meet adds a merge.
func (f *Function) meet(takes, ways int64) {
	f.merges = append(f.merges, merge{takes: takes, ways: ways, alive: -f.ended})
	f.ended = 0
}

func (f *Function) fall(t *frame, falls bool) {
	if falls {
		f.edge(1)
		t.ways++
		t.least = t.least.or(f.here())
	}
}

// End ends the innermost frame. falls says that control may go on behind it without a branch.
func (f *Function) End(falls bool) {
	t := f.top()
	if t.kind == loop {
		f.endLoop(t, falls)
	} else {
		if t.kind == ifThen { // without else
			f.Else(falls)
			falls = true
		}
		f.fall(t, falls)
		if (t.least == none) == (t.then == none) { // an if of which both parts come here, or nothing does
			f.at(way{t.depth, t.bounds})
		} else {
			f.at(t.least.or(t.then))
		}
		if t.ways > 1 {
			f.meet(t.results, t.ways)
		}
	}
	nested := t.nested
	f.frames = f.frames[:len(f.frames)-1]
	f.rounds = max(f.rounds, nested)
	if len(f.frames) > 0 {
		f.top().nested = max(f.top().nested, nested)
	}
}

// endLoop looks up what the next passage of a loop needs.
func (f *Function) endLoop(t *frame, falls bool) {
	if falls {
		f.edge(1)
		f.depth++
	}
	if t.ways == 0 {
		return
	}
	t.nested++
	f.merges[t.header].ways += t.ways
	outer := int32(-1)
	if len(f.frames) > 1 {
		outer = f.frames[len(f.frames)-2].loop
	}
	for _, x := range t.crossing {
		f.needed(x.local)
		f.lookups++
		if outer >= 0 && x.seen < f.frames[outer].header {
			f.frames[outer].crossing = append(f.frames[outer].crossing, x)
		}
	}
}

// Branch notes ways, from one place, to the frame that is depth frames outside of the innermost. on says that control
// may go on as well.
func (f *Function) Branch(depth, ways int, on bool) {
	t := &f.frames[len(f.frames)-1-depth]
	t.ways += int64(ways)
	t.least = t.least.or(f.here())
	f.labels += int64(depth) * int64(ways)
	f.edge(int64(ways))
	if on {
		f.edge(1)
		f.depth++
	}
}

// Check notes a branch over a call that the meter adds here: two ways meet behind it.
func (f *Function) Check() {
	f.edge(3)
	f.meet(0, 2)
	f.depth++
}

// Call notes a call that takes and gives values values in all.
func (f *Function) Call(values int) {
	f.values += int64(values)
	f.calls += f.bounds
}

// Access notes an access to memory.
func (f *Function) Access() { f.bounds++ }

// Use notes an instruction that reads or sets a local.
func (f *Function) Use(i uint32, set bool) {
	if int64(i) >= int64(len(f.locals)) {
		return // not valid: the compiler says so
	}
	l := &f.locals[i]
	if !l.used {
		l.used = true
		if set { // what is used only within the frame that sets it first needs nothing from before
			l.seen, l.frame, l.serial = int32(len(f.merges)-1), int32(len(f.frames)-1), f.top().serial
			return
		}
	}
	if l.serial != 0 && (int(l.frame) >= len(f.frames) || f.frames[l.frame].serial != l.serial) {
		l.serial, l.seen = 0, 0
	}
	if at := f.top().loop; at >= 0 && l.seen < f.frames[at].header {
		f.frames[at].crossing = append(f.frames[at].crossing, crossing{int32(i), l.seen})
	}
	f.needed(int32(i))
}

// needed marks a local as alive in all merges since its last use.
func (f *Function) needed(i int32) {
	l, now := &f.locals[i], int32(len(f.merges)-1)
	if l.seen < now {
		f.merges[l.seen+1].alive++
		f.ended++
		f.lookups += int64(now - l.seen)
		l.seen = now
	}
}

// Estimate returns the nanoseconds so far: the costs that are known before the function has ended.
func (f *Function) Estimate() int64 {
	return perStep*f.steps + perLookup*f.lookups + perValue*f.values + f.labels/2 + perBound*f.known + perKnown*f.calls
}

// Total returns the nanoseconds of a function that has ended, and what costs most of them.
func (f *Function) Total() (nanoseconds int64, what string) {
	var alive int64
	var phis, ways float64
	for _, m := range f.merges {
		alive += m.alive
		takes, n := float64(alive+m.takes), float64(m.ways)
		phis += takes * takes * n
		ways += n * n
	}
	phis *= perPhi * float64(1+f.rounds)
	ways *= perWay
	costs := [...]struct {
		what string
		ns   float64
	}{
		{"blocks, and branches between them", perStep*float64(f.steps) + perLabel*float64(f.labels)},
		{"locals alive in blocks and loops", phis + perLookup*float64(f.lookups)},
		{"accesses to memory in many blocks, or between many calls", float64(perBound*f.known + perKnown*f.calls)},
		{"branches to one place", ways},
		{"params and results of calls and blocks", perValue * float64(f.values)},
	}
	sum, most := 0.0, 0
	for i, c := range costs {
		sum += c.ns
		if c.ns > costs[most].ns {
			most = i
		}
	}
	return int64(min(sum, math.MaxInt64/2)), costs[most].what
}
