package store

import "encoding/binary"

// Writer writes the parts of a packed record: numbers as varints, texts with their length before them.
type Writer struct{ B []byte }

// Uint writes a number.
func (w *Writer) Uint(x uint64) { w.B = binary.AppendUvarint(w.B, x) }

// Int writes a number that may be negative.
func (w *Writer) Int(x int64) { w.B = binary.AppendVarint(w.B, x) }

// Fixed writes a number that is mostly large.
func (w *Writer) Fixed(x uint64) { w.B = binary.LittleEndian.AppendUint64(w.B, x) }

// Byte writes a byte.
func (w *Writer) Byte(b byte) { w.B = append(w.B, b) }

// Bool writes a truth.
func (w *Writer) Bool(b bool) { w.Byte(Flag(b)) }

// Text writes a text.
func (w *Writer) Text(s string) {
	w.Uint(uint64(len(s)))
	w.B = append(w.B, s...)
}

// Flag is a truth as a byte.
func Flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// Reader reads what a Writer has written.
type Reader struct{ B []byte }

// Uint reads a number.
func (r *Reader) Uint() uint64 {
	if b := r.B[0]; b < 0x80 { // most are short
		r.B = r.B[1:]
		return uint64(b)
	}
	x, n := binary.Uvarint(r.B)
	r.B = r.B[n:]
	return x
}

// Int reads a number that may be negative.
func (r *Reader) Int() int64 {
	x := r.Uint()
	return int64(x>>1) ^ -int64(x&1)
}

// Fixed reads a number that is mostly large.
func (r *Reader) Fixed() uint64 {
	x := binary.LittleEndian.Uint64(r.B)
	r.B = r.B[8:]
	return x
}

// Byte reads a byte.
func (r *Reader) Byte() byte {
	x := r.B[0]
	r.B = r.B[1:]
	return x
}

// Bytes returns what lies in the chunk itself, which never changes.
func (r *Reader) Bytes() []byte {
	n := int(r.Uint())
	if n == 0 {
		return nil
	}
	b := r.B[:n:n]
	r.B = r.B[n:]
	return b
}

// Text reads a text.
func (r *Reader) Text() string { return string(r.Bytes()) }
