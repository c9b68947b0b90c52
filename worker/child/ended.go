package child

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/taskrt/taskrt/worker"
)

// Attempts may end ten thousands of times a second. So the news of an ended attempt is written by hand: two texts with
// their lengths in front, and then varints.

func appendEnded(b []byte, e *worker.Ended) []byte {
	for _, text := range []string{e.Namespace, e.Behavior} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	flags := uint64(0)
	if e.Ran {
		flags |= 1
	}
	if e.Reused {
		flags |= 2
	}
	if e.Spans != nil {
		flags |= 4
	}
	for _, n := range []uint64{uint64(e.End), flags, uint64(e.Wall), uint64(e.Busy), uint64(e.Fuel), uint64(e.PeakMemory), e.Token, uint64(e.Ready)} {
		b = binary.AppendUvarint(b, n)
	}
	if e.Spans != nil {
		measured := e.Spans.Append(nil)
		b = append(binary.AppendUvarint(b, uint64(len(measured))), measured...)
	}
	return b
}

var errBadEnded = errors.New("child: what was told of ended attempts cannot be read")

// readEnded calls f for each Ended in b, with what was measured of its spans.
func readEnded(b []byte, f func(e worker.Ended, measured []byte)) error {
	next := func() uint64 {
		n, used := binary.Uvarint(b)
		if used <= 0 {
			b = nil
			return 0
		}
		b = b[used:]
		return n
	}
	for len(b) > 0 {
		var e worker.Ended
		for _, text := range []*string{&e.Namespace, &e.Behavior} {
			n := next()
			if n > uint64(len(b)) {
				return errBadEnded
			}
			*text, b = string(b[:n]), b[n:]
		}
		end, flags := next(), next()
		e.End, e.Ran, e.Reused = worker.End(end), flags&1 != 0, flags&2 != 0
		e.Wall, e.Busy = time.Duration(next()), time.Duration(next())
		e.Fuel, e.PeakMemory, e.Token = int64(next()), int64(next()), next()
		if b == nil || end >= uint64(worker.Ends) {
			return errBadEnded
		}
		e.Ready = time.Duration(next())
		if b == nil {
			return errBadEnded
		}
		var measured []byte
		if flags&4 != 0 {
			n := next()
			if n > uint64(len(b)) {
				return errBadEnded
			}
			measured, b = b[:n], b[n:]
		}
		f(e, measured)
	}
	return nil
}
