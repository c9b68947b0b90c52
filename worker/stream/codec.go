package stream

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// HeaderSize is the size of a frame's length prefix: a big-endian uint32, the number of bytes that follow.
const HeaderSize = 4

// What is wrong with a frame. All errors but ErrUnknownFrame end the connection.
var (
	ErrFrameTooLarge = errors.New("stream: frame too large")
	ErrBadFrame      = errors.New("stream: bad frame")
	ErrUnknownFrame  = errors.New("stream: frame of an unknown kind") // from a newer peer; Recv skips it
)

// codec holds the modes of the CBOR library; building them is pure, so every Conn has its own.
type codec struct {
	enc   cbor.EncMode
	dec   cbor.DecMode
	known versions // belongs to the goroutine that decodes
}

// newCodec builds the modes. They ignore unknown fields, so that peers of neighbouring versions understand each other
// (SPEC C4). They refuse everything that a well-behaved peer never sends.
func newCodec() (codec, error) {
	enc, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		return codec{}, fmt.Errorf("stream: encoder: %w", err)
	}
	dec, err := cbor.DecOptions{
		DupMapKey:   cbor.DupMapKeyEnforcedAPF,
		IndefLength: cbor.IndefLengthForbidden,
		TagsMd:      cbor.TagsForbidden,
	}.DecMode()
	if err != nil {
		return codec{}, fmt.Errorf("stream: decoder: %w", err)
	}
	return codec{enc: enc, dec: dec}, nil
}

// append appends f with its header to buf. If one frame would pass max, it appends several: lists are halved until each part
// fits. If a single element does not fit, it returns ErrFrameTooLarge and leaves buf unchanged.
func (c *codec) append(buf []byte, f *Frame, max int) ([]byte, error) {
	at := len(buf)
	buf, err := c.appendBody(append(buf, make([]byte, HeaderSize)...), f)
	if err != nil {
		return buf[:at], fmt.Errorf("%w: %w", ErrBadFrame, err)
	}
	size := len(buf) - at - HeaderSize
	if size <= max {
		binary.BigEndian.PutUint32(buf[at:], uint32(size))
		return buf, nil
	}
	buf = buf[:at]
	a, b, ok := split(*f)
	if !ok {
		return buf, fmt.Errorf("%w: %d bytes, limit %d", ErrFrameTooLarge, size, max)
	}
	for _, part := range []*Frame{&a, &b} {
		if buf, err = c.append(buf, part, max); err != nil {
			return buf[:at], err
		}
	}
	return buf, nil
}

func (c *codec) appendBody(buf []byte, f *Frame) ([]byte, error) {
	if after, ok, err := c.appendByHand(buf, f); ok || err != nil {
		return after, err
	}
	return c.appendByLibrary(buf, f)
}

func (c *codec) appendByLibrary(buf []byte, f *Frame) ([]byte, error) {
	sent := *f
	sent.Assign = lean(f.Assign)
	body, err := c.enc.Marshal(sent)
	return append(buf, body...), err
}

// decode reads the body of one frame.
func (c *codec) decode(body []byte) (Frame, error) {
	if f, ok := c.decodeByHand(body); ok {
		return f, nil
	}
	f, err := c.decodeByLibrary(body)
	if err == nil && len(f.Assign) > 0 {
		c.known.learn(c, body)
	}
	return f, err
}

func (c *codec) decodeByLibrary(body []byte) (Frame, error) {
	var f Frame
	if err := c.dec.Unmarshal(body, &f); err != nil {
		return Frame{}, fmt.Errorf("%w: %w", ErrBadFrame, err)
	}
	whole(f.Assign)
	switch n := f.kinds(); n {
	case 0:
		return Frame{}, ErrUnknownFrame
	case 1:
		return f, nil
	default:
		return Frame{}, fmt.Errorf("%w: %d kinds in one", ErrBadFrame, n)
	}
}

// split halves the one list of a frame. The halves are sent in order, so that the receiver cannot tell.
func split(f Frame) (a, b Frame, ok bool) {
	switch {
	case len(f.Reports) > 1:
		a.Reports, b.Reports = halves(f.Reports)
	case len(f.Ready) > 1:
		a.Ready, b.Ready = halves(f.Ready)
	case len(f.Logs) > 1:
		a.Logs, b.Logs = halves(f.Logs)
	case len(f.Progress) > 1:
		a.Progress, b.Progress = halves(f.Progress)
	case len(f.Unready) > 1:
		a.Unready, b.Unready = halves(f.Unready)
	case len(f.Acks) > 1:
		a.Acks, b.Acks = halves(f.Acks)
	case len(f.Assign) > 1:
		a.Assign, b.Assign = halves(f.Assign)
	case len(f.Cancel) > 1:
		a.Cancel, b.Cancel = halves(f.Cancel)
	case len(f.Halt) > 1:
		a.Halt, b.Halt = halves(f.Halt)
	case len(f.Prepare) > 1:
		a.Prepare, b.Prepare = halves(f.Prepare)
	default:
		return f, Frame{}, false
	}
	return a, b, true
}

func halves[T any](s []T) (a, b []T) { return s[:len(s)/2], s[len(s)/2:] }
