package memnet

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// window is how many bytes one direction of a connection buffers before a write blocks. As with a socket's buffers, it is
// so large that two peers that both write before they read do not deadlock.
const window = 4 << 20

// stream is one direction of a connection. All fields are under net.mu.
type stream struct {
	way
	chunks []chunk
	size   int
	gone   bool          // nobody will read any more
	fin    error         // io.EOF or ECONNRESET, after the last chunk; nil while open
	finAt  time.Time     // when fin arrives
	wake   chan struct{} // closed at the next change; nil when nobody waits
}

type chunk struct {
	data []byte
	at   time.Time // when it arrives
}

func newStream(w way) *stream { return &stream{way: w} }

func (s *stream) signal() {
	if s.wake != nil {
		close(s.wake)
		s.wake = nil
	}
}

// push appends a copy of as much of p as there is room for.
func (s *stream) push(p []byte, at time.Time) int {
	p = p[:min(len(p), window-s.size)]
	if len(p) == 0 {
		return 0
	}
	if k := len(s.chunks); k > 0 && s.chunks[k-1].at.After(at) {
		at = s.chunks[k-1].at // a shorter delay does not reorder
	}
	s.chunks = append(s.chunks, chunk{append([]byte(nil), p...), at})
	s.size += len(p)
	s.signal()
	return len(p)
}

// pull takes what has arrived by now. If nothing has arrived, it returns when something will arrive (zero: unknown).
func (s *stream) pull(p []byte, now time.Time) (n int, next time.Time) {
	for len(s.chunks) > 0 && n < len(p) {
		c := &s.chunks[0]
		if c.at.After(now) {
			next = c.at
			break
		}
		k := copy(p[n:], c.data)
		n += k
		if c.data = c.data[k:]; len(c.data) == 0 {
			s.chunks[0] = chunk{}
			s.chunks = s.chunks[1:]
		}
	}
	if n > 0 {
		s.size -= n
		s.signal()
	}
	return n, next
}

// conn is one end of a connection. All fields are under net.mu after Dial.
type conn struct {
	net                         *Net
	peer                        *conn
	in, out                     *stream
	err                         error // why this end is closed; nil while open
	readDeadline, writeDeadline time.Time
}

var _ net.Conn = (*conn)(nil)

// fail closes this end: its own calls get err, the other end reads fin after the data in flight.
func (c *conn) fail(err, fin error) {
	if c.err != nil {
		return
	}
	c.err = err
	delete(c.net.conns, c)
	c.out.fin, c.out.finAt = fin, time.Now().Add(c.net.delays[c.out.way])
	c.in.gone, c.in.chunks, c.in.size = true, nil, 0
	c.in.signal()
	c.out.signal()
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	for {
		if err := c.open(c.readDeadline); err != nil {
			return 0, c.opError("read", err)
		}
		if len(p) == 0 {
			return 0, nil
		}
		until := c.readDeadline
		if !c.net.cut(c.in.way) {
			now := time.Now()
			n, next := c.in.pull(p, now)
			if n > 0 {
				return n, nil
			}
			if c.in.fin != nil && len(c.in.chunks) == 0 {
				if next = c.in.finAt; !next.After(now) {
					if errors.Is(c.in.fin, io.EOF) {
						return 0, io.EOF
					}
					return 0, c.opError("read", c.in.fin)
				}
			}
			until = earliest(until, next)
		}
		c.wait(c.in, until)
	}
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	if c.net.lossOneIn > 0 && c.err == nil && c.net.rng.IntN(c.net.lossOneIn) == 0 {
		if c.net.rng.IntN(2) == 0 {
			c.out.push(p, time.Now().Add(c.net.delays[c.out.way]))
			c.fail(syscall.ECONNRESET, syscall.ECONNRESET)
		} else {
			c.fail(syscall.ECONNRESET, syscall.ECONNRESET)
			c.peer.fail(syscall.ECONNRESET, syscall.ECONNRESET)
		}
	}
	for done := 0; ; {
		if err := c.open(c.writeDeadline); err != nil {
			return done, c.opError("write", err)
		}
		if c.out.gone {
			if !c.net.cutPair(c.out.way) {
				return done, c.opError("write", syscall.EPIPE)
			}
			return len(p), nil // sent, never to arrive; the reset comes after the link has healed
		}
		done += c.out.push(p[done:], time.Now().Add(c.net.delays[c.out.way]))
		if done == len(p) {
			return done, nil
		}
		c.wait(c.out, c.writeDeadline)
	}
}

// open says why a call cannot go on.
func (c *conn) open(deadline time.Time) error {
	if c.err != nil {
		return c.err
	}
	if !deadline.IsZero() && !time.Now().Before(deadline) {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// wait releases the lock until s changes or the time has come (zero: no limit).
func (c *conn) wait(s *stream, until time.Time) {
	if s.wake == nil {
		s.wake = make(chan struct{})
	}
	wake := s.wake
	var timer <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		timer = t.C
	}
	c.net.mu.Unlock()
	defer c.net.mu.Lock()
	select {
	case <-wake:
	case <-timer:
	}
}

// Close implements net.Conn. What was written still arrives, then EOF.
func (c *conn) Close() error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	c.fail(net.ErrClosed, io.EOF)
	return nil
}

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return Addr(c.out.from) }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return Addr(c.out.to) }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error { return c.setDeadlines(&t, &t) }

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error { return c.setDeadlines(&t, nil) }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.setDeadlines(nil, &t) }

func (c *conn) setDeadlines(read, write *time.Time) error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	if c.err != nil {
		return c.opError("set", c.err)
	}
	if read != nil {
		c.readDeadline = *read
		c.in.signal()
	}
	if write != nil {
		c.writeDeadline = *write
		c.out.signal()
	}
	return nil
}

func (c *conn) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: "mem", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// earliest returns the earlier of two times of which zero means never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
