package stream

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// readSize is the size of the buffer in front of a reader of frames.
const readSize = 32 << 10

// bodies reads the bodies of frames, for one goroutine.
type bodies struct {
	br   *bufio.Reader
	max  int    // bytes of a body
	body []byte // reused by next
}

// next returns one frame's bytes, which are valid until the next call. The buffer grows with the bytes that have
// arrived, not with the length that the header promises.
func (r *bodies) next() ([]byte, error) {
	var h [HeaderSize]byte
	if _, err := io.ReadFull(r.br, h[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(h[:]))
	if n > r.max {
		return nil, fmt.Errorf("%w: %d bytes announced, limit %d", ErrFrameTooLarge, n, r.max)
	}
	if cap(r.body) > keepBuffer {
		r.body = nil
	}
	r.body = r.body[:0]
	for len(r.body) < n {
		step := min(n-len(r.body), max(writeChunk, len(r.body)))
		have := len(r.body)
		r.body = append(r.body, make([]byte, step)...)
		if _, err := io.ReadFull(r.br, r.body[have:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return r.body, nil
}

// whole reports whether next would return a frame without waiting for more bytes.
func (r *bodies) whole() bool {
	if r.br.Buffered() < HeaderSize {
		return false
	}
	h, err := r.br.Peek(HeaderSize)
	return err == nil && uint64(r.br.Buffered()) >= HeaderSize+uint64(binary.BigEndian.Uint32(h))
}
