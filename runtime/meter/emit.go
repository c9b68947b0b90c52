package meter

// emitter writes the injected code. All of it leaves the operand stack as it found it.
type emitter struct {
	out     []byte
	counter uint32 // global
	tick    uint32 // function
	// Locals behind those of the guest.
	left   uint32 // what was stored to counter last
	length uint32 // operand
	result uint32 // of an instruction that grows
}

// set appends an instruction with an index.
func (e *emitter) set(op byte, index uint32) {
	e.out = append(e.out, op)
	e.out = uleb(e.out, uint64(index))
}

// store subtracts and stores: the stack holds the counter and what to subtract.
func (e *emitter) store() {
	e.out = append(e.out, opI64Sub)
	e.set(opLocalTee, e.left)
	e.set(opGlobalSet, e.counter)
}

// charge subtracts cost.
func (e *emitter) charge(cost int64, check bool) {
	e.set(opGlobalGet, e.counter)
	e.out = append(e.out, opI64Const)
	e.out = sleb(e.out, cost)
	e.store()
	if check {
		e.check()
	}
}

// check calls tick if the counter, as it was stored last, is below zero. The call stands in the else part because
// wazero's register allocator lets the code behind an if begin with the registers of the part that comes first: behind
// a call, those of the loop around it would be reloaded at every iteration.
func (e *emitter) check() {
	e.set(opLocalGet, e.left)
	e.out = append(e.out, opI64Const, 0, opI64GeS, opIf, emptyBlock, opElse)
	e.set(opLocalGet, e.left)
	e.set(opCall, e.tick)
	e.set(opGlobalSet, e.counter)
	e.out = append(e.out, opEnd)
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
	e.chargeLocal(shift)
	e.out = append(e.out, opEnd)
}

func (e *emitter) chargeLocal(shift int64) {
	e.set(opGlobalGet, e.counter)
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
