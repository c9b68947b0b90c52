package stream

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Along reads along where a leader's frames are carried on without being decoded: it tells of assignments, of modules to prepare, of dead
// tokens and of how a session begins and goes on, and passes over all other frames. It is an io.Writer of the same bytes, for one goroutine.
type Along struct {
	codec codec
	tell  func(*Frame)
	frame []byte // the frame's bytes so far, with its header; of a frame that is passed over only up to the second byte of the body
	size  int    // of the whole frame; 0: its header is not complete
	seen  int    // bytes of the frame that have passed
}

// kindSize is how many bytes of a body tell its kind: those of a map of one key, and of the key.
const (
	kindSize   = 2
	keyWelcome = 16
	keyRefused = 17
	keyRenewed = 18
	keyHalt    = 22
	keyPrepare = 23
)

// NewAlong returns an Along that calls tell with each frame of interest before Write returns.
func NewAlong(tell func(*Frame)) (*Along, error) {
	c, err := newCodec()
	return &Along{codec: c, tell: tell}, err
}

// Write takes the next bytes. An error means that they are not frames of a leader.
func (a *Along) Write(b []byte) (int, error) {
	all := len(b)
	for len(b) > 0 {
		n := min(len(b), a.next()-a.seen)
		if a.seen < HeaderSize+kindSize || a.wanted() {
			a.frame = append(a.frame, b[:n]...)
		}
		a.seen += n
		b = b[n:]
		if a.seen == HeaderSize {
			size := binary.BigEndian.Uint32(a.frame)
			if size > MaxFrame {
				return 0, fmt.Errorf("%w: %d bytes announced", ErrBadFrame, size)
			}
			a.size = HeaderSize + int(size)
		}
		if a.seen >= HeaderSize && a.seen == a.size {
			if err := a.end(); err != nil {
				return 0, err
			}
		}
	}
	return all, nil
}

// next returns up to which byte of the frame there is nothing to decide: the end of the header, of the kind, or of the frame.
func (a *Along) next() int {
	switch {
	case a.seen < HeaderSize:
		return HeaderSize
	case a.seen < HeaderSize+kindSize:
		return min(HeaderSize+kindSize, a.size)
	}
	return a.size
}

// wanted reports whether the frame may be of interest. A frame that is not written as this build writes it may be.
func (a *Along) wanted() bool {
	if len(a.frame) < HeaderSize+kindSize {
		return false // it is too short for any kind
	}
	kind := a.frame[HeaderSize+1]
	return a.frame[HeaderSize] != mapOf1 || kind >= keyWelcome && kind <= keyRenewed || kind == keyAssign || kind == keyHalt || kind == keyPrepare || kind >= 0x18 && kind <= 0x1b
}

// end tells of a whole frame, and begins the next.
func (a *Along) end() error {
	frame, wanted := a.frame, a.wanted()
	a.size, a.seen, a.frame = 0, 0, a.frame[:0]
	if cap(frame) > keepBuffer {
		a.frame = nil
	}
	if !wanted {
		return nil
	}
	f, err := a.codec.decode(frame[HeaderSize:])
	switch {
	case err == nil:
		a.tell(&f)
	case !errors.Is(err, ErrUnknownFrame):
		return err
	}
	return nil
}
