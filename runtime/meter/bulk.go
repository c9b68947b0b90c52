package meter

import (
	"bytes"
	"encoding/binary"

	"github.com/taskrt/taskrt/runtime/wasmbin"
)

// bulkPiece is the length, in bytes, up to which memory.fill and memory.copy are executed in one go. wazero moves a few
// hundred MB/s here: a gigabyte would take seconds in which nothing could end the guest, nor let others run.
const bulkPiece = 256 << 10

// Two functions are added to a module that fills or copies: they fill and copy what is longer than bulkPiece, piece
// by piece, with a check before each. They take the operands of the instruction that they stand for.
const (
	helperFill = iota
	helperCopy
	helpers
)

var helperNames = [helpers]string{Import + ".fill", Import + ".copy"}

var helperSignature = wasmbin.FuncType{Params: []wasmbin.ValType{wasmbin.I32, wasmbin.I32, wasmbin.I32}}

// findHelpers decides whether there are helpers: if there may be an instruction that needs one.
func (w *rewriter) findHelpers() {
	w.helper = w.tick + 1 + uint32(w.parsed.Functions())
	for _, s := range w.parsed.Sections {
		if s.ID == wasmbin.SectionCode {
			w.helped = mayFill(w.data[s.Start:s.End])
		}
	}
}

// mayFill looks for the bytes of memory.fill and memory.copy, wherever they stand: an unneeded helper does no harm.
func mayFill(code []byte) bool {
	for {
		i := bytes.IndexByte(code, opMisc)
		if i < 0 {
			return false
		}
		code = code[i+1:]
		if sub, _ := binary.Uvarint(code); sub == miscMemoryCopy || sub == miscMemoryFill {
			return true
		}
	}
}

// helperBodies appends the code of the helpers.
func (w *rewriter) helperBodies(code []byte) []byte {
	for _, body := range [helpers]func(*helperCode){(*helperCode).fill, (*helperCode).copy} {
		h := &helperCode{emitter{counter: w.globals, tick: w.tick, copied: true, left: 3, length: 2}}
		h.out = []byte{1, 1, byte(wasmbin.I64)} // locals: left
		body(h)
		h.op(opEnd)
		code = uleb(code, uint64(len(h.out)))
		code = append(code, h.out...)
	}
	return code
}

// helperCode writes a helper: locals 0 and 1 are the first operands, 2 is the length, 3 the copy of the counter.
type helperCode struct{ emitter }

func (h *helperCode) op(ops ...byte) { h.out = append(h.out, ops...) }

func (h *helperCode) get(locals ...uint32) {
	for _, l := range locals {
		h.set(opLocalGet, l)
	}
}

func (h *helperCode) piece() {
	h.op(opI32Const)
	h.out = sleb(h.out, bulkPiece)
}

// long pushes whether more than a piece is left.
func (h *helperCode) long() {
	h.get(2)
	h.piece()
	h.op(opI32GtU)
}

// end pushes where the range that begins at a local ends.
func (h *helperCode) end(local uint32) {
	h.get(local, 2)
	h.op(opI32Add)
}

// wraps pushes whether a range goes beyond 2^32.
func (h *helperCode) wraps(local uint32) {
	h.end(local)
	h.get(local)
	h.op(opI32LtU)
}

// step adds a piece to a local, or takes one from it.
func (h *helperCode) step(op byte, local uint32) {
	h.get(local)
	h.piece()
	h.op(op)
	h.set(opLocalSet, local)
}

// rest charges the bytes that are left, and fills or copies them with the instruction.
func (h *helperCode) rest(instruction ...byte) {
	h.set(opGlobalGet, h.counter)
	h.set(opLocalSet, h.left)
	h.chargeLocal(byteShift)
	h.get(0, 1, 2)
	h.op(instruction...)
}

func (h *helperCode) chargePiece() { h.charge(bulkPiece>>byteShift, true, true) }

// again repeats the innermost loop while more than a piece is left, and ends it.
func (h *helperCode) again() {
	h.long()
	h.op(opBrIf, 0, opEnd)
}

// fill does what memory.fill of (to, value, length) does. Nothing may be written if the range is out of bounds, so it
// tries the end of the range first: an instruction of length 0 traps beyond the memory. It leaves a range that wraps
// to the instruction, which traps unless the range ends at 2^32.
func (h *helperCode) fill() {
	instruction := []byte{opMisc, miscMemoryFill, 0}
	h.long()
	h.op(opIf, emptyBlock)
	h.wraps(0)
	h.op(opIf, emptyBlock)
	h.rest(instruction...)
	h.op(opReturn, opEnd)
	h.end(0)
	h.get(1)
	h.op(opI32Const, 0)
	h.op(instruction...)
	h.op(opLoop, emptyBlock)
	h.chargePiece()
	h.get(0, 1)
	h.piece()
	h.op(instruction...)
	h.step(opI32Add, 0)
	h.step(opI32Sub, 2)
	h.again()
	h.op(opEnd)
	h.rest(instruction...)
}

// copy does what memory.copy of (to, from, length) does. It copies from the front if it moves bytes down, else from
// the back, so that no piece overwrites bytes that a later piece reads.
func (h *helperCode) copy() {
	instruction := []byte{opMisc, miscMemoryCopy, 0, 0}
	h.long()
	h.op(opIf, emptyBlock)
	h.wraps(0)
	h.wraps(1)
	h.op(opI32Or, opIf, emptyBlock)
	h.rest(instruction...)
	h.op(opReturn, opEnd)
	h.end(0)
	h.end(1)
	h.op(opI32Const, 0)
	h.op(instruction...)

	h.get(0, 1)
	h.op(opI32LeU, opIf, emptyBlock, opLoop, emptyBlock)
	h.chargePiece()
	h.get(0, 1)
	h.piece()
	h.op(instruction...)
	h.step(opI32Add, 0)
	h.step(opI32Add, 1)
	h.step(opI32Sub, 2)
	h.again()
	h.op(opElse, opLoop, emptyBlock)
	h.chargePiece()
	h.step(opI32Sub, 2)
	h.end(0)
	h.end(1)
	h.piece()
	h.op(instruction...)
	h.again()
	h.op(opEnd, opEnd)
	h.rest(instruction...)
}

// bulk writes memory.fill or memory.copy. A short one stays as it stands; a long one becomes a call of its helper.
// The operands stay on the stack, under the charge.
func (e *emitter) bulk(instruction []byte, blockType, helper uint32) {
	e.flush()
	e.set(opLocalTee, e.length)
	e.set(opLocalGet, e.length)
	e.out = append(e.out, opI32Const)
	e.out = sleb(e.out, bulkPiece)
	e.out = append(e.out, opI32LeU, opIf)
	e.out = sleb(e.out, int64(blockType))
	e.chargeLocal(byteShift)
	e.out = append(e.out, instruction...)
	e.out = append(e.out, opElse)
	e.set(opCall, helper)
	e.set(opGlobalGet, e.counter)
	e.set(opLocalSet, e.left)
	e.out = append(e.out, opEnd)
}
