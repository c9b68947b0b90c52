package paced

import (
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/taskrt/taskrt/api/internal/codec"
)

// piece is how much of a list is gathered before it is written.
const piece = 64 << 10

// WriteList writes {"name":[…]} in pieces: ten thousand tasks with large results are in memory once, as the state, and must not
// be there a second time, as one text. after, if any, is `,"name":value` behind the list. A client that takes no piece for as long as its
// patience is cut off. An error means that the answer did not go out as a whole.
func WriteList[T any](w http.ResponseWriter, patience time.Duration, name string, elements iter.Seq[T], after []byte) (err error) {
	conn := http.NewResponseController(w)
	codec.WithBuffer(func(b []byte) []byte {
		b = append(append(append(b, `{"`...), name...), `":[`...)
		begun, comma := false, false
		for v := range elements {
			if comma {
				b = append(b, ',')
			}
			b, comma = codec.Append(b, v), true
			if len(b) < piece {
				continue
			}
			_ = conn.SetWriteDeadline(time.Now().Add(patience))
			if _, err = w.Write(b); err != nil {
				return b
			}
			b, begun = b[:0], true
		}
		b = append(append(append(b, ']'), after...), "}\n"...)
		if begun {
			_ = conn.SetWriteDeadline(time.Now().Add(patience))
		} else {
			w.Header().Set("Content-Length", strconv.Itoa(len(b)))
		}
		_, err = w.Write(b)
		return b
	})
	if err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return nil
}
