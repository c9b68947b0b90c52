package main

// checkpointVersion is the first byte of a checkpoint. A checkpoint with another first byte counts as none.
const checkpointVersion = 1

// maxRuns bounds how many attempts a checkpoint remembers: the last ones.
const maxRuns = 100

// encode makes a checkpoint: numbers as varints, bytes with their length in front. Equal indexes give equal bytes.
func (x *index) encode() []byte {
	buf := []byte{checkpointVersion}
	for _, n := range []int64{x.end, x.rows, x.missing, int64(len(x.runs))} {
		buf = appendUvarint(buf, uint64(n))
	}
	for _, r := range x.runs {
		buf = appendUvarint(appendUvarint(buf, uint64(r.attempt)), uint64(r.from))
	}
	for _, v := range x.values() {
		e := x.entries[v]
		buf = append(appendUvarint(buf, uint64(len(v))), v...)
		buf = appendUvarint(appendUvarint(buf, uint64(e.rows)), uint64(e.last))
		buf = append(appendUvarint(buf, uint64(len(e.deltas))), e.deltas...)
	}
	return buf
}

// decode undoes encode; false if the text is nothing that encode makes.
func decode(text []byte) (*index, bool) {
	if len(text) == 0 || text[0] != checkpointVersion {
		return nil, false
	}
	d := decoder{text: text[1:]}
	x := &index{entries: map[string]*entry{}}
	x.end, x.rows, x.missing = d.number(), d.number(), d.number()
	runs := d.number()
	if runs > maxRuns {
		return nil, false
	}
	for range runs {
		x.runs = append(x.runs, run{d.number(), d.number()})
	}
	rows := x.missing
	for len(d.text) > 0 && !d.bad {
		v := string(d.bytes())
		e := &entry{rows: d.number(), last: d.number(), deltas: d.bytes()}
		if e.rows > int64(len(e.deltas)) || x.entries[v] != nil {
			return nil, false
		}
		x.entries[v] = e
		rows += e.rows
	}
	return x, !d.bad && rows == x.rows
}

// decoder takes a checkpoint apart. After a part that makes no sense it gives zeros, and is bad.
type decoder struct {
	text []byte
	bad  bool
}

func (d *decoder) number() int64 {
	n := int64(0)
	for i, b := range d.text {
		if i == 9 { // 63 bits
			break
		}
		n |= int64(b&0x7f) << (7 * i)
		if b < 0x80 {
			d.text = d.text[i+1:]
			return n
		}
	}
	d.text, d.bad = nil, true
	return 0
}

func (d *decoder) bytes() []byte {
	n := d.number()
	if n > int64(len(d.text)) {
		d.text, d.bad = nil, true
		return nil
	}
	b := d.text[:n:n] // whoever appends makes a copy
	d.text = d.text[n:]
	return b
}

// appendUvarint is that of encoding/binary, which would link package reflect.
func appendUvarint(buf []byte, n uint64) []byte {
	for ; n >= 0x80; n >>= 7 {
		buf = append(buf, byte(n)|0x80)
	}
	return append(buf, byte(n))
}
