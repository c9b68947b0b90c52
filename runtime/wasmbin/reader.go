package wasmbin

import (
	"fmt"
	"unicode/utf8"
)

// reader walks a part of a file. The first error sticks: later reads return zeros, so that callers check once.
type reader struct {
	data  []byte // the whole file up to the end of this part
	pos   int
	where string
	whole bool // data ends where the file ends: running out is "truncated", not "malformed"
	err   *Error
}

func (r *reader) fail(reason Reason, format string, args ...any) {
	if r.err == nil {
		r.err = &Error{Reason: reason, Offset: r.pos, Where: r.where, Message: fmt.Sprintf(format, args...)}
	}
}

// tooMany refuses a count or size over its limit.
func (r *reader) tooMany(what string, n, limit uint64) {
	if r.err == nil {
		r.err = &Error{
			Reason: TooMany, Offset: r.pos, Where: r.where, Limit: int64(limit),
			Message: fmt.Sprintf("%d %s, more than %d", n, what, limit),
		}
	}
}

func (r *reader) end() {
	if r.whole {
		r.fail(Truncated, "the file ends here, too early")
	} else {
		r.fail(Malformed, "the section ends here, too early")
	}
}

func (r *reader) left() int { return len(r.data) - r.pos }

func (r *reader) more() bool { return r.err == nil && r.pos < len(r.data) }

func (r *reader) byte() byte {
	if r.err != nil {
		return 0
	}
	if r.left() < 1 {
		r.end()
		return 0
	}
	b := r.data[r.pos]
	r.pos++
	return b
}

func (r *reader) bytes(n uint64) []byte {
	if r.err != nil {
		return nil
	}
	if n > uint64(r.left()) {
		r.end()
		return nil
	}
	b := r.data[r.pos : r.pos+int(n) : r.pos+int(n)]
	r.pos += int(n)
	return b
}

// uleb reads an unsigned LEB128 number of at most the given number of bits.
func (r *reader) uleb(bits uint) uint64 {
	var v uint64
	for shift := uint(0); shift < bits; shift += 7 {
		b := r.byte()
		if r.err != nil {
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
	r.fail(Malformed, "a number is longer than %d bits", bits)
	return 0
}

func (r *reader) u32() uint32 { return uint32(r.uleb(32)) }

// name reads a length-prefixed UTF-8 string.
func (r *reader) name() string {
	b := r.bytes(uint64(r.u32()))
	if r.err == nil && !utf8.Valid(b) {
		r.fail(Malformed, "a name is not UTF-8")
		return ""
	}
	return string(b)
}

// count reads the length of a vector whose elements take at least one byte each.
func (r *reader) count(what string, limit uint32) int {
	n := r.u32()
	if r.err != nil {
		return 0
	}
	if n > limit {
		r.tooMany(what, uint64(n), uint64(limit))
		return 0
	}
	if int(n) > r.left() {
		r.end()
		return 0
	}
	return int(n)
}

// part returns a reader over the next n bytes.
func (r *reader) part(n uint64, where string) *reader {
	start := r.pos
	r.bytes(n)
	if r.err != nil {
		return &reader{err: r.err, where: where}
	}
	return &reader{data: r.data[:start+int(n)], pos: start, where: where}
}
