package wire

import "github.com/taskrt/taskrt/task/wire/head"

// The commands that a busy log consists of, tasks and most answers are written without the library's reflection, by append_gen.go: the very bytes
// that the library writes. Fields are in the order of their keys, and left out as their tags say. TestByHandIsTheLibrary and FuzzByHand compare the
// two.

// fields is a map with at most 23 fields under construction.
type fields struct {
	b     []byte
	start int // of the map's head, which holds the number of fields
}

func beginFields(b []byte) fields { return fields{append(b, head.Map), len(b)} }

// key begins the field k.
func (f *fields) key(k byte) {
	f.b[f.start]++
	if k >= 24 {
		f.b = append(f.b, head.Uint|24)
	}
	f.b = append(f.b, k)
}

func (f *fields) uint(k byte, n uint64) {
	f.key(k)
	f.b = head.AppendUint(f.b, n)
}

func (f *fields) int(k byte, n int64) {
	f.key(k)
	f.b = head.AppendInt(f.b, n)
}

func (f *fields) text(k byte, s string) {
	f.key(k)
	f.b = head.AppendText(f.b, s)
}

func (f *fields) texts(k byte, ss []string) {
	f.key(k)
	f.b = head.Append(f.b, head.Array, uint64(len(ss)))
	for _, s := range ss {
		f.b = head.AppendText(f.b, s)
	}
}

// The functions below are for fields that are left out when they are empty.

func (f *fields) someUint(k byte, n uint64) {
	if n != 0 {
		f.uint(k, n)
	}
}

func (f *fields) someInt(k byte, n int64) {
	if n != 0 {
		f.int(k, n)
	}
}

func (f *fields) someText(k byte, s string) {
	if s != "" {
		f.text(k, s)
	}
}

func (f *fields) someTrue(k byte, yes bool) {
	if yes {
		f.key(k)
		f.b = append(f.b, head.True)
	}
}
