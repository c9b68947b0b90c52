package meter

import "github.com/taskrt/taskrt/runtime/wasmbin"

// Opcodes that are looked at or injected.
const (
	opUnreachable        = 0x00
	opNop                = 0x01
	opBlock              = 0x02
	opLoop               = 0x03
	opIf                 = 0x04
	opElse               = 0x05
	opEnd                = 0x0b
	opBr                 = 0x0c
	opBrIf               = 0x0d
	opBrTable            = 0x0e
	opReturn             = 0x0f
	opCall               = 0x10
	opCallIndirect       = 0x11
	opReturnCall         = 0x12
	opReturnCallIndirect = 0x13
	opDrop               = 0x1a
	opSelectTyped        = 0x1c
	opLocalGet           = 0x20
	opLocalSet           = 0x21
	opLocalTee           = 0x22
	opGlobalGet          = 0x23
	opGlobalSet          = 0x24
	opTableSet           = 0x26
	opMemoryGrow         = 0x40
	opI32Const           = 0x41
	opI64Const           = 0x42
	opF32Const           = 0x43
	opF64Const           = 0x44
	opI32Ne              = 0x47
	opI32LtU             = 0x49
	opI32GtU             = 0x4b
	opI32LeU             = 0x4d
	opI64LtS             = 0x53
	opI64GeS             = 0x59
	opI32Add             = 0x6a
	opI32Sub             = 0x6b
	opI32Mul             = 0x6c
	opI32Or              = 0x72
	opI64Add             = 0x7c
	opI64Sub             = 0x7d
	opI64Mul             = 0x7e
	opI64Shl             = 0x86
	opI64ShrU            = 0x88
	opI64ExtendI32U      = 0xad
	opRefNull            = 0xd0
	opRefFunc            = 0xd2
	opMisc               = 0xfc
	opVec                = 0xfd
	opAtomic             = 0xfe

	emptyBlock = 0x40
)

// Opcodes behind opMisc and opVec.
const (
	miscMemoryInit = 8
	miscDataDrop   = 9
	miscMemoryCopy = 10
	miscMemoryFill = 11
	miscTableInit  = 12
	miscElemDrop   = 13
	miscTableCopy  = 14
	miscTableGrow  = 15
	miscTableSize  = 16
	miscTableFill  = 17

	vecConst   = 12
	vecShuffle = 13
)

// immediate says what follows an opcode.
type immediate byte

const (
	unknown immediate = iota
	none
	index      // one unsigned number
	twoIndexes // two
	memarg     // alignment and offset
	reserved   // a byte that is zero: the index of the only memory
	number     // a constant of the instruction's type
	blockType
	special // read where it is handled
)

// immediates are the immediates of the instructions of one byte. An instruction that is neither of WebAssembly 2.0 nor a tail call is unknown.
var immediates = func() (t [256]immediate) {
	set := func(i immediate, from, to int) {
		for op := from; op <= to; op++ {
			t[op] = i
		}
	}
	set(none, opUnreachable, opNop)
	set(blockType, opBlock, opIf)
	set(none, opElse, opElse)
	set(none, opEnd, opEnd)
	set(index, opBr, opBrIf)
	set(special, opBrTable, opBrTable)
	set(none, opReturn, opReturn)
	set(special, opCall, opCall)
	set(twoIndexes, opCallIndirect, opCallIndirect)
	set(special, opReturnCall, opReturnCall)
	set(twoIndexes, opReturnCallIndirect, opReturnCallIndirect)
	set(none, opDrop, 0x1b)                    // drop, select
	set(special, opSelectTyped, opSelectTyped) // with its type
	set(index, opLocalGet, opTableSet)         // locals, globals, tables
	set(memarg, 0x28, 0x3e)                    // loads and stores
	set(reserved, 0x3f, opMemoryGrow)          // memory.size, memory.grow
	set(number, opI32Const, opF64Const)        // constants
	set(none, 0x45, 0xc4)                      // numbers, with sign extension
	set(special, opRefNull, opRefNull)         // ref.null
	set(none, 0xd1, 0xd1)                      // ref.is_null
	set(special, opRefFunc, opRefFunc)         // ref.func
	set(special, opMisc, opVec)                // more opcodes
	return t
}()

// skipNumber reads the constant of i32.const, i64.const, f32.const or f64.const.
func skipNumber(r *wasmbin.Reader, op byte) {
	switch op {
	case opI32Const:
		skipLEB(r, 5)
	case opI64Const:
		skipLEB(r, 10)
	case opF32Const:
		r.Bytes(4)
	case opF64Const:
		r.Bytes(8)
	}
}

// skipLEB reads a number of at most n bytes.
func skipLEB(r *wasmbin.Reader, n int) {
	for range n {
		if r.Byte() < 0x80 {
			return
		}
	}
	r.Fail(wasmbin.Malformed, "a number is longer than %d bytes", n)
}

// vecImmediate tells what follows a vector instruction: nothing for most of them. It returns false for a byte that is
// no vector instruction.
func vecImmediate(op byte) (memory bool, bytes uint64, ok bool) {
	switch {
	case op <= 11, op == 92, op == 93: // loads and the store of whole vectors, loads of parts
		return true, 0, true
	case op == vecConst, op == vecShuffle:
		return false, 16, true
	case op >= 21 && op <= 34: // extract or replace a lane
		return false, 1, true
	case op >= 84 && op <= 91: // loads and stores of a lane
		return true, 1, true
	}
	switch op {
	case 0x9a, 0xa2, 0xa5, 0xa6, 0xaf, 0xb0, 0xb2, 0xb3, 0xb4, 0xbb, 0xc2, 0xc5, 0xc6, 0xcf, 0xd0, 0xd2, 0xd3, 0xd4, 0xe2, 0xee:
		return false, 0, false
	}
	return false, 0, true
}

// unsupported names the feature that an unknown opcode belongs to.
func unsupported(op byte) string {
	switch {
	case op >= 0x06 && op <= 0x0a, op == 0x18, op == 0x19, op == 0x1f:
		return "exceptions"
	case op == 0x14, op == 0x15, op >= 0xd3 && op <= 0xd6:
		return "typed function references"
	case op == 0xfb:
		return "garbage collection"
	case op == opAtomic:
		return "threads"
	}
	return "unknown"
}

// refuse fails at the instruction that begins at start.
func refuse(r *wasmbin.Reader, start int, op byte) {
	r.Pos = start
	r.Fail(wasmbin.Unsupported, "instruction %#x is not supported (%s)", op, unsupported(op))
}
