package task

import (
	"github.com/taskrt/taskrt/task/store"
	"github.com/taskrt/taskrt/task/table"
)

// A packed record is a Task that does not run, in as few bytes as is simple:
//
//	length of the rest · ID · number of names, names · behavior · which fields follow · status and priority ·
//	rev - created rev · created at · the fields that are not zero
//
// Numbers are varints, instants are counted from created_at, names are numbers of table.Names. It lives in memory only: how it looks is no contract,
// and what it says is hashed field by field (digest.go). The fields that are not zero are written and read by pack_gen.go.

// packer writes one record.
type packer struct {
	store.Writer
	since int64 // instants count from it
	table *table.Names
}

func (p *packer) instant(t Time) { p.Int(int64(t) - p.since) }

func (p *packer) payload(x *Payload) {
	p.B = append(p.B, byte(x.Encoding)<<1|store.Flag(x.Blobs != nil))
	p.Uint(uint64(len(x.Data)))
	p.B = append(p.B, x.Data...)
	if x.Blobs == nil {
		return
	}
	p.Text(x.Blobs.Content)
	p.Int(x.Blobs.Size)
	p.Uint(uint64(len(x.Blobs.Named)))
	for _, s := range x.Blobs.Named {
		p.Text(s)
	}
}

// isZero reports whether a payload is the absent one.
func (p *Payload) isZero() bool { return p.Encoding == None && len(p.Data) == 0 && p.Blobs == nil }

// form tells package store of Tasks.
type form struct{}

func (form) Key(t *Task) (namespace, id string) { return t.Namespace, t.ID }

func (form) Created(t *Task) uint64 { return t.CreatedRev }

// Packs reports whether t is kept packed. A packed record has no place for the fields that only a running task has.
func (form) Packs(t *Task) bool {
	return t.Status != Running && !runs(t) && t.Priority >= 0 && t.Priority < 16 && t.Status < 16
}

func (form) Stays(t *Task) bool { return t.Final() }

func (form) AppendNames(b []byte, names *table.Names, t *Task) []byte {
	p := packer{Writer: store.Writer{B: b}, table: names}
	p.names(t)
	return p.B
}

func (form) AppendBody(b []byte, t *Task) []byte {
	p := packer{Writer: store.Writer{B: b}, since: int64(t.CreatedAt)}
	bits := fieldsOf(t)
	p.Uint(bits)
	p.Byte(byte(t.Status)<<4 | byte(t.Priority))
	p.Uint(t.Rev - t.CreatedRev)
	p.Int(int64(t.CreatedAt))
	p.fields(t, bits)
	return p.B
}

func (form) Read(of *store.Owner, id string, created uint64, names store.Names, body []byte) *Task {
	u := unpacker{Reader: store.Reader{B: body}, names: names}
	bits := u.Uint()
	head := u.Byte()
	t := &Task{
		Namespace: of.Namespace, ID: id, Behavior: of.Name, Status: Status(head >> 4), Priority: int8(head & 15),
		Rev: created + u.Uint(), CreatedRev: created, CreatedAt: Time(u.Int()),
	}
	u.since = int64(t.CreatedAt)
	u.fields(t, bits)
	return t
}

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
