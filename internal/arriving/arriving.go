// Package arriving reads a body whose length a peer has announced, with the memory of what has arrived.
package arriving

import (
	"errors"
	"io"
)

// Append reads n bytes behind body. Its memory grows by step bytes, or to twice what there is, whenever all of it has arrived: the peer has only
// announced n. A body that ends early is io.ErrUnexpectedEOF.
func Append(r io.Reader, body []byte, n, step int) ([]byte, error) {
	for end := len(body) + n; len(body) < end; {
		have := len(body)
		want := have + min(end-have, max(step, have))
		if want <= cap(body) {
			body = body[:want]
		} else { // not append(body, make(…)...): the race detector's builds make both
			more := make([]byte, want)
			copy(more, body)
			body = more
		}
		if _, err := io.ReadFull(r, body[have:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return body, nil
}
