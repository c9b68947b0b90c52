package store

import (
	"encoding/binary"

	"github.com/taskrt/taskrt/task/hash"
	"github.com/taskrt/taskrt/task/table"
)

// A packed record is a record in as few bytes as is simple:
//
//	length of the rest · ID · number of the owner · number of names, names · body
//
// Numbers are varints, names are numbers of table.Names. It lives in memory only: how it looks is no contract.

// pack writes t, a record of an owner, into the arena.
func (s *Store[T]) pack(owner uint32, t *T) table.Ref {
	b := append(s.scratch[:0], make([]byte, table.MaxLength)...) // room for the length
	_, id := s.form.Key(t)
	b = appendID(b, id)
	b = binary.AppendUvarint(b, uint64(owner))
	b = s.form.AppendNames(b, &s.names, t)
	b = s.form.AppendBody(b, t)
	s.scratch = b
	at := s.arena.Write(b, s.form.Stays(t))
	if cap(b) > table.ChunkBytes {
		s.scratch = nil
	}
	return at
}

// record returns the record of a cell.
func (v *view[T]) record(c *cell) *T {
	if i, ok := isLive(c.record); ok {
		return v.live.At(int(i / pageRows))[i%pageRows]
	}
	record := v.arena.Record(c.record)
	n := idLength(record)
	owner, length := binary.Uvarint(record[n:])
	names, body := splitNames(record[n+length:])
	names.table = &v.names
	return v.form.Read(&v.owners[owner], recordID(record), c.created, names, body)
}

// Names are the names of a packed record that have not been read yet.
type Names struct {
	b     []byte
	count uint64
	table *table.Names
}

// Next returns the next name.
func (x *Names) Next() string {
	n, length := binary.Uvarint(x.b)
	x.b = x.b[length:]
	return x.table.Text(n)
}

// All yields the numbers of the names.
func (x Names) All(yield func(n uint64) bool) {
	b := x.b
	for range x.count {
		n, length := binary.Uvarint(b)
		b = b[length:]
		if !yield(n) {
			return
		}
	}
}

// splitNames returns the names and the body of a packed record. Its ID and its owner have been read.
func splitNames(b []byte) (Names, []byte) {
	count, length := binary.Uvarint(b)
	b = b[length:]
	names := Names{b: b, count: count}
	for range count {
		_, length = binary.Uvarint(b)
		b = b[length:]
	}
	return names, b
}

// namesOf returns the names of a packed record.
func namesOf(record []byte) Names {
	record = record[idLength(record):]
	_, length := binary.Uvarint(record)
	names, _ := splitNames(record[length:])
	return names
}

// ownerOf returns the number of the owner of a packed record.
func ownerOf(record []byte) uint64 {
	owner, _ := binary.Uvarint(record[idLength(record):])
	return owner
}

// idLength returns how many bytes the ID takes in a packed record.
func idLength(record []byte) int {
	if record[0] == 0 {
		return 17
	}
	length, n := binary.Uvarint(record)
	return n + int(length)
}

// recordID returns the ID of a packed record.
func recordID(record []byte) string {
	if record[0] != 0 {
		length, n := binary.Uvarint(record)
		return string(record[n : n+int(length)])
	}
	var text [uuidLength]byte
	putUUID(&text, record[1:])
	return string(text[:])
}

// hashID hashes the ID in the record at a place.
func (v *view[T]) hashID(h *hash.Hash, at table.Ref) {
	if i, ok := isLive(at); ok {
		_, id := v.form.Key(v.live.At(int(i / pageRows))[i%pageRows])
		h.Str(id)
		return
	}
	record := v.arena.Record(at)
	if record[0] != 0 {
		length, n := binary.Uvarint(record)
		h.Bytes(record[n : n+int(length)])
		return
	}
	var text [uuidLength]byte
	putUUID(&text, record[1:])
	h.Bytes(text[:])
}

// hasID reports whether the record at a place has the ID.
func (v *view[T]) hasID(at table.Ref, id string) bool {
	if i, ok := isLive(at); ok {
		_, has := v.form.Key(v.live.At(int(i / pageRows))[i%pageRows])
		return has == id
	}
	record := v.arena.Record(at)
	if record[0] != 0 {
		length, n := binary.Uvarint(record)
		return string(record[n:n+int(length)]) == id
	}
	if len(id) != uuidLength {
		return false
	}
	var text [uuidLength]byte
	putUUID(&text, record[1:])
	return string(text[:]) == id
}

// appendID writes an ID. A UUID in lower case takes 17 bytes: 0 and its 16 bytes. Any other ID follows its length.
func appendID(b []byte, id string) []byte {
	if len(id) == uuidLength {
		if uuid, ok := parseUUID((*[uuidLength]byte)([]byte(id))); ok {
			return append(append(b, 0), uuid[:]...)
		}
	}
	return append(binary.AppendUvarint(b, uint64(len(id))), id...)
}
