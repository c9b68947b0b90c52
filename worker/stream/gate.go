package stream

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrHeld is in the errors of Carry that are about the content of a frame, not about the connection.
var ErrHeld = errors.New("stream: a frame was not carried on")

// Gate carries a worker's frames on to a leader where the worker is not trusted (SPEC A10): each frame is whole, is written as this build writes it,
// and was looked at, before a byte of it goes on. So the leader reads nothing that was not looked at.
type Gate struct {
	codec codec
	look  func(*Frame) error
	take  func(n int) (done func(), err error)
	again []byte // the frame as this build writes it
}

// NewGate returns a Gate for one stream. An error of look holds the frame back. take is asked for memory before a frame of more than 1 MiB
// is decoded, and done gives the memory back.
func NewGate(look func(*Frame) error, take func(n int) (done func(), err error)) (*Gate, error) {
	c, err := newCodec()
	return &Gate{codec: c, look: look, take: take}, err
}

// Carry carries frames on until one end closes, or a frame is held back: then the error wraps ErrHeld.
func (g *Gate) Carry(to io.Writer, from io.Reader) error {
	in := bodies{br: bufio.NewReaderSize(from, readSize), max: MaxFrame}
	out := bufio.NewWriterSize(to, readSize)
	for {
		body, err := in.next()
		switch {
		case errors.Is(err, io.EOF):
			return out.Flush()
		case errors.Is(err, ErrFrameTooLarge):
			return fmt.Errorf("%w: %w", ErrHeld, err)
		case err != nil:
			return err
		}
		if err := g.pass(out, body); err != nil {
			return err
		}
		if !in.whole() { // while this waits for more, the frames that have passed must not wait
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}

// pass looks at one frame and writes it.
func (g *Gate) pass(out *bufio.Writer, body []byte) error {
	if len(body) > keepBuffer {
		done, err := g.take(len(body))
		if err != nil {
			return err
		}
		defer done()
	}
	f, err := g.read(body)
	if err == nil {
		err = g.look(&f)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrHeld, err)
	}
	var h [HeaderSize]byte
	binary.BigEndian.PutUint32(h[:], uint32(len(body)))
	if _, err := out.Write(h[:]); err != nil {
		return err
	}
	_, err = out.Write(body)
	return err
}

// read decodes a frame. A frame that this build would write in other bytes is bad: a leader of another build may read in it what this build does not
// see.
func (g *Gate) read(body []byte) (Frame, error) {
	if f, ok := g.codec.decodeByHand(body); ok {
		return f, nil
	}
	f, err := g.codec.decodeByLibrary(body)
	if err != nil {
		return f, err
	}
	if cap(g.again) > keepBuffer {
		g.again = nil
	}
	if g.again, err = g.codec.appendBody(g.again[:0], &f); err != nil {
		return f, fmt.Errorf("%w: %w", ErrBadFrame, err)
	}
	if !bytes.Equal(g.again, body) {
		return f, fmt.Errorf("%w: not as this build writes it", ErrBadFrame)
	}
	return f, nil
}
