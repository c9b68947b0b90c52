package blob

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// One connection carries requests one after the other.
//
//	request:  op u8, digest [32]byte
//	          put: size u64, bytes
//	          put at: index u64, size u64, bytes
//	          has at: index u64
//	          get from: offset u64
//	          put for: size u64, bytes
//	answer:   status u8; get: size u64, bytes; get from: size u64 of the whole, bytes from the offset
//
// Numbers are big-endian and part of the wire format: never reuse a number. Nodes asked get, put and has before there were
// notes; these requests are still answered.
const (
	opGet     byte = 1
	opPut     byte = 2
	opHas     byte = 3
	opPutAt   byte = 4
	opHasAt   byte = 5
	opGetFrom byte = 6
	opPutFor  byte = 7

	statusOK       byte = 0
	statusNotFound byte = 1
	statusRefused  byte = 2 // the bytes do not match the digest, or are too many
	statusFailed   byte = 3 // the peer's disk
	statusFull     byte = 4 // the peer's disk is full
	statusBehind   byte = 5 // the peer has not applied the log up to the index
	statusTooFew   byte = 6 // put for: not stored on a majority
)

var (
	errBehind  = errors.New("blob: the log is not applied so far")
	errRefused = fmt.Errorf("%w, or too large", ErrCorrupt)
)

func statusOf(err error) byte {
	switch {
	case err == nil:
		return statusOK
	case errors.Is(err, ErrNoSpace):
		return statusFull
	case errors.Is(err, ErrTooFew):
		return statusTooFew
	case errors.Is(err, errBehind):
		return statusBehind
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrCorrupt):
		return statusNotFound
	case errors.Is(err, ErrTooLarge):
		return statusRefused
	}
	return statusFailed
}

func errorOf(status byte) error {
	switch status {
	case statusOK:
		return nil
	case statusNotFound:
		return ErrNotFound
	case statusRefused:
		return errRefused
	case statusFull:
		return ErrNoSpace
	case statusBehind:
		return errBehind
	case statusTooFew:
		return ErrTooFew
	}
	return fmt.Errorf("blob: the peer failed (status %d)", status)
}

func readNumber(r io.Reader) (uint64, error) {
	var b [8]byte
	_, err := io.ReadFull(r, b[:])
	return binary.BigEndian.Uint64(b[:]), err
}

// number is n as it travels.
func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// minRate is the lowest rate, in bytes per second, that a peer may have in the long run.
const minRate = 64 << 10

// timedConn gives up on a peer that stands still for step, or that is slower than minRate after a first step.
type timedConn struct {
	net.Conn
	step  time.Duration
	start time.Time
	moved int64
}

func timed(c net.Conn, step time.Duration) *timedConn {
	return &timedConn{Conn: c, step: step, start: time.Now()}
}

// restart begins a new exchange, in which the peer may think for d.
func (c *timedConn) restart(d time.Duration) {
	c.step, c.start, c.moved = d, time.Now(), 0
}

func (c *timedConn) deadline() time.Time {
	slow := c.start.Add(c.step + time.Duration(c.moved)*time.Second/minRate)
	if still := time.Now().Add(c.step); still.Before(slow) {
		return still
	}
	return slow
}

// Read implements net.Conn.
func (c *timedConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(c.deadline()); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	c.moved += int64(n)
	return n, err
}

// Write implements net.Conn.
func (c *timedConn) Write(p []byte) (int, error) {
	for sent := 0; ; {
		if err := c.SetWriteDeadline(c.deadline()); err != nil {
			return sent, err
		}
		n, err := c.Conn.Write(p[sent:min(len(p), sent+pieceBytes)])
		sent, c.moved = sent+n, c.moved+int64(n)
		if err != nil || sent == len(p) {
			return sent, err
		}
	}
}
