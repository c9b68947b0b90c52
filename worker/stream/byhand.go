package stream

import (
	"math"
	"unicode/utf8"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
	"github.com/taskrt/taskrt/task/wire/head"
)

// Busy streams carry assignments, reports, acks and credits, and hardly anything else. This file writes these frames, with the very bytes that the
// library would write, and reads them if they look as this build writes them. The library reads all other frames, and alone decides what is refused.
// TestByHandIsTheLibrary and FuzzDecode compare the two ways.

// Keys of Frame, and first bytes of small maps.
const (
	keyReports = 3
	keyCredits = 5
	keyAcks    = 19
	keyAssign  = 20

	mapOf1 = head.Map | 1
	mapOf2 = head.Map | 2
	mapOf3 = head.Map | 3
)

// appendByHand appends a frame. If it returns false, the frame is of a kind that is not written here, and b is as it was.
func (c *codec) appendByHand(b []byte, f *Frame) (after []byte, ok bool, err error) {
	if f.kinds() != 1 {
		return b, false, nil
	}
	switch {
	case f.Assign != nil:
		b = head.Append(append(b, mapOf1, keyAssign), head.Array, uint64(len(f.Assign)))
		for i := range f.Assign {
			a := &f.Assign[i]
			if b, err = appendAssignment(b, a, a.Module.Digest == "" || i > 0 && a.sameVersion(&f.Assign[i-1])); err != nil {
				return b, false, err
			}
		}
	case f.Reports != nil:
		b = head.Append(append(b, mapOf1, keyReports), head.Array, uint64(len(f.Reports)))
		for i := range f.Reports {
			if b, err = appendReport(b, &f.Reports[i]); err != nil {
				return b, false, err
			}
		}
	case f.Acks != nil:
		b = head.Append(append(b, mapOf1, keyAcks), head.Array, uint64(len(f.Acks)))
		for i := range f.Acks {
			b = appendAck(b, &f.Acks[i])
		}
	case f.Credits != nil:
		b = appendCredits(append(b, mapOf1, keyCredits), f.Credits)
	default:
		return b, false, nil
	}
	return b, true, nil
}

// appendAssignment appends an assignment. It leaves out the version if the assignment shares it with the one before.
func appendAssignment(b []byte, a *Assignment, shared bool) ([]byte, error) {
	if a.Task == nil {
		return b, errTaskMissing
	}
	if shared {
		return wire.AppendTask(append(b, mapOf1, 1), a.Task)
	}
	b, err := wire.AppendTask(append(b, mapOf3, 1), a.Task)
	if err != nil {
		return b, err
	}
	return appendVersion(b, a)
}

// appendVersion appends the fields that assignments of one version share.
func appendVersion(b []byte, a *Assignment) ([]byte, error) {
	p := a.Policy
	if p == nil {
		p = &task.Policy{}
	}
	policy, err := modes.enc.Marshal(p)
	if err != nil {
		return b, err
	}
	b = append(append(b, 2), policy...)
	b = head.AppendText(append(b, 3, mapOf2, 1), a.Module.Digest)
	return head.AppendInt(append(b, 2), a.Module.Size), nil
}

func appendReport(b []byte, r *Report) ([]byte, error) {
	if r.Finish == nil || r.Beat != nil || r.Snooze != nil || r.GiveBack != nil || len(r.Children) > 0 {
		other, err := modes.enc.Marshal((*plainReport)(r))
		return append(b, other...), err
	}
	b = append(head.AppendUint(append(b, mapOf2, 1), r.ID), 2)
	return wire.AppendFinish(b, r.Finish), nil
}

func appendAck(b []byte, a *Ack) []byte {
	start := len(b)
	b = head.AppendUint(append(b, mapOf1, 1), a.ID)
	if a.Code != "" {
		b[start]++
		b = head.AppendText(append(b, 2), string(a.Code))
	}
	if a.Message != "" {
		b[start]++
		b = head.AppendText(append(b, 3), a.Message)
	}
	if a.Retry {
		b[start]++
		b = append(b, 4, head.True)
	}
	if a.Repeated {
		b[start]++
		b = append(b, 5, head.True)
	}
	return b
}

func appendCredits(b []byte, c *Credits) []byte {
	start := len(b)
	b = head.AppendUint(append(b, mapOf2, 1), c.Seq)
	b = head.AppendInt(append(b, 2), c.Free)
	if c.Ahead != 0 {
		b[start]++
		b = head.AppendInt(append(b, 3), c.Ahead)
	}
	if c.Each != 0 {
		b[start]++
		b = head.AppendInt(append(b, 4), c.Each)
	}
	return b
}

// decodeByHand reads a frame. If it returns false, the library has to read the frame.
func (c *codec) decodeByHand(body []byte) (f Frame, ok bool) {
	if len(body) < 2 || body[0] != mapOf1 {
		return Frame{}, false
	}
	r := reader{b: body[2:]}
	switch body[1] {
	case keyAssign:
		f.Assign = r.assignments(&c.known)
	case keyReports:
		f.Reports = r.reports()
	case keyAcks:
		f.Acks = r.acks()
	case keyCredits:
		f.Credits = r.credits()
	default:
		return Frame{}, false
	}
	if r.bad || len(r.b) > 0 {
		return Frame{}, false
	}
	return f, true
}

// reader reads what is written above. Anything else that it meets makes it bad. Nothing that it returns refers to b.
type reader struct {
	b   []byte
	bad bool
}

// maxList is the longest list that the library reads.
const maxList = 131072

// prealloc is for how many elements of a list the reader takes memory before it has seen them.
const prealloc = 1024

func (r *reader) assignments(known *versions) []Assignment {
	n := r.list()
	as := make([]Assignment, 0, min(n, prealloc))
	for i := 0; i < n && !r.bad; i++ {
		lean := r.skip(mapOf1, 1)
		if !lean && !r.skip(mapOf3, 1) || lean && i == 0 {
			r.bad = true
			break
		}
		var a Assignment
		if a.Task, r.b = wire.ReadTask(r.b); a.Task == nil {
			r.bad = true
			break
		}
		if lean {
			a.Policy, a.Module = as[i-1].Policy, as[i-1].Module
		} else if v := known.find(r.b); v != nil {
			a.Policy, a.Module = v.policy, v.module
			r.b = r.b[len(v.raw):]
		} else {
			r.bad = true
		}
		as = append(as, a)
	}
	return as
}

func (r *reader) reports() []Report {
	n := r.list()
	rs := make([]Report, 0, min(n, prealloc))
	for i := 0; i < n && !r.bad; i++ {
		if !r.skip(mapOf2, 1) {
			break
		}
		x := Report{ID: r.head(head.Uint)}
		if len(r.b) == 0 || r.b[0] != 2 {
			r.bad = true
			break
		}
		if x.Finish, r.b = wire.ReadFinish(r.b[1:]); x.Finish == nil {
			r.bad = true
		}
		rs = append(rs, x)
	}
	r.bad = r.bad || len(rs) < n
	return rs
}

func (r *reader) acks() []Ack {
	n := r.list()
	as := make([]Ack, 0, min(n, prealloc))
	for i := 0; i < n && !r.bad; i++ {
		as = append(as, r.ack())
	}
	return as
}

func (r *reader) ack() (a Ack) {
	fields := r.head(head.Map)
	for last := byte(0); fields > 0 && !r.bad; fields-- {
		switch last = r.key(last); last {
		case 1:
			a.ID = r.head(head.Uint)
		case 2:
			a.Code = task.Code(r.text())
		case 3:
			a.Message = r.text()
		case 4:
			a.Retry = r.true()
		case 5:
			a.Repeated = r.true()
		default:
			r.bad = true
		}
	}
	return a
}

func (r *reader) credits() *Credits {
	c := &Credits{}
	fields := r.head(head.Map)
	for last := byte(0); fields > 0 && !r.bad; fields-- {
		switch last = r.key(last); last {
		case 1:
			c.Seq = r.head(head.Uint)
		case 2:
			c.Free = r.int()
		case 3:
			c.Ahead = r.int()
		case 4:
			c.Each = r.int()
		default:
			r.bad = true
		}
	}
	return c
}

// list returns the length of an array that has elements.
func (r *reader) list() int {
	n := r.head(head.Array)
	if n == 0 || n > maxList || n > uint64(len(r.b)) {
		r.bad = true
		return 0
	}
	return int(n)
}

// skip passes over two bytes, if they are there.
func (r *reader) skip(first, second byte) bool {
	if len(r.b) < 2 || r.b[0] != first || r.b[1] != second {
		return false
	}
	r.b = r.b[2:]
	return true
}

// key returns the next key of a map, which must be higher than the last.
func (r *reader) key(last byte) byte {
	if len(r.b) == 0 || r.b[0] >= 24 || r.b[0] <= last {
		r.bad = true
		return 0
	}
	k := r.b[0]
	r.b = r.b[1:]
	return k
}

// head returns the argument of a data item of a major type.
func (r *reader) head(major byte) uint64 {
	n, rest, ok := head.Read(r.b, major)
	r.b = rest
	r.bad = r.bad || !ok
	return n
}

func (r *reader) int() int64 {
	n := r.head(head.Uint) // negative numbers are rare, and left to the library
	if n > math.MaxInt64 {
		r.bad = true
	}
	return int64(n)
}

func (r *reader) text() string {
	n := r.head(head.Text)
	if n > uint64(len(r.b)) || !utf8.Valid(r.b[:n]) {
		r.bad = true
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *reader) true() bool {
	if len(r.b) == 0 || r.b[0] != head.True {
		r.bad = true
		return false
	}
	r.b = r.b[1:]
	return true
}
