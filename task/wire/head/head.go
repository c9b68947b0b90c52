// Package head writes and reads by hand the beginning of every CBOR data item (RFC 8949, 3). It writes the shortest form, as the library does
// when it is deterministic.
package head

import (
	"encoding/binary"
	"math"
)

// These are the major types as they stand in a first byte, and two simple values.
const (
	Uint     = 0 << 5
	Negative = 1 << 5
	Bytes    = 2 << 5
	Text     = 3 << 5
	Array    = 4 << 5
	Map      = 5 << 5

	False = 0xf4
	True  = 0xf5
)

// Append appends the head of an item of a major type with argument n.
func Append(b []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(b, major|byte(n))
	case n <= math.MaxUint8:
		return append(b, major|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, major|25), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, major|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, major|27), n)
}

// AppendUint appends an unsigned integer.
func AppendUint(b []byte, n uint64) []byte { return Append(b, Uint, n) }

// AppendInt appends an integer.
func AppendInt(b []byte, n int64) []byte {
	if n < 0 {
		return Append(b, Negative, uint64(-(n + 1)))
	}
	return Append(b, Uint, uint64(n))
}

// AppendText appends a text string.
func AppendText(b []byte, s string) []byte { return append(Append(b, Text, uint64(len(s))), s...) }

// AppendBytes appends a byte string.
func AppendBytes(b, data []byte) []byte { return append(Append(b, Bytes, uint64(len(data))), data...) }

// Read returns the argument of the head at the start of b, whichever of CBOR's lengths it has, and the bytes behind it. It returns false
// if no head of this major type stands there.
func Read(b []byte, major byte) (n uint64, rest []byte, ok bool) {
	if len(b) == 0 || b[0]&^0x1f != major {
		return 0, b, false
	}
	if low := b[0] & 0x1f; low >= 24 {
		return readLong(b, low)
	}
	return uint64(b[0] & 0x1f), b[1:], true
}

// readLong reads a head with an argument of 1, 2, 4 or 8 bytes.
func readLong(b []byte, low byte) (n uint64, rest []byte, ok bool) {
	if low > 27 || len(b) < 1+1<<(low-24) {
		return 0, b, false
	}
	arg := b[1:]
	rest = arg[1<<(low-24):]
	switch low {
	case 24:
		n = uint64(arg[0])
	case 25:
		n = uint64(binary.BigEndian.Uint16(arg))
	case 26:
		n = uint64(binary.BigEndian.Uint32(arg))
	default:
		n = binary.BigEndian.Uint64(arg)
	}
	return n, rest, true
}
