package table

import (
	"bytes"
	"io"
)

const (
	pieceSize = 256 << 10 // bytes that one read asks for: what a file costs in memory, however long it is

	// MaxRow is the longest row, in bytes without the newline. The rest of a longer row is left out.
	MaxRow = 64 << 10
)

// Rows reads the rows of a file one after the other. The last row may lack its newline.
type Rows struct {
	from  io.ReaderAt
	base  int64  // where piece lies in the file
	piece []byte // what was read of it
	at    int    // in piece: where the next row begins
	whole bool   // nothing is behind piece

	row    []byte
	offset int64
	cut    bool
	err    error
}

// NewRows starts with the row that begins at an offset, in bytes.
func NewRows(from io.ReaderAt, offset int64) *Rows {
	return &Rows{from: from, base: offset, piece: make([]byte, 0, pieceSize)}
}

// Next goes to the next row. It returns false at the end, or when Err returns an error.
func (r *Rows) Next() bool {
	end := r.newline()
	if r.err != nil || end < 0 && r.at == len(r.piece) {
		return false
	}
	r.offset, r.cut = r.End(), false
	if end < 0 {
		end = len(r.piece) - r.at
	}
	r.row = r.piece[r.at : r.at+end]
	if len(r.row) > MaxRow {
		r.long()
		return r.err == nil
	}
	r.at = min(r.at+end+1, len(r.piece))
	return true
}

// newline returns where the row ends, from r.at on; -1: not in this piece, which is then full or the last.
func (r *Rows) newline() int {
	if i := bytes.IndexByte(r.piece[r.at:], '\n'); i >= 0 {
		return i
	}
	known := len(r.piece) - r.at // without a newline
	if r.fill(); r.err != nil {
		return -1
	}
	if i := bytes.IndexByte(r.piece[known:], '\n'); i >= 0 {
		return known + i
	}
	return -1
}

// fill moves the unread bytes to the front, and reads more behind them.
func (r *Rows) fill() {
	r.base += int64(r.at)
	n := copy(r.piece, r.piece[r.at:])
	r.at, r.piece = 0, r.piece[:n]
	if r.whole || n == cap(r.piece) {
		return
	}
	got, err := r.from.ReadAt(r.piece[n:cap(r.piece)], r.base+int64(n))
	r.piece = r.piece[:n+got]
	switch err {
	case nil:
	case io.EOF: // an io.ReaderAt returns it as it is
		r.whole = true
	default:
		r.err = err
	}
}

// long cuts the row, and goes to the row's end, which may be many pieces away.
func (r *Rows) long() {
	r.row, r.cut = bytes.Clone(r.row[:MaxRow]), true
	r.at += MaxRow
	for {
		if i := r.newline(); i >= 0 {
			r.at += i + 1
			return
		}
		if r.at = len(r.piece); r.err != nil || r.whole {
			return
		}
	}
}

// Row returns the row, without its newline, until Next is called.
func (r *Rows) Row() []byte { return r.row }

// Cut reports that the row is longer than MaxRow.
func (r *Rows) Cut() bool { return r.cut }

// Offset returns where the row begins, in bytes.
func (r *Rows) Offset() int64 { return r.offset }

// End returns where the next row begins, in bytes.
func (r *Rows) End() int64 { return r.base + int64(r.at) }

// Err returns why Next went no further; nil at the end of the file.
func (r *Rows) Err() error { return r.err }
