package rpc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/taskrt/taskrt/internal/mux"
)

type greeting struct {
	From string `cbor:"1,keyasint"`           // identity
	To   string `cbor:"2,keyasint,omitempty"` // identity; "": any node at the address
}

// StatusError is an answer other than StatusOK.
type StatusError struct {
	Status byte
	Text   string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("raftstore: peer refused (%d) %s", e.Status, e.Text)
}

// NotSentError wraps an error that came before a request left this process.
type NotSentError struct{ Err error }

func (e *NotSentError) Error() string { return e.Err.Error() }
func (e *NotSentError) Unwrap() error { return e.Err }

var (
	errConnLost = errors.New("raftstore: connection lost")
	errGone     = errors.New("raftstore: another node leads")
	errClosed   = errors.New("raftstore: closed")
)

// Clients are this node's connections to others: one per identity and address, with many requests in flight.
type Clients struct {
	net     Dialer
	self    string
	timeout time.Duration
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc

	mu     sync.Mutex
	open   map[clientKey]*client
	closed bool
	wg     sync.WaitGroup
}

type clientKey struct{ addr, identity string }

// Dialer makes connections.
type Dialer interface {
	Dial(ctx context.Context, addr string, p mux.Protocol) (net.Conn, error)
}

// NewClients returns the connections of the node whose identity is self; none is made yet. A request that has no answer
// after timeout is given up, and its connection with it.
func NewClients(net Dialer, self string, timeout time.Duration) *Clients {
	ctx, cancel := context.WithCancel(context.Background())
	return &Clients{net: net, self: self, timeout: timeout, ctx: ctx, cancel: cancel, open: map[clientKey]*client{}}
}

// client is one connection.
type client struct {
	owner *Clients
	key   clientKey
	ready chan struct{} // closed when w or err is set
	lost  chan struct{} // closed when the connection, once made, has ended
	w     *frameWriter
	err   error

	mu      sync.Mutex
	next    uint64
	pending map[uint64]chan frame // nil: the connection is lost
}

// Lost returns a channel that is closed when the connection to identity at addr has ended. It connects first, unless
// there is a connection. It gives up when gone is closed (nil: never).
func (cs *Clients) Lost(ctx context.Context, addr, identity string, gone <-chan struct{}) (<-chan struct{}, error) {
	c, err := cs.get(ctx, clientKey{addr, identity}, gone)
	if err != nil {
		return nil, err
	}
	return c.lost, nil
}

// Call sends one request to identity at addr ("": to any node there) and returns the body of the answer. It gives up
// when gone is closed (nil: never), because the caller has no more use for an answer from there. The error is a
// NotSentError if the request did not leave this process, and a StatusError if it was refused.
func (cs *Clients) Call(ctx context.Context, addr, identity string, kind byte, body []byte, gone <-chan struct{}) ([]byte, error) {
	timer := time.NewTimer(cs.timeout)
	defer timer.Stop()
	c, err := cs.get(ctx, clientKey{addr, identity}, gone)
	if err != nil {
		return nil, &NotSentError{err}
	}
	answer := make(chan frame, 1)
	c.mu.Lock()
	if c.pending == nil {
		c.mu.Unlock()
		return nil, &NotSentError{errConnLost}
	}
	c.next++
	id := c.next
	c.pending[id] = answer
	c.mu.Unlock()
	if !c.w.put(frame{id, kind, body}) {
		return nil, &NotSentError{errConnLost}
	}
	select {
	case f, ok := <-answer:
		if !ok {
			return nil, errConnLost
		}
		if f.kind != StatusOK {
			return nil, &StatusError{f.kind, string(f.body)}
		}
		return f.body, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-gone:
		err = errGone
	case <-timer.C:
		c.drop() // a silent connection: the next request tries a new one
		return nil, errConnLost
	}
	c.mu.Lock()
	delete(c.pending, id)
	c.mu.Unlock()
	return nil, err
}

// get returns a connection. It dials if there is none.
func (cs *Clients) get(ctx context.Context, key clientKey, gone <-chan struct{}) (*client, error) {
	cs.mu.Lock()
	if cs.closed {
		cs.mu.Unlock()
		return nil, errClosed
	}
	c := cs.open[key]
	if c == nil {
		c = &client{owner: cs, key: key, ready: make(chan struct{}), lost: make(chan struct{}), pending: map[uint64]chan frame{}}
		cs.open[key] = c
		cs.wg.Go(c.dial)
	}
	cs.mu.Unlock()
	select {
	case <-c.ready:
		return c, c.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-gone:
		return nil, errGone
	}
}

// dial connects, and then reads answers until the connection ends.
func (c *client) dial() {
	ctx, cancel := context.WithTimeout(c.owner.ctx, min(c.owner.timeout, 2*time.Second))
	conn, err := c.owner.net.Dial(ctx, c.key.addr, mux.Propose)
	cancel()
	if err == nil && c.key.identity != "" && !mux.MayBe(conn, mux.Node, c.key.identity) {
		conn.Close()
		err = fmt.Errorf("raftstore: %s is not %s", c.key.addr, c.key.identity)
	}
	var greet []byte
	if err == nil {
		greet, err = cbor.Marshal(greeting{From: c.owner.self, To: c.key.identity})
	}
	c.owner.mu.Lock()
	if err == nil && c.owner.closed {
		err = errClosed
		conn.Close()
	}
	if err != nil {
		c.forget()
		c.owner.mu.Unlock()
		c.err = err
		close(c.ready)
		return
	}
	c.w = newFrameWriter(conn, c.owner.timeout)
	c.owner.mu.Unlock()
	c.w.put(frame{0, kindGreet, greet})
	c.owner.wg.Go(c.w.run)
	close(c.ready)
	c.read(conn)
	c.drop()
	close(c.lost)
	c.mu.Lock()
	pending := c.pending
	c.pending = nil
	c.mu.Unlock()
	for _, answer := range pending {
		close(answer)
	}
}

func (c *client) read(conn net.Conn) {
	r := bufio.NewReaderSize(conn, 64<<10)
	for {
		f, err := readFrame(r)
		if err != nil {
			return
		}
		c.mu.Lock()
		answer := c.pending[f.id]
		delete(c.pending, f.id)
		c.mu.Unlock()
		if answer != nil {
			answer <- f
		}
	}
}

// drop closes the connection. The next request dials.
func (c *client) drop() {
	c.owner.mu.Lock()
	c.forget()
	c.owner.mu.Unlock()
	c.w.close()
}

// forget takes c out of the open connections, under owner.mu.
func (c *client) forget() {
	if c.owner.open[c.key] == c {
		delete(c.owner.open, c.key)
	}
}

// Close ends all connections and waits until they have ended.
func (cs *Clients) Close() {
	cs.mu.Lock()
	cs.closed = true
	cs.cancel()
	for _, c := range cs.open {
		if c.w != nil {
			c.w.close()
		}
	}
	cs.mu.Unlock()
	cs.wg.Wait()
}

// Request is Call with CBOR bodies.
func Request[A any](ctx context.Context, cs *Clients, addr, identity string, kind byte, req any) (A, error) {
	var a A
	body, err := cbor.Marshal(req)
	if err != nil {
		return a, &NotSentError{err}
	}
	b, err := cs.Call(ctx, addr, identity, kind, body, nil)
	if err != nil {
		return a, err
	}
	if err := cbor.Unmarshal(b, &a); err != nil {
		return a, fmt.Errorf("raftstore: answer of %s: %w", addr, err)
	}
	return a, nil
}
