package task

import (
	"encoding/binary"

	"github.com/taskrt/taskrt/task/store"
)

// unpacker reads one record.
type unpacker struct {
	b     []byte
	names store.Names // those that were not asked for yet
	since int64
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

func (u *unpacker) name() string { return u.names.Next() }

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
