package paced

import (
	"errors"
	"io"
	"sync"

	"golang.org/x/sync/semaphore"
)

// ErrBudget says that the bytes of a body are more than is left of a budget.
var ErrBudget = errors.New("paced: too many bytes are being received")

// FirstPiece is for how many bytes of a body there is room before any of them has come.
const FirstPiece = 64 << 10

// Receive reads r to its end, which comes after at most most bytes. The bytes count against the budget until release is called. It takes the budget as the bytes come, not as they are
// announced: clients that announce megabytes and send nothing must not keep others out (slowloris). The body begins in into, if there is room for
// FirstPiece and a byte.
func Receive(budget *semaphore.Weighted, r io.Reader, most int64, into []byte) (body []byte, release func(), err error) {
	room := min(most, FirstPiece) + 1 // a byte more, because the end is seen only while there is room
	if !budget.TryAcquire(room) {
		return nil, nil, ErrBudget
	}
	release = func() { budget.Release(room) }
	lent := int64(cap(into)) >= room // to be given back by the caller
	if body = into[:0]; !lent {
		body = stage(0, room, room > most)
	}
	body = body[:0:room]
	for grown := 0; ; {
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if errors.Is(err, io.EOF) {
			return body, release, nil
		}
		if err != nil {
			release()
			return nil, nil, err
		}
		if len(body) < cap(body) {
			continue
		}
		if room > most {
			panic("a body is longer than its limit") // cannot happen: r is bounded
		}
		more := min(4*room, most+1)
		if !budget.TryAcquire(more) { // in addition to the old room: both are in memory while the bytes are copied
			release()
			return nil, nil, ErrBudget
		}
		former := body
		body = append(stage(grown+1, more, more > most), former...)
		if !lent {
			stages[grown].Put(&former)
		}
		release()
		room, lent, grown = more, false, grown+1
	}
}

// stages are buffers that bodies have outgrown, by how often these had grown before. Most of the memory of a long body
// would be such buffers otherwise.
var stages [16]sync.Pool

// stage returns an empty buffer for n bytes of a body that has grown so often. The last one belongs to the body.
func stage(grown int, n int64, last bool) []byte {
	if !last {
		if b, ok := stages[grown].Get().(*[]byte); ok {
			return (*b)[:0]
		}
	}
	return make([]byte, 0, n)
}
