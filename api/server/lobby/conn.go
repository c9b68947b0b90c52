package lobby

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// conn is a connection that the lobby has let in.
type conn struct {
	net.Conn
	lobby *Lobby
	from  string // address

	// Under the lobby's mu:
	in      *queue // nil: in none
	number  uint64 // in the queue
	counted bool

	arrived  atomic.Bool // its first request has come
	computes atomic.Bool // it holds a place of the lobby's pace
	once     sync.Once
	gone     chan struct{} // closed by Close
}

// Read implements net.Conn. Until the first request has come, what follows a Read, up to the next Read or Write, is a handshake or the
// parsing of a header. Few connections do so at a time, so that strangers' handshakes take turns among themselves, and whoever does anything
// else on this machine waits for few of them.
func (c *conn) Read(b []byte) (int, error) {
	if c.arrived.Load() {
		return c.Conn.Read(b)
	}
	c.rest()
	n, err := c.Conn.Read(b)
	if n > 0 && !c.compute() {
		return 0, net.ErrClosed
	}
	return n, err
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	c.rest()
	return c.Conn.Write(b)
}

// ReadFrom implements io.ReaderFrom: the system copies files to a TCP connection by itself.
func (c *conn) ReadFrom(r io.Reader) (int64, error) {
	c.rest()
	return io.Copy(c.Conn, r)
}

// CloseWrite ends one direction, so that who still sends can read the answer.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.once.Do(func() { close(c.gone) })
	c.rest()
	c.lobby.closed(c)
	return c.Conn.Close()
}

// compute waits for a place of the pace. false: the connection was closed meanwhile.
func (c *conn) compute() bool {
	select {
	case c.lobby.pace <- struct{}{}:
	case <-c.gone:
		return false
	}
	c.computes.Store(true)
	select {
	case <-c.gone: // Close may not have seen the place
		c.rest()
		return false
	default:
		return true
	}
}

// rest gives the place back, if it holds one.
func (c *conn) rest() {
	if c.computes.CompareAndSwap(true, false) {
		<-c.lobby.pace
	}
}
