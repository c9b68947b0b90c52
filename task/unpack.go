package task

import "github.com/taskrt/taskrt/task/store"

// unpacker reads one record.
type unpacker struct {
	store.Reader
	names store.Names // those that were not asked for yet
	since int64
}

func (u *unpacker) instant() Time { return Time(u.Int() + u.since) }

func (u *unpacker) name() string { return u.names.Next() }

func (u *unpacker) payload() Payload {
	head := u.Byte()
	p := Payload{Encoding: Encoding(head >> 1), Data: u.Bytes()}
	if head&1 != 0 {
		p.Blobs = &Blobs{Content: u.Text(), Size: u.Int()}
		for range u.Uint() {
			p.Blobs.Named = append(p.Blobs.Named, u.Text())
		}
	}
	return p
}
