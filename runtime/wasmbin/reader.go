package wasmbin

import (
	"fmt"
	"unicode/utf8"
)

// Reader walks through a part of a file. The first error sticks: later reads return zeros, so callers check only once.
type Reader struct {
	data  []byte // the whole file up to the end of this part
	Pos   int
	Where string // for errors: the part of the module
	whole bool   // data ends where the file ends: running out is "truncated", not "malformed"
	Err   *Error
}

// Fail sets the error unless there is an error already.
func (r *Reader) Fail(reason Reason, format string, args ...any) {
	if r.Err == nil {
		r.Err = &Error{Reason: reason, Offset: r.Pos, Where: r.Where, Message: fmt.Sprintf(format, args...)}
	}
}

// TooMany refuses a count or size over its limit.
func (r *Reader) TooMany(what string, n, limit uint64) {
	if r.Err == nil {
		r.Err = &Error{
			Reason: TooMany, Offset: r.Pos, Where: r.Where, Limit: int64(limit),
			Message: fmt.Sprintf("%d %s, more than %d", n, what, limit),
		}
	}
}

func (r *Reader) end() {
	if r.whole {
		r.Fail(Truncated, "the file ends here, too early")
	} else {
		r.Fail(Malformed, "the section ends here, too early")
	}
}

// Left returns the number of bytes that are left.
func (r *Reader) Left() int { return len(r.data) - r.Pos }

// More reports whether there are bytes left and no error.
func (r *Reader) More() bool { return r.Err == nil && r.Pos < len(r.data) }

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if r.Err != nil {
		return 0
	}
	if r.Left() < 1 {
		r.end()
		return 0
	}
	b := r.data[r.Pos]
	r.Pos++
	return b
}

// Bytes reads n bytes, without copying them.
func (r *Reader) Bytes(n uint64) []byte {
	if r.Err != nil {
		return nil
	}
	if n > uint64(r.Left()) {
		r.end()
		return nil
	}
	b := r.data[r.Pos : r.Pos+int(n) : r.Pos+int(n)]
	r.Pos += int(n)
	return b
}

// Uleb reads an unsigned LEB128 number of at most the given number of bits.
func (r *Reader) Uleb(bits uint) uint64 {
	if r.Err == nil && r.Pos < len(r.data) && r.data[r.Pos] < 0x80 { // nearly all
		r.Pos++
		return uint64(r.data[r.Pos-1])
	}
	var v uint64
	for shift := uint(0); shift < bits; shift += 7 {
		b := r.Byte()
		if r.Err != nil {
			return 0
		}
		if rest := bits - shift; rest < 7 && b>>rest != 0 {
			break
		}
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	r.Fail(Malformed, "a number is longer than %d bits", bits)
	return 0
}

// Sleb reads a signed LEB128 number of at most the given number of bits.
func (r *Reader) Sleb(bits uint) int64 {
	var v int64
	for shift := uint(0); shift < bits; {
		b := r.Byte()
		if r.Err != nil {
			return 0
		}
		v |= int64(b&0x7f) << shift
		if shift += 7; b < 0x80 {
			if shift < 64 && b&0x40 != 0 {
				v |= -1 << shift
			}
			return v
		}
	}
	r.Fail(Malformed, "a number is longer than %d bits", bits)
	return 0
}

// U32 reads an unsigned LEB128 number of 32 bits.
func (r *Reader) U32() uint32 { return uint32(r.Uleb(32)) }

// ValType reads a value type. It refuses types that are neither of WebAssembly 2.0 nor of exceptions: the bytes
// behind them could be misread.
func (r *Reader) ValType() ValType {
	t := ValType(r.Byte())
	if r.Err == nil && !t.known() {
		r.Pos--
		r.Fail(Unsupported, "value type %#x is not supported (typed references and garbage collection are not)", byte(t))
	}
	return t
}

// Name reads a length-prefixed UTF-8 string.
func (r *Reader) Name() string {
	b := r.Bytes(uint64(r.U32()))
	if r.Err == nil && !utf8.Valid(b) {
		r.Fail(Malformed, "a name is not UTF-8")
		return ""
	}
	return string(b)
}

// Count reads the length of a vector whose elements take at least one byte each.
func (r *Reader) Count(what string, limit uint32) int {
	n := r.U32()
	if r.Err != nil {
		return 0
	}
	if n > limit {
		r.TooMany(what, uint64(n), uint64(limit))
		return 0
	}
	if int(n) > r.Left() {
		r.end()
		return 0
	}
	return int(n)
}

// Part returns a Reader over the next n bytes.
func (r *Reader) Part(n uint64, where string) *Reader {
	start := r.Pos
	r.Bytes(n)
	if r.Err != nil {
		return &Reader{Err: r.Err, Where: where}
	}
	return &Reader{data: r.data[:start+int(n)], Pos: start, Where: where}
}
