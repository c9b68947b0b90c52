package task

import (
	"encoding/binary"

	"github.com/taskrt/taskrt/task/table"
)

// view is what it takes to read records: the store's own, or a Frozen's.
type view struct {
	arena     table.Arena
	live      table.Pages[live]
	names     table.Names    // versions, error codes, workers, nodes and outcomes
	behaviors []*behaviorRow // by number; nil: none. Their names never change
}

// idLength returns how many bytes the ID takes in a record.
func idLength(record []byte) int {
	if record[0] == 0 {
		return 17
	}
	length, n := binary.Uvarint(record)
	return n + int(length)
}

// recordID returns the ID of a record.
func recordID(record []byte) string {
	if record[0] != 0 {
		length, n := binary.Uvarint(record)
		return string(record[n : n+int(length)])
	}
	var text [uuidLength]byte
	putUUID(&text, record[1:])
	return string(text[:])
}

// behaviorNumber returns the number of the behavior of a record.
func behaviorNumber(record []byte) uint64 {
	u := unpacker{b: record[idLength(record):]}
	for range u.uint() {
		u.uint()
	}
	return u.uint()
}

// hashID hashes the ID of the task whose record is at a place.
func (v *view) hashID(h *hasher, at ref) {
	if i, ok := isLive(at); ok {
		h.Str(v.live.At(int(i / pageRows))[i%pageRows].ID)
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

// hasID reports whether the record at a place is that of a task with the ID.
func (v *view) hasID(at ref, id string) bool {
	if i, ok := isLive(at); ok {
		return v.live.At(int(i / pageRows))[i%pageRows].ID == id
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

// task returns the record of a cell.
func (v *view) task(c *cell) *Task {
	if i, ok := isLive(c.record); ok {
		return v.live.At(int(i / pageRows))[i%pageRows]
	}
	record := v.arena.Record(c.record)
	return v.unpack(record, c.created)
}

// unpacker reads one record.
type unpacker struct {
	b     []byte
	names []byte // those that were not asked for yet
	since int64
	table *table.Names
}

func (u *unpacker) uint() uint64 {
	if b := u.b[0]; b < 0x80 { // most are short
		u.b = u.b[1:]
		return uint64(b)
	}
	x, n := binary.Uvarint(u.b)
	u.b = u.b[n:]
	return x
}

func (u *unpacker) int() int64 {
	x := u.uint()
	return int64(x>>1) ^ -int64(x&1)
}

func (u *unpacker) byte() byte {
	x := u.b[0]
	u.b = u.b[1:]
	return x
}

func (u *unpacker) fixed() uint64 {
	x := binary.LittleEndian.Uint64(u.b)
	u.b = u.b[8:]
	return x
}

func (u *unpacker) instant() Time { return Time(u.int() + u.since) }

// bytes returns what lies in the chunk itself, which never changes.
func (u *unpacker) bytes() []byte {
	n := int(u.uint())
	if n == 0 {
		return nil
	}
	b := u.b[:n:n]
	u.b = u.b[n:]
	return b
}

func (u *unpacker) text() string { return string(u.bytes()) }

func (u *unpacker) name() string {
	n, length := binary.Uvarint(u.names)
	u.names = u.names[length:]
	return u.table.Text(n)
}

func (u *unpacker) payload() Payload {
	head := u.byte()
	p := Payload{Encoding: Encoding(head >> 1), Data: u.bytes()}
	if head&1 != 0 {
		p.Blobs = &Blobs{Content: u.text(), Size: u.int()}
		for range u.uint() {
			p.Blobs.Named = append(p.Blobs.Named, u.text())
		}
	}
	return p
}

// unpack makes the Task of a packed record.
func (v *view) unpack(record []byte, created uint64) *Task {
	u := unpacker{b: record[idLength(record):], table: &v.names}
	count := u.uint()
	u.names = u.b
	for range count {
		u.uint()
	}
	b := v.behaviors[u.uint()]
	bits := u.uint()
	head := u.byte()
	t := &Task{
		Namespace: b.namespace, ID: recordID(record), Behavior: b.name, Status: Status(head >> 4), Priority: int8(head & 15),
		Rev: created + u.uint(), CreatedRev: created, CreatedAt: Time(u.int()),
	}
	u.since = int64(t.CreatedAt)
	u.fields(t, bits)
	return t
}
