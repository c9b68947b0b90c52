package stream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Options are the options of a Conn. The zero value means the defaults.
type Options struct {
	MaxFrame     int           // bytes of one frame, both ways; default MaxFrame
	QueueBytes   int           // bytes that may wait for a slow peer before it is cut off; default 64 MiB
	WriteTimeout time.Duration // a peer that takes nothing for this long is cut off; default 10 s
}

// ErrSlow means that the peer did not take frames as fast as they were sent. The connection is closed. What was lost
// comes again after a reconnect: assignments because of Hello.Held, reports because their acks are missing.
var ErrSlow = errors.New("stream: peer too slow")

// ErrClosed is what Send and Flush return after Close.
var ErrClosed = errors.New("stream: closed")

// writeChunk is how much is written under one write deadline, so that the deadline measures progress, not size.
const writeChunk = 64 << 10

// keepBuffer is the largest buffer kept between frames: one big frame must not pin its size for the connection's life.
const keepBuffer = 1 << 20

// Conn sends and receives frames over a connection. Send may be called from any goroutine, Recv from one.
// The owner must Close it, also after an error.
type Conn struct {
	nc    net.Conn
	opts  Options
	codec codec
	in    bodies // belongs to the goroutine that calls Recv

	mu      sync.Mutex
	pending []byte        // encoded frames that wait for the writer
	spare   []byte        // empty: pending grows in it next
	flying  int           // bytes that the writer has taken and not yet written
	changed chan struct{} // closed and replaced when everything queued has been written, or err is set
	err     error         // why nothing can be sent any longer

	wake chan struct{} // capacity 1: pending is not empty, or err is set
	done chan struct{} // closed when the writer has ended
}

// New starts to speak frames over nc and owns nc from now on.
func New(nc net.Conn, opts Options) (*Conn, error) {
	if opts.MaxFrame <= 0 {
		opts.MaxFrame = MaxFrame
	}
	if opts.QueueBytes <= 0 {
		opts.QueueBytes = 64 << 20
	}
	if opts.WriteTimeout <= 0 {
		opts.WriteTimeout = 10 * time.Second
	}
	cd, err := newCodec()
	if err != nil {
		nc.Close()
		return nil, err
	}
	c := &Conn{
		nc: nc, opts: opts, codec: cd, in: bodies{br: bufio.NewReaderSize(nc, readSize), max: opts.MaxFrame},
		changed: make(chan struct{}), wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go c.write()
	return c, nil
}

// RemoteAddr is the peer's address, for logs.
func (c *Conn) RemoteAddr() net.Addr { return c.nc.RemoteAddr() }

// Send queues frames and returns at once. They arrive in the order of the calls, and leave together if they can. A list that is
// too long for one frame travels as several frames. The errors are ErrFrameTooLarge (the frame and those after it were not queued, the
// connection lives), ErrSlow, ErrClosed, or why the connection broke. A nil error does not mean that the frames arrived.
func (c *Conn) Send(frames ...Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range frames {
		if c.err != nil {
			return c.err
		}
		if len(c.pending)+c.flying > c.opts.QueueBytes {
			c.failLocked(ErrSlow)
			return c.err
		}
		var err error
		if c.pending, err = c.codec.append(c.pending, &frames[i], c.opts.MaxFrame); err != nil {
			return err
		}
		c.wakeLocked()
	}
	return nil
}

// Flush waits until everything sent so far has been written, the connection broke, or ctx ends.
func (c *Conn) Flush(ctx context.Context) error {
	for {
		c.mu.Lock()
		err, idle, changed := c.err, len(c.pending) == 0 && c.flying == 0, c.changed
		c.mu.Unlock()
		switch {
		case err != nil:
			return err
		case idle:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Recv returns the next frame. io.EOF is the peer's clean end. After any error the connection is useless: Close it.
func (c *Conn) Recv() (Frame, error) {
	for {
		body, err := c.in.next()
		if err != nil {
			return Frame{}, err
		}
		f, err := c.codec.decode(body)
		if errors.Is(err, ErrUnknownFrame) {
			continue // a kind that a newer peer knows
		}
		return f, err
	}
}

// Close ends the connection at once and drops the frames that wait (call Flush first where they matter). It returns when the writer
// has ended. A second Close does nothing.
func (c *Conn) Close() error {
	c.fail(ErrClosed)
	<-c.done
	return nil
}

// write is the one writer: it takes everything that waits and writes it in chunks, each under its own deadline.
func (c *Conn) write() {
	defer close(c.done)
	for range c.wake {
		c.mu.Lock()
		buf, err := c.pending, c.err
		c.pending, c.spare = c.spare, nil
		c.flying = len(buf)
		c.mu.Unlock()
		if err != nil {
			return
		}
		for left := buf; len(left) > 0; {
			n := min(len(left), writeChunk)
			if err := c.writeChunk(left[:n]); err != nil {
				c.fail(err)
				return
			}
			left = left[n:]
			c.wrote(n)
		}
		if cap(buf) <= keepBuffer {
			c.mu.Lock()
			c.spare = buf[:0]
			c.mu.Unlock()
		}
	}
}

func (c *Conn) writeChunk(b []byte) error {
	if err := c.nc.SetWriteDeadline(time.Now().Add(c.opts.WriteTimeout)); err != nil {
		return err
	}
	_, err := c.nc.Write(b)
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() {
		return fmt.Errorf("%w: %w", ErrSlow, err)
	}
	return err
}

func (c *Conn) wrote(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flying -= n
	if c.flying == 0 && len(c.pending) == 0 {
		c.announceLocked()
	}
}

func (c *Conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failLocked(err)
}

// failLocked records the first reason and closes the connection, which unblocks reader and writer.
func (c *Conn) failLocked(err error) {
	if c.err == nil {
		c.err = err
		c.pending = nil
		c.nc.Close()
		c.announceLocked()
	}
	c.wakeLocked()
}

func (c *Conn) announceLocked() {
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Conn) wakeLocked() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
