package stream

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/taskrt/taskrt/internal/arriving"
)

// readSize is the size of the buffer in front of a reader of frames.
const readSize = 32 << 10

// bodies reads the bodies of frames, for one goroutine.
type bodies struct {
	br   *bufio.Reader
	max  int    // bytes of a body
	body []byte // reused by next
}

// next returns one frame's bytes, which are valid until the next call.
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
	body, err := arriving.Append(r.br, r.body[:0], n, writeChunk)
	if err != nil {
		return nil, err
	}
	r.body = body
	return body, nil
}

// whole reports whether next would return a frame without waiting for more bytes.
func (r *bodies) whole() bool {
	if r.br.Buffered() < HeaderSize {
		return false
	}
	h, err := r.br.Peek(HeaderSize)
	return err == nil && uint64(r.br.Buffered()) >= HeaderSize+uint64(binary.BigEndian.Uint32(h))
}
