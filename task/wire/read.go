package wire

import (
	"math"
	"strings"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire/head"
)

// reader reads what append_gen.go writes, by read_gen.go. Anything else that it meets (a key that it does not know or does not
// expect now, another type, a number out of range) makes it bad: then the library reads the same bytes again and decides. So the
// reader refuses nothing by itself, and everything that it accepts reads as the library reads it (FuzzCommand).
//
// Nothing that it returns refers to b.
type reader struct {
	b   []byte // what is left
	bad bool

	kind   uint64 // of the command that proposal has read
	length int    // of its bytes

	names *names
	keys  strings.Builder // of IDs that commands look up: see key

	payloads []byte // see bytes
	lone     bool   // others read the rest, so IDs and payloads get memory of their own
}

// names shares the strings that repeat in an entry: namespaces, behaviors, labels. It is a cache by place, so that a
// hostile entry costs no more than a harmless one.
type names [64]string

func (t *names) get(b []byte) string {
	n := len(b)
	if n == 0 {
		return ""
	}
	at := (uint(n)*31 + uint(b[0])*7 + uint(b[n-1])*3 + uint(b[n/2])) % uint(len(t))
	if t[at] == string(b) {
		return t[at]
	}
	t[at] = string(b)
	return t[at]
}

// head returns the argument of a data item of a major type.
func (r *reader) head(major byte) uint64 {
	if len(r.b) > 0 && r.b[0]^major < 24 { // most are that small
		n := r.b[0] ^ major
		r.b = r.b[1:]
		return uint64(n)
	}
	n, rest, ok := head.Read(r.b, major)
	r.b = rest
	r.bad = r.bad || !ok
	return n
}

func (r *reader) uint() uint64 { return r.head(head.Uint) }

func (r *reader) int() int64 {
	major, negative := byte(head.Uint), len(r.b) > 0 && r.b[0]&^0x1f == head.Negative
	if negative {
		major = head.Negative
	}
	n := r.head(major)
	if n > math.MaxInt64 {
		r.bad = true
		return 0
	}
	if negative {
		return -1 - int64(n)
	}
	return int64(n)
}

// small is int of a type with fewer bits.
func (r *reader) small(lowest, highest int64) int64 {
	n := r.int()
	if n < lowest || n > highest {
		r.bad = true
	}
	return n
}

func (r *reader) bool() bool {
	if len(r.b) == 0 || r.b[0] != head.True && r.b[0] != head.False {
		r.bad = true
		return false
	}
	yes := r.b[0] == head.True
	r.b = r.b[1:]
	return yes
}

// part returns the bytes of a string, where they are.
func (r *reader) part(major byte) []byte {
	n := r.head(major)
	if n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) text() string { return string(r.part(head.Text)) }
func (r *reader) name() string { return r.names.get(r.part(head.Text)) }

// These are about the short payloads of an entry, which share memory with their neighbors: one allocation serves a dozen. The shared
// memory is small, so that a task that is kept does not keep much beside it.
const (
	sharedPayload = 512
	payloadsChunk = 4 << 10
)

// bytes returns a copy, because a small task must not keep a large entry in memory.
func (r *reader) bytes() []byte {
	p := r.part(head.Bytes)
	if len(p) == 0 {
		r.bad = true // the library tells an empty string from an absent one
		return nil
	}
	if len(p) > cap(r.payloads)-len(r.payloads) {
		if r.lone || len(p) > sharedPayload || len(p) > len(r.b) { // hardly any other payload comes after it
			return append(make([]byte, 0, len(p)), p...)
		}
		r.payloads = make([]byte, 0, min(payloadsChunk, len(p)+len(r.b)))
	}
	at := len(r.payloads)
	r.payloads = append(r.payloads, p...)
	return r.payloads[at:len(r.payloads):len(r.payloads)]
}

// list returns the length of an array that has elements.
func (r *reader) list() int {
	n := r.head(head.Array)
	if n == 0 || n > maxArray || n > uint64(len(r.b)) {
		r.bad = true
		return 0
	}
	return int(n)
}

// fieldsLeft is how many fields of a map are still to be read, and the last key. Keys rise.
type fieldsLeft struct {
	n    int
	last byte
}

func (r *reader) fields() fieldsLeft {
	n := r.head(head.Map)
	if n > 23 {
		r.bad = true
	}
	return fieldsLeft{n: int(n)}
}

// next returns the next key of f. It returns 0 at the end of f, and when something is bad.
func (r *reader) next(f *fieldsLeft) byte {
	if r.bad || f.n == 0 {
		return 0
	}
	if len(r.b) > 1 && r.b[0] == head.Uint|24 && r.b[1] >= 24 {
		r.b = r.b[1:]
	} else if len(r.b) == 0 || r.b[0] >= 24 {
		r.bad = true
		return 0
	}
	if r.b[0] <= f.last {
		r.bad = true
		return 0
	}
	f.n--
	f.last = r.b[0]
	r.b = r.b[1:]
	return f.last
}

// keysChunk is how much of an entry's IDs is copied at once.
const keysChunk = 2 << 10

// key reads the key of a task that a command looks up. Its ID shares a piece of memory with the IDs of its neighbors, because machines look keys up
// and do not keep them. The ID of a Submit, which makes a task, is not read here.
func (r *reader) key() (k task.Key) {
	f := r.fields()
	for {
		switch r.next(&f) {
		case 0:
			return k
		case 1:
			k.Namespace = r.name()
		case 2:
			id := r.part(head.Text)
			if r.lone {
				k.ID = string(id)
				continue
			}
			if r.keys.Cap()-r.keys.Len() < len(id) {
				r.keys = strings.Builder{}
				r.keys.Grow(max(keysChunk, len(id)))
			}
			at := r.keys.Len()
			_, _ = r.keys.Write(id) // never fails (strings.Builder)
			k.ID = r.keys.String()[at:]
		default:
			r.bad = true
		}
	}
}

func (r *reader) texts() []string {
	ss := make([]string, r.list())
	for i := range ss {
		ss[i] = r.text()
	}
	return ss
}

// pointer returns a pointer to a copy of x.
func pointer[T any](x T) *T { return &x }
