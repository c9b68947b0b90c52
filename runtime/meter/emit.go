package meter

// emitter writes the injected code. All of it leaves the operand stack as it found it.
type emitter struct {
	out     []byte
	counter uint32 // global
	tick    uint32 // function
	copied  bool   // left holds the counter from the first charge on; else, only what was stored last
	lazy    bool   // the function has charges that change left alone
	dirty   bool   // the global may be behind left
	// Locals behind the guest's locals.
	left   uint32
	length uint32 // operand
	result uint32 // of an instruction that grows
}

// set appends an instruction with an index.
func (e *emitter) set(op byte, index uint32) {
	e.out = append(e.out, op)
	e.out = uleb(e.out, uint64(index))
}

// less pushes the counter and cost. The copy is not valid before the first charge of a function.
func (e *emitter) less(cost int64, first bool) {
	if e.copied && !first {
		e.set(opLocalGet, e.left)
	} else {
		e.set(opGlobalGet, e.counter)
	}
	e.out = append(e.out, opI64Const)
	e.out = sleb(e.out, cost)
}

// store subtracts and stores: the stack holds the counter and what to subtract.
func (e *emitter) store() {
	e.out = append(e.out, opI64Sub)
	e.set(opLocalTee, e.left)
	e.set(opGlobalSet, e.counter)
	e.dirty = false
}

// charge subtracts cost: from the copy alone, if it is not checked. The global is written at the latest where somebody else may read it: before a
// call, at the end of the function, and at each loop header. So a trap loses less than a pass through the function, and the same in every run.
func (e *emitter) charge(cost int64, check, first bool) {
	e.less(cost, first)
	switch {
	case check:
		e.store()
		e.check()
	case e.copied:
		e.out = append(e.out, opI64Sub)
		e.set(opLocalSet, e.left)
		e.dirty = true
	default:
		e.out = append(e.out, opI64Sub)
		e.set(opGlobalSet, e.counter)
	}
}

// check calls tick if the counter, as it was stored last, is below zero. The call stands in the else part because
// wazero's register allocator lets the code behind an if begin with the registers of the part that comes first: behind
// a call they are empty.
func (e *emitter) check() {
	e.set(opLocalGet, e.left)
	e.out = append(e.out, opI64Const, 0, opI64GeS, opIf, emptyBlock, opElse)
	e.set(opLocalGet, e.left)
	e.set(opCall, e.tick)
	if e.copied {
		e.set(opLocalTee, e.left)
	}
	e.set(opGlobalSet, e.counter)
	e.out = append(e.out, opEnd)
}

// meet marks a place that control reaches on several ways. What the code did on these ways is not followed.
func (e *emitter) meet() { e.dirty = e.lazy && e.copied }

// flush writes the global.
func (e *emitter) flush() {
	if e.dirty {
		e.set(opLocalGet, e.left)
		e.set(opGlobalSet, e.counter)
		e.dirty = false
	}
}

// call writes a call, to a function or, if that is below zero, as it stands.
func (e *emitter) call(instruction []byte, function int64) {
	e.flush()
	if function < 0 {
		e.out = append(e.out, instruction...)
	} else {
		e.set(instruction[0], uint32(function))
	}
	if op := instruction[0]; e.copied && (op == opCall || op == opCallIndirect) {
		e.set(opGlobalGet, e.counter)
		e.set(opLocalSet, e.left)
	}
}

// loop writes the header of a loop with a block type. The call of tick should not stand within a loop whose variables
// are in registers: wazero's register allocator would reload them in each iteration. Two forms keep it out, with as
// many labels around the body, formBelow and formAbove:
//
//	block T                                block T
//	  loop                                   loop T
//	    block                                  if left < cost { left = tick(left - cost) + cost }
//	      loop T                               block T
//	        left -= cost                         loop T
//	        br_if 1 if left < 0                    br_if 2 if left < cost
//	        body                                   left -= cost
//	      end                                      body
//	      br 2                                   end
//	    end                                    end
//	    left = tick(left) + cost             end
//	    br 0                               end
//	  end
//	  unreachable
//	end
//
// The left one charges only the jump for entering the loop, but the loop's variables, which are needed behind the
// call, are written to the stack whenever they change. In the right one these are others: of the outer loop.
// formWithin has one loop and the fewest blocks.
func (e *emitter) loop(p *piece, blockType []byte) {
	open := func(op byte, blockType ...byte) { e.out = append(append(e.out, op), blockType...) }
	switch p.form {
	case formOnce:
		open(opBlock, blockType...)
		return
	case formWithin:
		open(opLoop, blockType...)
		e.within(p)
		return
	}
	open(opBlock, blockType...)
	if p.form == formBelow {
		e.out = append(e.out, opLoop, emptyBlock, opBlock, emptyBlock)
		open(opLoop, blockType...)
		e.less(int64(p.cost), false)
		e.store()
		e.set(opLocalGet, e.left)
		e.out = append(e.out, opI64Const, 0, opI64LtS, opBrIf, 1)
		return
	}
	open(opLoop, blockType...)
	e.less(int64(p.cost), false)
	e.out = append(e.out, opI64LtS, opIf, emptyBlock)
	e.less(int64(p.cost), false)
	e.out = append(e.out, opI64Sub)
	e.tickFor(int64(p.cost))
	e.out = append(e.out, opEnd)
	open(opBlock, blockType...)
	open(opLoop, blockType...)
	e.less(int64(p.cost), false)
	e.out = append(e.out, opI64LtS, opBrIf, 2)
	e.less(int64(p.cost), false)
	e.store()
}

// within charges a passage of a loop's header and calls tick in the header. After tick the code goes back to the
// header, so only one way leads to the body, which is cheaper to compile. A loop that takes values from the stack
// cannot go back: the values are not at hand.
func (e *emitter) within(p *piece) {
	if p.takes {
		e.charge(int64(p.cost), true, false)
		return
	}
	e.less(int64(p.cost), false)
	e.store()
	e.out = append(e.out, opBlock, emptyBlock)
	e.set(opLocalGet, e.left)
	e.out = append(e.out, opI64Const, 0, opI64GeS, opBrIf, 0)
	e.set(opLocalGet, e.left)
	e.tickFor(int64(p.cost))
	e.out = append(e.out, opBr, 1, opEnd)
}

// endLoop closes what loop opened. The innermost one is closed.
func (e *emitter) endLoop(p *piece) {
	switch p.form {
	case formOnce, formWithin:
		return
	case formAbove:
		e.out = append(e.out, opEnd, opEnd, opEnd)
		return
	}
	e.out = append(e.out, opBr, 2, opEnd)
	e.set(opLocalGet, e.left)
	e.tickFor(int64(p.cost))
	e.out = append(e.out, opBr, 0, opEnd, opUnreachable, opEnd)
}

// tickFor calls tick with the value on the stack, before cost is charged again.
func (e *emitter) tickFor(cost int64) {
	e.set(opCall, e.tick)
	e.out = append(e.out, opI64Const)
	e.out = sleb(e.out, cost)
	e.out = append(e.out, opI64Add)
	e.set(opLocalSet, e.left)
}

// chargeLength charges by the length that is on top of the stack.
func (e *emitter) chargeLength(shift int64) {
	e.set(opLocalTee, e.length)
	e.chargeLocal(shift)
}

// chargeGrowth charges by length if the result on top of the stack is not -1.
func (e *emitter) chargeGrowth(shift int64) {
	e.set(opLocalTee, e.result)
	e.set(opLocalGet, e.result)
	e.out = append(e.out, opI32Const, 0x7f, opI32Ne, opIf, emptyBlock)
	dirty := e.dirty // if it did not grow
	e.chargeLocal(shift)
	e.dirty = dirty
	e.out = append(e.out, opEnd)
}

func (e *emitter) chargeLocal(shift int64) {
	e.set(opLocalGet, e.left)
	e.set(opLocalGet, e.length)
	e.out = append(e.out, opI64ExtendI32U)
	switch {
	case shift > 0:
		e.out = append(e.out, opI64Const, byte(shift), opI64ShrU)
	case shift < 0:
		e.out = append(e.out, opI64Const, byte(-shift), opI64Shl)
	}
	e.store()
	e.check()
}

// sleb appends a signed number.
func sleb(b []byte, v int64) []byte {
	for {
		low := byte(v & 0x7f)
		v >>= 7
		if v == 0 && low&0x40 == 0 || v == -1 && low&0x40 != 0 {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}
