package task

import (
	"encoding/binary"

	"github.com/taskrt/taskrt/task/table"
)

// A packed record is a Task that does not run, in as few bytes as is simple:
//
//	length of the rest · ID · number of names, names · behavior · which fields follow · status and priority ·
//	rev - created rev · created at · the fields that are not zero
//
// Numbers are varints, instants are counted from created_at, names are numbers of table.Names. It lives in memory only:
// how it looks is no contract, and what it says is hashed field by field (digest.go). The fields that are not zero are
// written and read by pack_gen.go.

// packs reports whether t is kept packed. What can be of a running task only a packed record does not know.
func packs(t *Task) bool {
	return t.Status != Running && !runs(t) && t.Priority >= 0 && t.Priority < 16 && t.Status < 16
}

// packer writes one record.
type packer struct {
	b     []byte
	since int64 // instants count from it
}

func (p *packer) uint(x uint64)  { p.b = binary.AppendUvarint(p.b, x) }
func (p *packer) int(x int64)    { p.b = binary.AppendVarint(p.b, x) }
func (p *packer) instant(t Time) { p.int(int64(t) - p.since) }
func (p *packer) fixed(x uint64) { p.b = binary.LittleEndian.AppendUint64(p.b, x) }
func (p *packer) byte(b byte)    { p.b = append(p.b, b) }
func (p *packer) bool(b bool)    { p.byte(flag(b)) }
func (p *packer) text(s string)  { p.uint(uint64(len(s))); p.b = append(p.b, s...) }
func (p *packer) payload(x *Payload) {
	p.b = append(p.b, byte(x.Encoding)<<1|flag(x.Blobs != nil))
	p.uint(uint64(len(x.Data)))
	p.b = append(p.b, x.Data...)
	if x.Blobs == nil {
		return
	}
	p.text(x.Blobs.Content)
	p.int(x.Blobs.Size)
	p.uint(uint64(len(x.Blobs.Named)))
	for _, s := range x.Blobs.Named {
		p.text(s)
	}
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// isZero reports whether a payload is the absent one.
func (p *Payload) isZero() bool { return p.Encoding == None && len(p.Data) == 0 && p.Blobs == nil }

// pack writes t, a task of b, into the arena.
func (s *store) pack(b *behaviorRow, t *Task) ref {
	p := packer{b: s.scratch[:0], since: int64(t.CreatedAt)}
	p.b = append(p.b, make([]byte, table.MaxLength)...) // room for the length
	p.id(t.ID)
	s.packNames(&p, t)
	p.uint(uint64(b.Number))
	bits := fieldsOf(t)
	p.uint(bits)
	p.b = append(p.b, byte(t.Status)<<4|byte(t.Priority))
	p.uint(t.Rev - t.CreatedRev)
	p.int(int64(t.CreatedAt))
	p.fields(t, bits)
	s.scratch = p.b
	at := s.arena.Write(p.b)
	if cap(s.scratch) > table.ChunkBytes {
		s.scratch = nil
	}
	return at
}

// dropNames gives up the names of a packed record.
func (s *store) dropNames(record []byte) {
	u := unpacker{b: record[idLength(record):]}
	for range u.uint() {
		s.names.Drop(uint32(u.uint()))
	}
}

// namesOf yields the names of a packed record.
func namesOf(record []byte) func(yield func(n uint64) bool) {
	return func(yield func(n uint64) bool) {
		u := unpacker{b: record[idLength(record):]}
		for range u.uint() {
			if !yield(u.uint()) {
				return
			}
		}
	}
}

// uuidLength is how long an ID is that is a UUID in lower case. It takes 17 bytes: 0, and the 16 that it is. Any other ID
// follows its length.
const uuidLength = 36

// uuidDigits are where each of its bytes has its two digits.
const uuidDigits = "\x00\x02\x04\x06\x09\x0b\x0e\x10\x13\x15\x18\x1a\x1c\x1e\x20\x22"

func (p *packer) id(id string) {
	if len(id) == uuidLength {
		if uuid, ok := parseUUID((*[uuidLength]byte)([]byte(id))); ok {
			p.b = append(append(p.b, 0), uuid[:]...)
			return
		}
	}
	p.text(id)
}

// parseUUID takes no branch for a digit: see idChars.
func parseUUID(text *[uuidLength]byte) (uuid [16]byte, ok bool) {
	var all byte
	for i := range uuid {
		at := uuidDigits[i]
		hi, lo := digitValues[text[at]], digitValues[text[at+1]]
		all |= hi | lo
		uuid[i] = hi<<4 | lo
	}
	return uuid, all < 16 && text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-'
}

// digitValues are the values of hexadecimal digits in lower case; 255 for any other byte.
const (
	digitValues = noDigits + noDigits + noDigits +
		"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\xff\xff\xff\xff\xff\xff" + noDigits + noDigits +
		"\xff\x0a\x0b\x0c\x0d\x0e\x0f\xff\xff\xff\xff\xff\xff\xff\xff\xff" + noDigits +
		noDigits + noDigits + noDigits + noDigits + noDigits + noDigits + noDigits + noDigits
	noDigits = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
)

const hexDigits = "0123456789abcdef"

// putUUID writes the text of a UUID.
func putUUID(text *[uuidLength]byte, uuid []byte) {
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	for i, b := range uuid[:16] {
		at := uuidDigits[i]
		text[at], text[at+1] = hexDigits[b>>4], hexDigits[b&15]
	}
}
